/** Times as people type them: `yesterday 12:00`, `2026-11-20 9:30:15`, `Nov 20 9:30`, `3 h ago`, `monday`, `12:00`. */

/** Shown in place of a text that means none. */
export const EXPECTED_TIME =
  'Expected a time until now such as yesterday 12:00, Nov 20 9:30, 2026-11-20 9:30 or 3 h ago';

const DAY_S = 86_400;
const UNIT_S: Readonly<Record<string, number>> = { m: 60, h: 3600, d: DAY_S, w: 7 * DAY_S };
const CLOCK = /^\d{1,2}:\d{2}(:\d{2})?$/;
type OffsetOf = (t: number) => number;
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];
/** `nov 20`, `20 nov`, with a year after it or not. */
const MONTH_DAYS = [
  /^(?<month>[a-z]{3,9}) (?<day>\d{1,2})(?:,? (?<year>\d{4}))?$/,
  /^(?<day>\d{1,2}) (?<month>[a-z]{3,9})(?:,? (?<year>\d{4}))?$/,
];

/**
 * The time that a text means, epoch seconds; null if it means none, or one after now.
 *
 * @param offsetOf how far the shown zone is ahead of UTC at a time
 */
export function spokenTime(text: string, nowS: number, offsetOf: OffsetOf): number | null {
  return timesOf(text, nowS, offsetOf).find((t) => t <= nowS) ?? null;
}

/** Whether a text means a time that has not come yet. */
export function isLater(text: string, nowS: number, offsetOf: OffsetOf): boolean {
  const times = timesOf(text, nowS, offsetOf);
  return times.length > 0 && times.every((t) => t > nowS);
}

/** The times that a text may mean, the likeliest first. */
function timesOf(text: string, nowS: number, offsetOf: OffsetOf): number[] {
  const words = text.trim().toLowerCase();
  const ago =
    /^-(\d{1,4}) ?(m|h|d|w)$/.exec(words) ??
    /^(\d{1,4}) ?(m|h|d|w)(?:in|inutes?|ours?|ays?|eeks?)? ago$/.exec(words);
  if (ago !== null) return [nowS - Number(ago[1]) * UNIT_S[ago[2]]];
  const isClock = CLOCK.test(words);
  const [day, clock = '0:00'] = isClock
    ? ['today', words]
    : words.split(/,? +(?=\d{1,2}:[\d:]+$)|(?<=\d)t(?=\d{1,2}:[\d:]+$)/);
  const times = daysOf(day, nowS + offsetOf(nowS))
    .map((one) => timeOn(one, clock, nowS, offsetOf))
    .filter((t) => t !== null);
  // A time of day without a day may mean yesterday.
  return isClock ? times.flatMap((t) => [t, t - DAY_S]) : times;
}

/** The days that a text may mean, the likeliest first: a day without a year is the last one until now. */
function daysOf(text: string, localNowS: number): string[] {
  const {
    month = '',
    day = '',
    year,
  } = MONTH_DAYS.map((one) => one.exec(text)?.groups).find(Boolean) ?? {};
  const at = MONTHS.findIndex((name) => month !== '' && name.startsWith(month));
  if (at < 0) return [text];
  const thisYear = new Date(localNowS * 1000).getUTCFullYear();
  const years = year === undefined ? [thisYear, thisYear - 1] : [year];
  const rest = [at + 1, day].map((one) => String(one).padStart(2, '0')).join('-');
  return years.map((one) => `${one}-${rest}`);
}

function timeOn(
  dayText: string,
  clockText: string,
  nowS: number,
  offsetOf: OffsetOf,
): number | null {
  const offsetNowS = offsetOf(nowS);
  const day = dayOf(dayText, nowS + offsetNowS);
  const clock = clockOf(clockText);
  if (day === null || clock === null) return null;
  // Clocks may have been changed between that time and now.
  return day + clock - offsetOf(day + clock - offsetNowS);
}

/** The first second of a day, in the zone's local seconds. */
function dayOf(text: string, nowS: number): number | null {
  const today = nowS - (nowS % DAY_S);
  if (text === 'today') return today;
  if (text === 'yesterday') return today - DAY_S;
  const weekday = WEEKDAYS.findIndex((name) => text.length >= 3 && name.startsWith(text));
  if (weekday >= 0) {
    const behind = (new Date(today * 1000).getUTCDay() - weekday + 7) % 7;
    return today - (behind === 0 ? 7 : behind) * DAY_S;
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const ms = Date.parse(`${text}T00:00:00Z`);
  // A shorter month has no 31st day.
  return Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text) ? null : ms / 1000;
}

function clockOf(text: string): number | null {
  if (!CLOCK.test(text)) return null;
  const [hours, minutes, seconds = 0] = text.split(':').map(Number);
  const isClock = hours < 24 && minutes < 60 && seconds < 60;
  return isClock ? hours * 3600 + minutes * 60 + seconds : null;
}
