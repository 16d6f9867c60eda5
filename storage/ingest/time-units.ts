/** Times in files, in the units that people use: epoch seconds and smaller units, and ISO texts. */
import { InstantError, parseTime } from '../../compute/time.js';
import { NUMBER_TEXT } from './texts.js';

export const TIME_UNITS = ['auto', 's', 'ms', 'us', 'ns', 'iso'] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];
type NumberUnit = Exclude<TimeUnit, 'auto' | 'iso'>;

export const UNIT_NAMES: Readonly<Record<NumberUnit, string>> = {
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  ns: 'nanoseconds',
};
/** Decimal places of a second that a unit counts. */
const PLACES: Readonly<Record<NumberUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };
/** The least number read in a unit: a time in 1973. In the next larger unit, it would be the year 5138. */
const FIRST_OF_UNIT: readonly (readonly [number, NumberUnit])[] = [
  [1e17, 'ns'],
  [1e14, 'us'],
  [1e11, 'ms'],
];
/** Times before this (1973) in a smaller unit were probably meant as seconds. */
const FIRST_PLAUSIBLE_S = 1e8;

const ISO = /^\d{4}-\d\d-\d\d/;
const ZONELESS = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d)?$/;
const MINUTES = /^(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d)(?= ?[Zz+-]|$)/;
/** Zones as databases write them: `+00`, `+0200`. */
const ZONE = /(?<=:\d\d) ?([+-]\d\d)(?::?(\d\d))?$/;
const UTC_WORD = / ?UTC$/;
const DECIMAL = /^\+?(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/;
/** A number of so many digits may be another one as a double. */
const LONG_NUMBER = /\d(?:\.?\d){15}/;
/** Beyond these powers of ten, no unit makes a time of a number. */
const MAX_POWER = 40;

/** A number of a time as its file writes it: a double does not hold all of its digits. */
export class LongNumber {
  constructor(readonly text: string) {}
}

/** A time in whole epoch seconds, and its fraction of a second. */
export interface SplitTime {
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

/** The number of a time that a text states, exactly. */
export function timeNumber(text: string): number | LongNumber {
  if (!LONG_NUMBER.test(text)) return Number(text);
  const { t, fraction } = splitDecimal(text, 0);
  return fraction === 0 && Number.isSafeInteger(t) ? t : new LongNumber(text);
}

/**
 * Reads a time in a unit, exactly. An ISO text without a zone is UTC.
 * @returns if it is not a time, what was expected, in words that follow the field's name
 */
export function timeIn(unit: TimeUnit, value: unknown): SplitTime | string {
  if (typeof value === 'string') {
    const text = value.trim();
    if (unit !== 'iso' && NUMBER_TEXT.test(text)) return numberIn(unit, text);
    const isIso = looksLikeIso(text) && (unit === 'iso' || unit === 'auto');
    return isIso ? isoTime(text) : expectedOf(unit);
  }
  if (unit === 'iso') return isoExpected;
  if (value instanceof LongNumber) return numberIn(unit, value.text);
  return Number.isFinite(value) ? numberIn(unit, String(value)) : expectedOf(unit);
}

const isoExpected = 'must be an ISO time such as 2026-11-20T12:00:00Z';

function expectedOf(unit: TimeUnit): string {
  if (unit === 'iso') return isoExpected;
  if (unit === 'auto') return 'must be a time: epoch seconds or a smaller unit, or an ISO time';
  return `must be a time in epoch ${UNIT_NAMES[unit]}`;
}

function numberIn(unit: Exclude<TimeUnit, 'iso'>, text: string): SplitTime | string {
  const known = unit === 'auto' ? unitOfNumber(Number(text)) : unit;
  const time = splitDecimal(text, PLACES[known]);
  return Number.isFinite(time.t) ? plausible(unit, time) : expectedOf(unit);
}

/** A number divided by a power of ten, as its whole part and the rest, without rounding the whole part. */
function splitDecimal(text: string, places: number): SplitTime {
  const [, whole, part, power = '0'] = DECIMAL.exec(text) ?? [];
  // Times before 1970 are refused, whatever their fraction.
  if (whole === undefined) return { t: Math.floor(Number(text) / 10 ** places), fraction: 0 };
  if (Math.abs(Number(power)) > MAX_POWER) return { t: Math.floor(Number(text)), fraction: 0 };
  const point = whole.length + Number(power) - places;
  const digits = `${'0'.repeat(Math.max(0, -point))}${whole}${part}`.padEnd(point, '0');
  const end = Math.max(0, point);
  return { t: Number(digits.slice(0, end)), fraction: Number(`0.${digits.slice(end)}`) };
}

/** Seconds read in a smaller unit would become a time in the first days of 1970. */
function plausible(unit: TimeUnit, time: SplitTime): SplitTime | string {
  if (unit === 's' || unit === 'auto' || time.t >= FIRST_PLAUSIBLE_S) return time;
  const date = new Date(time.t * 1000).toISOString().slice(0, 10);
  return `${expectedOf(unit)}: this one would be ${date}`;
}

function isoTime(given: string): SplitTime | string {
  const fraction = Number(/\.\d+/.exec(given)?.[0] ?? 0);
  const text = given
    .replace(/\.\d+/, '')
    .replace(UTC_WORD, 'Z')
    .replace(MINUTES, '$1:00')
    .replace(ZONE, (_, hours: string, minutes = '00') => `${hours}:${minutes}`);
  try {
    return { t: parseTime(ZONELESS.test(text) ? `${text}Z` : text).s, fraction };
  } catch (error) {
    if (error instanceof InstantError) return isoExpected;
    throw error;
  }
}
