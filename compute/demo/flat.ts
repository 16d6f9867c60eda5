/** The simulated market's flat datasets at a moment, as a collector hands them over. */
import { demoDcaOrderRows } from './dca-orders.js';
import { demoDlmmHourRows, demoDlmmPoolRows } from './dlmm-pools.js';
import { demoHolderRows, demoHolderTimes, hasDemoHolders } from './holders.js';
import { HOUR_S, hourOf } from './hours.js';
import { demoLimitOrderRows } from './limit-orders.js';
import { demoTokenHourRows } from './token-hours.js';
import type { DemoToken } from './tokens.js';

/** Hours that a filled market has behind it. */
const HOURS_BACK = 48;
const MINUTE_S = 60;

/** Rows of one dataset; made as they are asked for, since those of holders are many. */
export interface DemoRows {
  dataset: 'dca_orders' | 'limit_orders' | 'holders' | 'dlmm_pools' | 'dlmm_hours' | 'token_hours';
  rows: () => Iterable<object>;
}

/** Everything that stands at `untilS`, with the hours and holders before it. */
export function demoFlatRows(tokens: readonly DemoToken[], untilS: number): DemoRows[] {
  return datasets(
    tokens,
    untilS,
    null,
    hoursBetween(untilS - HOURS_BACK * HOUR_S, untilS),
    (token) => (hasDemoHolders(token) ? demoHolderTimes(untilS) : []),
  );
}

/** What changed in `(sinceS, t]`: orders at once, the rest when a minute has gone by. */
export function demoFlatChanges(
  tokens: readonly DemoToken[],
  sinceS: number,
  t: number,
): DemoRows[] {
  const minute = Math.floor(t / MINUTE_S) * MINUTE_S;
  const isNewMinute = minute > sinceS;
  const hours = isNewMinute ? hoursBetween(Math.max(sinceS, t - HOURS_BACK * HOUR_S), t) : [];
  const changed = datasets(tokens, t, sinceS, hours, (token) =>
    isNewMinute && hasDemoHolders(token) ? [minute] : [],
  );
  return changed.filter(({ dataset }) => isNewMinute || dataset.endsWith('_orders'));
}

function datasets(
  tokens: readonly DemoToken[],
  t: number,
  sinceS: number | null,
  hours: readonly number[],
  holderTimes: (token: DemoToken) => readonly number[],
): DemoRows[] {
  const each = (rowsOf: (token: DemoToken) => object[]) => () => tokens.flatMap(rowsOf);
  const hourly = (rowsOf: typeof demoTokenHourRows | typeof demoDlmmHourRows) =>
    each((token) => hours.flatMap((hour): object[] => rowsOf(token, hour, t)));
  return [
    { dataset: 'dca_orders', rows: each((token) => demoDcaOrderRows(token, t, sinceS)) },
    { dataset: 'limit_orders', rows: each((token) => demoLimitOrderRows(token, t, sinceS)) },
    { dataset: 'dlmm_pools', rows: each((token) => demoDlmmPoolRows(token, t)) },
    { dataset: 'dlmm_hours', rows: hourly(demoDlmmHourRows) },
    { dataset: 'token_hours', rows: hourly(demoTokenHourRows) },
    {
      dataset: 'holders',
      *rows() {
        for (const token of tokens) {
          for (const at of holderTimes(token)) yield* demoHolderRows(token, at);
        }
      },
    },
  ];
}

function hoursBetween(fromS: number, toS: number): number[] {
  const hours: number[] = [];
  for (let hour = hourOf(fromS); hour <= toS; hour += HOUR_S) hours.push(hour);
  return hours;
}
