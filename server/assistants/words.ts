/** Numbers, times and names as the texts of answers have them. */
import { isoOf } from '../../compute/time.js';

const NOT_KNOWN = 'not known';
const MAX_NAME_CHARS = 40;

const price6 = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 });
const percent3 = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/** `$1,234,567`; cents below 1,000. */
export function usd(value: number | null): string {
  if (value === null) return NOT_KNOWN;
  const digits = Math.abs(value) < 1000 ? 2 : 0;
  const shown = Math.abs(value).toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `${value < 0 ? '-' : ''}$${shown}`;
}

/** A price, with six digits: `$0.0000218`. */
export function price(value: number | null): string {
  return value === null ? NOT_KNOWN : `$${price6.format(value)}`;
}

/** A percentage, with three digits: `-0.42%`. */
export function percent(value: number | null): string {
  return value === null ? NOT_KNOWN : `${percent3.format(value)}%`;
}

export function score(value: number | null): string {
  return value === null ? 'no score' : value.toFixed(1);
}

/** `2026-11-20T12:00:00Z`. */
export function time(epochS: number | null): string {
  return epochS === null ? NOT_KNOWN : isoOf(epochS);
}

/** How long ago: `12 s`, `3 min`, `5 h`, `9 d`. */
export function ageText(seconds: number): string {
  const [divisor, unit] =
    seconds < 120
      ? [1, 's']
      : seconds < 7200
        ? [60, 'min']
        : seconds < 172_800
          ? [3600, 'h']
          : [86_400, 'd'];
  return `${Math.floor(seconds / Number(divisor))} ${unit}`;
}

/** A name that someone else chose, as one short line without control characters. */
export function name(text: string | null): string {
  const line = (text ?? '?').replace(/[\p{C}\p{Z}|]+/gu, ' ').trim();
  return line.length <= MAX_NAME_CHARS ? line : `${line.slice(0, MAX_NAME_CHARS)}…`;
}
