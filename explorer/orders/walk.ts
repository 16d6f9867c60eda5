/** The walk of an order over a ladder: docs/definitions.md#slippage. Replies of `/replay` give many ladders at once. */
import { BIN_RATIO } from '../ladder/ladder.js';
import type { Side } from '../state/url.js';

const LN_RATIO = Math.log(BIN_RATIO);

/** The side of a ladder that an order takes; amounts of one bin may be in several places. */
export interface LadderSide {
  bin: ArrayLike<number>;
  usd: ArrayLike<number>;
}

/** Percents as in a quote of `/slippage`; null if the ladder cannot fill it. */
export interface Walked {
  usd: number;
  slippage_pct: number | null;
  best_pct: number | null;
  worst_pct: number | null;
}

export function walked(ladder: LadderSide, side: Side, usd: number): Walked {
  const sign = side === 'sell' ? -1 : 1;
  const rate = sign * LN_RATIO;
  const wanted = centsOf(usd);
  let left = wanted;
  let [tokens, bestTokens, worstTokens] = [0, 0, 0];
  for (const [bin, cents] of centsByBin(ladder, sign)) {
    if (left <= 0) break;
    const [near, far] = [Math.max(sign * bin - 0.5, 0), Math.max(sign * bin + 0.5, 0)];
    const taken = Math.min(left, cents);
    const atNear = taken * Math.exp(-rate * near);
    tokens += atNear * meanDecay(rate * (taken / cents) * (far - near));
    bestTokens += atNear;
    worstTokens += taken * Math.exp(-rate * far);
    left -= taken;
  }
  if (left > 0) return { usd, slippage_pct: null, best_pct: null, worst_pct: null };
  const pctOf = (of: number): number => 100 * (wanted / of - 1);
  return {
    usd,
    slippage_pct: pctOf(tokens),
    best_pct: pctOf(bestTokens),
    worst_pct: pctOf(worstTokens),
  };
}

/** Exact for whole cents: an order for whole bins must not reach into the next one. */
function centsOf(usd: number): number {
  const whole = Math.round(usd * 100);
  return whole / 100 === usd ? whole : usd * 100;
}

/** Bins with an amount, in the order in which an order takes them. */
function centsByBin({ bin, usd }: LadderSide, sign: number): [bin: number, cents: number][] {
  const cents = new Map<number, number>();
  for (let i = 0; i < bin.length; i++) {
    const amount = Math.round(usd[i] * 100);
    if (amount > 0) cents.set(bin[i], (cents.get(bin[i]) ?? 0) + amount);
  }
  return [...cents].sort(([a], [b]) => sign * (a - b));
}

/** The mean of `e^-x` for `x` from 0 to `y`. */
const meanDecay = (y: number): number => (y === 0 ? 1 : -Math.expm1(-y) / y);
