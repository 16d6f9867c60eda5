/** The ticks of the axes and their labels. */
import { price as shortPrice } from '../state/format.js';
import { roundUp } from './amounts.js';
import type { View } from './view.js';

export interface Tick {
  /** Epoch seconds, or the logarithm of a price. */
  at: number;
  label: string;
  /** True at midnight. */
  isStrong?: boolean;
}

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const TIME_STEPS_S = [1, 2, 5, 10, 15, 30]
  .map((minutes) => minutes * MINUTE_S)
  .concat([1, 2, 3, 6, 12].map((hours) => hours * HOUR_S))
  .concat([1, 2, 7, 14, 28, 91].map((days) => days * DAY_S));

const DAY_LABEL = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const TIME_LABEL = new Intl.DateTimeFormat(undefined, CLOCK);
const FULL_LABEL = new Intl.DateTimeFormat(undefined, {
  ...CLOCK,
  day: 'numeric',
  month: 'short',
  second: '2-digit',
});

/** A time in full, in local time. */
export function timeText(t: number): string {
  return FULL_LABEL.format(t * 1000);
}

/** Ticks at whole hours and days of local time, also where clocks change. */
export function timeTicks({ from, to }: View, maxTicks: number): Tick[] {
  if (!(maxTicks > 0)) return [];
  const stepS =
    TIME_STEPS_S.find((step) => (to - from) / step <= maxTicks) ?? (to - from) / maxTicks;
  const ticks: Tick[] = [];
  const day = new Date(from * 1000);
  day.setHours(0, 0, 0, 0);
  const stepDays = Math.max(1, Math.round(stepS / DAY_S));
  // Days are counted from a fixed one: panning must not change which have ticks.
  const sinceEpoch = Math.floor((day.getTime() - day.getTimezoneOffset() * 60_000) / DAY_S / 1000);
  day.setDate(day.getDate() - (sinceEpoch % stepDays));
  while (day.getTime() / 1000 < to) {
    const midnight = day.getTime() / 1000;
    day.setDate(day.getDate() + stepDays);
    const nextMidnight = day.getTime() / 1000;
    if (midnight >= from) {
      ticks.push({ at: midnight, label: DAY_LABEL.format(midnight * 1000), isStrong: true });
    }
    if (stepS >= DAY_S) continue;
    for (let hour = stepS; hour < DAY_S; hour += stepS) {
      const at = new Date(midnight * 1000).setHours(0, 0, hour, 0) / 1000;
      const isNew = at > (ticks.at(-1)?.at ?? -Infinity);
      if (at < from || at >= to || at >= nextMidnight || !isNew) continue;
      ticks.push({ at, label: TIME_LABEL.format(at * 1000) });
    }
  }
  return ticks;
}

/** Prices may grow by this factor across an axis before their steps do. */
const EVEN_FACTOR = 3;

/**
 * Round prices, at least `minGap` (share of the height) apart, in steps of 1, 2 or 5 times a power of
 * ten. Steps are even, or grow with the price where the axis spans much.
 */
export function priceTicks({ lnLow, lnHigh }: View, minGap: number): Tick[] {
  if (!(minGap > 0 && minGap < 1)) return [];
  const apart = Math.expm1(minGap * (lnHigh - lnLow));
  const high = Math.exp(lnHigh);
  const isEven = lnHigh - lnLow < Math.log(EVEN_FACTOR);
  const ticks: Tick[] = [];
  let price = Math.exp(lnLow);
  for (;;) {
    const step = roundUp((isEven ? high : price) * apart);
    const after = isEven || ticks.length === 0 ? price : price * (1 + apart);
    price = Math.ceil((after / step) * (1 - 1e-9)) * step;
    if (price > high) return ticks;
    ticks.push({ at: Math.log(price), label: priceText(price, step) });
    if (isEven) price += step;
  }
}

/** @param step the difference that the digits must show; default: five digits */
export function priceText(price: number, step = 10 ** (Math.floor(Math.log10(price)) - 4)): string {
  // An axis has no room for so many zeros: a subscript counts them.
  if (price < 1e-4) return shortPrice(price).slice(1);
  const digits = Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return price.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
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
