/** Times in files, in the units that people use: epoch seconds and smaller units, and ISO texts. */
import { InstantError, parseTime } from '../../compute/time.js';

export const TIME_UNITS = ['auto', 's', 'ms', 'us', 'ns', 'iso'] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];
type NumberUnit = Exclude<TimeUnit, 'auto' | 'iso'>;

export const UNIT_NAMES: Readonly<Record<NumberUnit, string>> = {
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  ns: 'nanoseconds',
};
const PER_SECOND: Readonly<Record<NumberUnit, number>> = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };
/** The least number read in a unit: a time in 1973. In the next larger unit, it would be the year 5138. */
const FIRST_OF_UNIT: readonly (readonly [number, NumberUnit])[] = [
  [1e17, 'ns'],
  [1e14, 'us'],
  [1e11, 'ms'],
];
/** Times before this (1973) in a smaller unit were probably meant as seconds. */
const FIRST_PLAUSIBLE_S = 1e8;

const ISO = /^\d{4}-\d\d-\d\d/;
const ZONELESS = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/;
const MINUTES = /^(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d)(?=[Zz+-]|$)/;
const LONG_FRACTION = /(\.\d{9})\d+/;
const UTC_WORD = / ?UTC$/;
const INTEGER = /^\d{1,30}$/;

/** A time in whole epoch seconds, and its fraction of a second. */
interface SplitTime {
  t: number;
  fraction: number;
}

/** The probable unit of a number that is a time. */
export function unitOfNumber(value: number): NumberUnit {
  return FIRST_OF_UNIT.find(([first]) => value >= first)?.[1] ?? 's';
}

export function looksLikeIso(text: string): boolean {
  return ISO.test(text.trim());
}

/**
 * Reads a time in a unit. A text of digits is read exactly; an ISO text without a zone is UTC.
 * @returns if it is not a time, what was expected, in words that follow the field's name
 */
export function timeIn(unit: TimeUnit, value: unknown): SplitTime | string {
  if (typeof value === 'string') {
    const text = value.trim();
    if (INTEGER.test(text)) return unit === 'iso' ? isoExpected : integerIn(unit, BigInt(text));
    if (unit === 'iso' || (unit === 'auto' && looksLikeIso(text))) return isoTime(text);
    const number = text === '' ? NaN : Number(text);
    return Number.isNaN(number) ? expectedOf(unit) : numberIn(unit, number);
  }
  if (typeof value === 'number' && unit !== 'iso') return numberIn(unit, value);
  return expectedOf(unit);
}

const isoExpected = 'must be an ISO time such as 2026-11-20T12:00:00Z';

function expectedOf(unit: TimeUnit): string {
  if (unit === 'iso') return isoExpected;
  if (unit === 'auto') return 'must be a time: epoch seconds or a smaller unit, or an ISO time';
  return `must be a time in epoch ${UNIT_NAMES[unit]}`;
}

function integerIn(unit: Exclude<TimeUnit, 'iso'>, value: bigint): SplitTime | string {
  const known = unit === 'auto' ? unitOfNumber(Number(value)) : unit;
  const factor = BigInt(PER_SECOND[known]);
  const t = Number(value / factor);
  return plausible(unit, { t, fraction: Number(value % factor) / PER_SECOND[known] });
}

function numberIn(unit: Exclude<TimeUnit, 'iso'>, value: number): SplitTime | string {
  const seconds = value / PER_SECOND[unit === 'auto' ? unitOfNumber(value) : unit];
  const t = Math.floor(seconds);
  return Number.isFinite(t) ? plausible(unit, { t, fraction: seconds - t }) : expectedOf(unit);
}

/** Seconds read in a smaller unit would become a time in the first days of 1970. */
function plausible(unit: TimeUnit, time: SplitTime): SplitTime | string {
  if (unit === 's' || unit === 'auto' || time.t >= FIRST_PLAUSIBLE_S) return time;
  const date = new Date(time.t * 1000).toISOString().slice(0, 10);
  return `${expectedOf(unit)}: this one would be ${date}`;
}

function isoTime(given: string): SplitTime | string {
  const text = given.replace(UTC_WORD, 'Z').replace(MINUTES, '$1:00').replace(LONG_FRACTION, '$1');
  try {
    const whole = text.replace(/\.\d+/, '');
    const { s: t } = parseTime(ZONELESS.test(whole) ? `${whole}Z` : whole);
    return { t, fraction: Number(/\.\d+/.exec(text)?.[0] ?? 0) };
  } catch (error) {
    if (error instanceof InstantError) return isoExpected;
    throw error;
  }
}
