/**
 * Amounts as 16-bit codes on a logarithmic scale, and the range of amounts covered by the colours. The graphics card
 * reads the codes, which are within 0.04% of their amounts.
 */

const STEPS_PER_OCTAVE = 1024;
/** Code 0 is no amount; code c is 2^(c / STEPS_PER_OCTAVE + FIRST_OCTAVE) USD, starting below a cent. */
const FIRST_OCTAVE = -7;
const MAX_CODE = 65_534;

export function codeOf(usd: number): number {
  if (usd <= 0) return 0;
  const code = Math.round((Math.log2(usd) - FIRST_OCTAVE) * STEPS_PER_OCTAVE);
  return Math.min(MAX_CODE, Math.max(1, code));
}

export function usdOf(code: number): number {
  return code === 0 ? 0 : 2 ** (code / STEPS_PER_OCTAVE + FIRST_OCTAVE);
}

/** The same conversions for shaders. */
export const CODE_GLSL = `
float usdOf(uint code) {
  return code == 0u ? 0.0 : exp2(float(code) / ${STEPS_PER_OCTAVE}.0 + float(${FIRST_OCTAVE}));
}
uint codeOf(float usd) {
  float code = (log2(max(usd, 1e-9)) - float(${FIRST_OCTAVE})) * ${STEPS_PER_OCTAVE}.0;
  return usd <= 0.0 ? 0u : uint(clamp(code + 0.5, 1.0, ${MAX_CODE}.0));
}`;

/** The amounts of the first and the last colour. */
export interface Scale {
  lowUsd: number;
  highUsd: number;
}

const DEFAULT_SCALE: Readonly<Scale> = { lowUsd: 100, highUsd: 1_000_000 };

/** The shares of cells below and above the scale. */
const SHARE_BELOW = 0.3;
const SHARE_ABOVE = 0.003;
/** Least ratio of a scale's ends: on a narrower scale, even depth would look like noise. */
const MIN_SPAN = 100;
/** Codes counted together: an eighth of an octave. */
const CODES_PER_BUCKET = STEPS_PER_OCTAVE / 8;

/** Counts amounts as they are added and removed. */
export class Histogram {
  private readonly counts = new Uint32Array(Math.ceil((MAX_CODE + 1) / CODES_PER_BUCKET));
  private total = 0;

  /** @param sign 1 to add the codes, -1 to remove them */
  count(codes: Uint16Array, sign: 1 | -1): void {
    for (const code of codes) {
      if (code === 0) continue;
      this.counts[Math.floor(code / CODES_PER_BUCKET)] += sign;
      this.total += sign;
    }
  }

  /** The scale between percentiles, rounded outwards to 1, 2 or 5 times a power of ten so that it rarely changes. */
  scale(): Scale {
    if (this.total === 0) return DEFAULT_SCALE;
    const highUsd = roundUp(this.usdBelow(1 - SHARE_ABOVE));
    const lowUsd = roundDown(Math.min(this.usdBelow(SHARE_BELOW), highUsd / MIN_SPAN));
    return { lowUsd, highUsd };
  }

  private usdBelow(share: number): number {
    let seen = 0;
    for (const [bucket, count] of this.counts.entries()) {
      seen += count;
      if (seen > share * this.total) return usdOf((bucket + 0.5) * CODES_PER_BUCKET);
    }
    return usdOf(MAX_CODE);
  }
}

const ROUND = [1, 2, 5, 10];

/** The least of 1, 2, 5 times a power of ten that is not below `value`. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (ROUND.find((one) => one * power >= value * (1 - 1e-9)) ?? 10);
}

function roundDown(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (ROUND.findLast((one) => one * power <= value * (1 + 1e-9)) ?? 1);
}

/** The position of an amount on the scale, 0 to 1. */
export function shadeOf(usd: number, { lowUsd, highUsd }: Scale): number {
  const shade = Math.log(usd / lowUsd) / Math.log(highUsd / lowUsd);
  return Math.min(1, Math.max(0, shade));
}

/** Labels nearer than this share of the scale would overlap. */
const TICK_GAP = 0.19;

/** The ends of the scale and the powers of ten between them, where there is room, ascending. */
export function scaleTicks(scale: Scale): number[] {
  const { lowUsd, highUsd } = scale;
  const ticks = [lowUsd, highUsd];
  for (let usd = 10 ** Math.ceil(Math.log10(lowUsd)); usd < highUsd; usd *= 10) {
    const isFree = ticks.every(
      (one) => Math.abs(shadeOf(one, scale) - shadeOf(usd, scale)) > TICK_GAP,
    );
    if (isFree) ticks.push(usd);
  }
  return ticks.sort((a, b) => a - b);
}
