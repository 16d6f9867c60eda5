/**
 * Units of time, and reading times: epoch seconds, RFC 3339 with a zone, a date, or a time before now.
 */

export const MINUTE_S = 60;
export const HOUR_S = 3600;
export const DAY_S = 86_400;
export const HOUR_MS = 1000 * HOUR_S;
export const DAY_MS = 1000 * DAY_S;

/** Integers from here on are milliseconds: as seconds they would be after the year 5138. */
const FIRST_MILLISECONDS = 100_000_000_000;
/** How far back a time before now may lie. */
export const MAX_AGO_S = 50 * 365 * DAY_S;

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?([Zz]|([+\- ])(\d\d):(\d\d))$/;
const ZONELESS = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?$/;
const AGO = /^-(\d{1,12})([smhdw])$/;
/** Units of a duration, as texts name them. */
export const UNITS_S = { s: 1, m: MINUTE_S, h: HOUR_S, d: DAY_S, w: 7 * DAY_S } as const;

/** The forms of a time, as errors state them. */
export const TIME_FORMS =
  'expected epoch seconds, RFC 3339 with a zone, a date, now, or a time before now such as -24h';

/** States what is wrong with a text, in words that follow the field's name. */
export class InstantError extends Error {
  override readonly name = 'InstantError';

  /** @param detail what follows the forms that are accepted */
  constructor(readonly detail = '') {
    super(`${TIME_FORMS}${detail}`);
  }
}

export interface RequestedTime {
  /** Epoch seconds, with the fraction of an RFC 3339 timestamp; `fromNow`: seconds after now, at most 0. */
  readonly s: number;
  readonly fromNow: boolean;
}

/** @throws InstantError */
export function parseInstant(text: string, nowS: number): number {
  return instantOf(parseTime(text), nowS);
}

export function instantOf({ s, fromNow }: RequestedTime, nowS: number): number {
  return fromNow ? nowS + s : s;
}

/**
 * A space counts as the zone's plus sign: an unescaped plus in a query string becomes a space.
 * @throws InstantError
 */
export function parseTime(text: string): RequestedTime {
  if (text === 'now') return { s: 0, fromNow: true };
  const ago = AGO.exec(text);
  if (ago) return { s: -secondsAgo(ago), fromNow: true };
  return { s: fixedTime(text), fromNow: false };
}

function secondsAgo([, amount, unit]: RegExpExecArray): number {
  const seconds = Number(amount) * UNITS_S[unit as keyof typeof UNITS_S];
  if (seconds <= MAX_AGO_S) return seconds;
  throw new InstantError(`, at most ${MAX_AGO_S / DAY_S} days before now`);
}

function fixedTime(text: string): number {
  if (/^\d+$/.test(text)) {
    const seconds = Number(text);
    if (seconds < FIRST_MILLISECONDS) return seconds;
    throw new InstantError('; not milliseconds');
  }
  const match = RFC_3339.exec(text) ?? DATE.exec(text);
  if (match) return instantOfParts(match);
  if (ZONELESS.test(text)) throw new InstantError('; this has no zone (Z or +hh:mm)');
  throw new InstantError();
}

/** The parts of an RFC 3339 timestamp, or of a date, which means midnight UTC. */
function instantOfParts(match: RegExpExecArray): number {
  const [year, month, day, hour, minute, second] = match
    .slice(1, 7)
    .concat('0', '0', '0')
    .map(Number);
  const date = new Date(0);
  // Not Date.UTC, which takes the years 0-99 for 1900-1999.
  date.setUTCFullYear(year, month - 1, day);
  const dateExists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  const offset = offsetSeconds(match);
  // RFC 3339 allows second 60 for leap seconds; as in POSIX, it means the next second.
  if (!dateExists || hour > 23 || minute > 59 || second > 60 || offset === null) {
    throw new InstantError('; there is no such date, time or zone');
  }
  date.setUTCHours(hour, minute, second);
  return date.getTime() / 1000 - offset + Number(match[7] ?? 0);
}

function offsetSeconds(match: RegExpExecArray): number | null {
  if (match[9] === undefined) return 0;
  const [hours, minutes] = [Number(match[10]), Number(match[11])];
  if (hours > 23 || minutes > 59) return null;
  return (match[9] === '-' ? -1 : 1) * (hours * HOUR_S + minutes * MINUTE_S);
}

/** Epoch seconds as RFC 3339 text in UTC, without milliseconds if they are zero. */
export function isoOf(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replace('.000Z', 'Z');
}

/** 20261122 as 2026-11-22, 202611 as 2026-11. */
export function dateOfDigits(digits: number): string {
  return String(digits)
    .replace(/^(\d{4})(\d{2})/, '$1-$2')
    .replace(/(-\d{2})(\d{2})$/, '$1-$2');
}
