/** The demo's orders, holders, pools and hours: valid, the same every time, and continued correctly. */
import type { HolderRow } from '../../storage/ingest/holders.js';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { demoFlatChanges, demoFlatRows, type DemoRows } from '../../demo/flat.js';
import type { DemoDcaOrderRow, DemoLimitOrderRow } from '../../demo/orders.js';
import { DEMO_SEED, demoTokenRows, demoTokens } from '../../demo/tokens.js';
import { FaultLog } from '../../compute/ingest/fields.js';
import { flatReader } from '../../storage/ingest/flat-rows.js';

const UNTIL_S = 1_794_659_696;
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const tokens = demoTokens(DEMO_SEED);
/** A few of each kind; the whole market would take long. */
const some = tokens.filter((_, i) => i % 12 === 0);

function rowsOf<T>(all: readonly DemoRows[], dataset: DemoRows['dataset']): T[] {
  return all.filter((one) => one.dataset === dataset).flatMap(({ rows }) => [...rows()]) as T[];
}

describe("the demo's flat datasets", () => {
  const all = demoFlatRows(tokens, UNTIL_S);
  const dca = rowsOf<DemoDcaOrderRow>(all, 'dca_orders');
  const limit = rowsOf<DemoLimitOrderRow>(all, 'limit_orders');

  it('have only rows that ingest accepts, and no key twice', () => {
    for (const { dataset, rows } of all) {
      if (dataset === 'holders') continue;
      const faults = new FaultLog();
      let count = 0;
      const read = flatReader(dataset);
      for (const row of rows()) {
        count++;
        read(row, faults);
      }
      expect([dataset, faults.faults]).toEqual([dataset, []]);
      expect(count, dataset).toBeGreaterThan(20);
    }
    for (const keys of [dca.map((o) => o.dca_address), limit.map((o) => o.order_address)]) {
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  it('are the same when made again', () => {
    const again = demoTokens(DEMO_SEED).filter((_, i) => i % 12 === 0);
    const [one, other] = [some, again].map((market) => demoFlatRows(market, UNTIL_S));
    for (const dataset of ['dca_orders', 'limit_orders', 'dlmm_pools', 'dlmm_hours'] as const) {
      const rows = rowsOf(one, dataset);
      expect(rows.length).toBeGreaterThan(0);
      expect(isDeepStrictEqual(rowsOf(other, dataset), rows)).toBe(true);
    }
  });

  it('have orders of both directions, in and out of range, partly filled and new', () => {
    const prices = new Map(demoTokenRows(DEMO_SEED, UNTIL_S).map((r) => [r.address, r.price_usd]));
    for (const orders of [dca, limit]) {
      const buys = orders.filter(({ direction }) => direction === 'BUY').length;
      expect(buys / orders.length).toBeGreaterThan(0.35);
      expect(buys / orders.length).toBeLessThan(0.75);
    }
    const inRange = dca.filter(({ token_address, min_usd, max_usd }) => {
      const price = prices.get(token_address) ?? 0;
      return (min_usd ?? 0) <= price && price <= (max_usd ?? Infinity);
    });
    expect(inRange.length).toBeGreaterThan(dca.length * 0.6);
    expect(inRange.length).toBeLessThan(dca.length * 0.98);
    expect(limit.some(({ pct_complete }) => pct_complete > 0)).toBe(true);
    const soon = dca.filter((o) => o.next_cycle_at > UNTIL_S && o.next_cycle_at < UNTIL_S + 300);
    expect(soon.length).toBeGreaterThan(dca.length * 0.1);
  });

  it('have orders that trade a token for another, also where it is the native one', () => {
    const orders = demoFlatRows(tokens.slice(0, 4), UNTIL_S);
    const rows = [
      ...rowsOf<DemoDcaOrderRow>(orders, 'dca_orders'),
      ...rowsOf<DemoLimitOrderRow>(orders, 'limit_orders'),
    ];
    const symbolOf = new Map(tokens.map(({ address, symbol }) => [address, symbol]));
    const pairs = new Set(rows.map((o) => `${symbolOf.get(o.token_address)}/${o.paired_symbol}`));
    expect([...pairs].filter((one) => /^(SOL|WETH)\//.test(one)).sort()).toEqual([
      'SOL/USDC',
      'SOL/WETH',
      'WETH/USDC',
    ]);
  });

  it('give the same orders change by change as all at once', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2 * DAY_S }), { maxLength: 4 }), (steps) => {
        const state = new Map<string, object>();
        const put = (rows: readonly (DemoDcaOrderRow | DemoLimitOrderRow)[]) => {
          for (const row of rows) {
            const key = 'dca_address' in row ? row.dca_address : row.order_address;
            if (row.closed) state.delete(key);
            else state.set(key, row);
          }
        };
        const take = (of: readonly DemoRows[]) => {
          put(rowsOf(of, 'dca_orders'));
          put(rowsOf(of, 'limit_orders'));
        };
        let t = UNTIL_S;
        take(demoFlatRows(some, t));
        for (const step of steps) {
          take(demoFlatChanges(some, t, t + step));
          t += step;
        }
        const carried = [...state].sort(([a], [b]) => (a < b ? -1 : 1));
        state.clear();
        take(demoFlatRows(some, t));
        expect(carried).toEqual([...state].sort(([a], [b]) => (a < b ? -1 : 1)));
      }),
      { numRuns: 3 },
    );
  });

  it('follow holders for a month: some new, some gone, most balances unchanged', () => {
    const liquid = tokens.filter(({ kind, chain }) => kind === 'liquid' && chain === 'mainchain');
    const rows = rowsOf<HolderRow>(demoFlatRows(liquid.slice(0, 1), UNTIL_S), 'holders');
    const times = [...new Set(rows.map(({ t }) => t))];
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[0]).toBeLessThan(UNTIL_S - 31 * DAY_S);
    expect(times[times.length - 1]).toBeGreaterThan(UNTIL_S - 60);
    const at = (t: number) =>
      new Map(rows.filter((row) => row.t === t).map(({ owner, balance }) => [owner, balance]));
    const [then, before, now] = [times[0], times[times.length - 2], times[times.length - 1]].map(
      at,
    );
    const owners = [...now.keys()];
    const fresh = owners.filter((owner) => !then.has(owner)).length;
    expect(fresh).toBeGreaterThan(5);
    expect(fresh).toBeLessThan(owners.length / 2);
    const still = owners.filter((owner) => before.get(owner) === now.get(owner)).length;
    expect(still).toBeGreaterThan(owners.length * 0.9);
  });

  it('update pools and holders once a minute, and orders when they change', () => {
    const minute = Math.floor(UNTIL_S / 60) * 60;
    const names = (sinceS: number, t: number) => [
      ...new Set(demoFlatChanges(some, sinceS, t).map(({ dataset }) => dataset)),
    ];
    expect(names(minute + 1, minute + 30)).toEqual(['dca_orders', 'limit_orders']);
    expect(names(minute - 1, minute + 30)).toHaveLength(6);
  });

  it('have no row of an hour that has not begun', () => {
    const hour = UNTIL_S - (UNTIL_S % HOUR_S);
    const hours = (of: readonly DemoRows[]) =>
      (['dlmm_hours', 'token_hours'] as const).map((dataset) =>
        Math.max(...rowsOf<{ hour: number }>(of, dataset).map((row) => row.hour)),
      );
    const before = [hour - HOUR_S, hour - HOUR_S];
    expect(hours(demoFlatRows(some, hour))).toEqual(before);
    expect(hours(demoFlatChanges(some, hour - 30, hour))).toEqual(before);
    expect(hours(demoFlatChanges(some, hour, hour + 60))).toEqual([hour, hour]);
  });
});
