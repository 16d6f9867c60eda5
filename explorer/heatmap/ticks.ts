/** The ticks of the axes and their labels. */
import { grouped, price as shortPrice, signedPercent } from '../state/format.js';
import { currentS } from '../state/clock.js';
import { type Zone, zone } from '../state/zone.js';
import { roundUp } from './amounts.js';
import { type View, xOf } from './view.js';

interface Tick {
  /** Epoch seconds, or the logarithm of a price. */
  at: number;
  label: string;
  /** True at midnight; of months, at the beginning of a year. */
  isStrong?: boolean;
}

const MIN_TIME_TICK_PX = 84;
/** A narrow map has this many ticks at most, closer together: with fewer, some windows would have a single one. */
const FEW_TICKS = 6;
const NARROW_TICK_PX = 44;
/** The least room between two labels of times. */
const LABEL_GAP_PX = 6;

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const TIME_STEPS_S = [1, 2, 5, 10, 15, 30]
  .map((minutes) => minutes * MINUTE_S)
  .concat([1, 2, 3, 6, 12].map((hours) => hours * HOUR_S))
  .concat([1, 2, 4, 7, 14].map((days) => days * DAY_S));
/** Longer steps are months. */
const MONTH_STEPS = [1, 2, 3, 6, 12];
const LONGEST_MONTH_S = 31 * DAY_S;

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const DAY = { day: 'numeric', month: 'short' } as const;

const YEAR = { year: 'numeric' } as const;
const MONTH = { month: 'short' } as const;
const FULL = { ...CLOCK, ...DAY, second: '2-digit' } as const;

const labelsIn = (timeZone: 'UTC' | undefined) => {
  const format = (parts: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(undefined, { ...parts, timeZone });
  return {
    time: format(CLOCK),
    day: { inYear: format(DAY), withYear: format({ ...DAY, ...YEAR }) },
    month: { inYear: format(MONTH), withYear: format({ ...MONTH, ...YEAR }) },
    full: { inYear: format(FULL), withYear: format({ ...FULL, ...YEAR }) },
  };
};
const LABELS: Record<Zone, ReturnType<typeof labelsIn>> = {
  utc: labelsIn('UTC'),
  local: labelsIn(undefined),
};

/** A time in full, in the chosen zone; with its year unless that is the current one. */
export function timeText(t: number): string {
  return textIn('full', t, yearOf(currentS()));
}

const yearOf = (t: number): number => CALENDARS[zone.value].yearOf(new Date(t * 1000));

/** @param year omitted from times of this year */
function textIn(form: 'day' | 'month' | 'full', t: number, year: number): string {
  const { inYear, withYear } = LABELS[zone.value][form];
  return (yearOf(t) === year ? inYear : withYear).format(t * 1000);
}

/**
 * Ticks at whole hours and days of the chosen zone, even if its clocks change, or at the beginnings of months. The first
 * date includes its year unless that is the current one; a later date includes it if it differs from the date before.
 */
export function timeTicks({ from, to }: View, maxTicks: number): Tick[] {
  if (!(maxTicks > 0)) return [];
  const stepS = TIME_STEPS_S.find((step) => (to - from) / step <= maxTicks);
  if (stepS === undefined) return monthTicks(from, to, maxTicks);
  const ticks: Tick[] = [];
  const labels = LABELS[zone.value];
  let year = yearOf(currentS());
  const { setSeconds, addDays, offsetMs } = CALENDARS[zone.value];
  const day = new Date(from * 1000);
  setSeconds(day, 0);
  const stepDays = Math.max(1, Math.round(stepS / DAY_S));
  // Days are counted from a fixed day: panning must not change which days have ticks.
  const sinceEpoch = Math.floor((day.getTime() + offsetMs(day)) / DAY_S / 1000);
  addDays(day, -(sinceEpoch % stepDays));
  while (day.getTime() / 1000 < to) {
    const midnight = day.getTime() / 1000;
    addDays(day, stepDays);
    const nextMidnight = day.getTime() / 1000;
    if (midnight >= from) {
      ticks.push({ at: midnight, label: textIn('day', midnight, year), isStrong: true });
      year = yearOf(midnight);
    }
    if (stepS >= DAY_S) continue;
    for (let hour = stepS; hour < DAY_S; hour += stepS) {
      const at = setSeconds(new Date(midnight * 1000), hour) / 1000;
      const isNew = at > (ticks.at(-1)?.at ?? -Infinity);
      if (at < from || at >= to || at >= nextMidnight || !isNew) continue;
      ticks.push({ at, label: labels.time.format(at * 1000) });
    }
  }
  return ticks;
}

/** The ticks of time at their pixels; a label is empty if it would leave the axis or touch the one before it. */
export function placedTicks(view: View, width: number, widthOf: (label: string) => number) {
  const few = Math.min(width / NARROW_TICK_PX, FEW_TICKS);
  let free = 0;
  return timeTicks(view, Math.max(width / MIN_TIME_TICK_PX, few)).map(
    ({ at, label, isStrong = false }) => {
      const x = Math.round(xOf(view, at) * width) + 0.5;
      const half = widthOf(label) / 2;
      const fits = x - half > free && x + half < width + 4;
      if (fits) free = x + half + LABEL_GAP_PX;
      return { x, label: fits ? label : '', isStrong };
    },
  );
}

/** Ticks of several months or more. The first one always has its year, so that `22` in `Jan 22` cannot be taken for one. */
function monthTicks(from: number, to: number, maxTicks: number): Tick[] {
  const fits = (months: number): boolean => (to - from) / (months * LONGEST_MONTH_S) <= maxTicks;
  const step =
    MONTH_STEPS.find(fits) ?? 12 * Math.ceil((to - from) / 12 / LONGEST_MONTH_S / maxTicks);
  const { monthsOf, monthAt } = CALENDARS[zone.value];
  const ticks: Tick[] = [];
  let year = NaN;
  for (let month = Math.floor(monthsOf(new Date(from * 1000)) / step) * step; ; month += step) {
    const at = monthAt(month).getTime() / 1000;
    if (at >= to) return ticks;
    if (at < from) continue;
    ticks.push({ at, label: textIn('month', at, year), isStrong: month % 12 === 0 });
    year = yearOf(at);
  }
}

/** How days and months begin and follow each other in each zone; `months` are counted from the year 0; `seconds` are those of the day's clock. */
const CALENDARS = {
  utc: {
    setSeconds: (day: Date, seconds: number) => day.setUTCHours(0, 0, seconds, 0),
    addDays: (day: Date, days: number) => day.setUTCDate(day.getUTCDate() + days),
    offsetMs: () => 0,
    yearOf: (day: Date) => day.getUTCFullYear(),
    monthsOf: (day: Date) => 12 * day.getUTCFullYear() + day.getUTCMonth(),
    monthAt: (months: number) => new Date(Date.UTC(Math.floor(months / 12), months % 12)),
  },
  local: {
    setSeconds: (day: Date, seconds: number) => day.setHours(0, 0, seconds, 0),
    addDays: (day: Date, days: number) => day.setDate(day.getDate() + days),
    offsetMs: (day: Date) => -60_000 * day.getTimezoneOffset(),
    yearOf: (day: Date) => day.getFullYear(),
    monthsOf: (day: Date) => 12 * day.getFullYear() + day.getMonth(),
    monthAt: (months: number) => new Date(Math.floor(months / 12), months % 12),
  },
} as const;

/** Prices may grow by this factor across an axis before their steps grow too. */
const EVEN_FACTOR = 3;

/** The same as round distances from a price, in percent. @param lnBase logarithm of the price */
export function percentTicks({ lnLow, lnHigh }: View, lnBase: number, minGap: number): Tick[] {
  const ratios = roundSteps(lnLow - lnBase, lnHigh - lnBase, minGap);
  return ratios.map(({ value, step }) => ({
    at: Math.log(value) + lnBase,
    label: signedPercent(value - 1, digitsOf(100 * step)),
  }));
}

/** A price as its distance from another one. */
export const distanceText = (priceUsd: number, baseUsd: number): string =>
  signedPercent(priceUsd / baseUsd - 1, 2);

/**
 * Round prices, at least `minGap` (share of the height) apart, in steps of 1, 2 or 5 times a power of ten. Steps are
 * even, or grow with the price if the axis covers a wide range.
 */
export function priceTicks({ lnLow, lnHigh }: View, minGap: number): Tick[] {
  return roundSteps(lnLow, lnHigh, minGap).map(({ value, step }) => ({
    at: Math.log(value),
    label: priceText(value, step),
  }));
}

function roundSteps(
  lnLow: number,
  lnHigh: number,
  minGap: number,
): { value: number; step: number }[] {
  if (!(minGap > 0 && minGap < 1)) return [];
  const factor = Math.expm1(minGap * (lnHigh - lnLow));
  const high = Math.exp(lnHigh);
  const isEven = lnHigh - lnLow < Math.log(EVEN_FACTOR);
  const ticks: { value: number; step: number }[] = [];
  let price = Math.exp(lnLow);
  for (;;) {
    const step = roundUp((isEven ? high : price) * factor);
    const after = isEven || ticks.length === 0 ? price : price * (1 + factor);
    price = Math.ceil((after / step) * (1 - 1e-9)) * step;
    if (price > high) return ticks;
    ticks.push({ value: price, step });
    if (isEven) price += step;
  }
}

/** Digits after the point that show a step. */
const digitsOf = (step: number): number =>
  Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));

/** @param step the difference that the digits must show; default: five digits */
export function priceText(price: number, step = 10 ** (Math.floor(Math.log10(price)) - 4)): string {
  // An axis has no room for so many zeros: a subscript counts them.
  if (price < 1e-4) return shortPrice(price).slice(1);
  return grouped(price, digitsOf(step));
}

const USD = new Intl.NumberFormat('en-US', {
  notation: 'compact',
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 0,
  maximumSignificantDigits: 3,
});

export function usdText(usd: number): string {
  return USD.format(usd);
}
