/** Units of time, and reading times: epoch seconds, or RFC 3339 with a zone. */

export const MINUTE_S = 60;
export const HOUR_S = 3600;
export const DAY_S = 86_400;

/** Integers from here on are taken for milliseconds: as seconds they lie after the year 5138. */
const FIRST_MILLISECONDS = 100_000_000_000;

const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?([Zz]|([+\- ])(\d\d):(\d\d))$/;
const ZONELESS = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$/;

const EXPECTED = 'expected epoch seconds or an RFC 3339 timestamp with a zone';

/** What is wrong with a text, in words that follow the field's name. */
export class InstantError extends Error {
  override readonly name = 'InstantError';
}

/**
 * Epoch seconds of a text, with the fraction of an RFC 3339 timestamp. A space is accepted as the zone's plus
 * sign: an unescaped plus in a query string becomes one.
 * @throws InstantError
 */
export function parseInstant(text: string): number {
  if (/^\d+$/.test(text)) {
    const seconds = Number(text);
    if (seconds < FIRST_MILLISECONDS) return seconds;
    throw new InstantError(`${EXPECTED}, not milliseconds`);
  }
  const match = RFC_3339.exec(text);
  if (match) return instantOfParts(match);
  if (ZONELESS.test(text)) throw new InstantError(`${EXPECTED} (Z or +hh:mm), this has no zone`);
  throw new InstantError(EXPECTED);
}

function instantOfParts(match: RegExpExecArray): number {
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number);
  const date = new Date(0);
  // Not Date.UTC, which takes the years 0-99 for 1900-1999.
  date.setUTCFullYear(year, month - 1, day);
  const dateExists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  const offset = offsetSeconds(match);
  // RFC 3339 allows second 60 for leap seconds; as in POSIX, it means the next second.
  if (!dateExists || hour > 23 || minute > 59 || second > 60 || offset === null) {
    throw new InstantError(`${EXPECTED}, there is no such date, time or zone`);
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
