/** The small market from its files to the wire: scores, pages, orders, pressure and whales as in expected.json. */
import { beforeAll, describe, expect, it } from 'vitest';
import { TIMEFRAMES } from '../../compute/orders/dca-orders.js';
import { scoreSteps } from '../../explorer/views/formulas.js';
import { checkedFetch, type Json } from '../support/conformance.js';
import {
  exampleRows,
  expectClose,
  expectedReplies,
  HAS_EXAMPLES,
  serveExamples,
} from '../support/examples.js';

const DATASETS = ['tokens', 'snapshots', 'cells', 'dca_orders', 'limit_orders', 'holders'] as const;
const expected = HAS_EXAMPLES ? expectedReplies() : { replay: [] };
const names = expected.names as Record<string, string>;

describe.runIf(HAS_EXAMPLES)('the small market', () => {
  let market: Awaited<ReturnType<typeof serveExamples>>;
  const get = (target: string): Promise<Json> => market.get(target);
  beforeAll(async () => {
    market = await serveExamples(DATASETS);
  });

  describe('scores', () => {
    const scores = Object.entries((expected.score ?? {}) as Record<string, Json>);
    const explained = (name: string) => get(`/score/${names[name]}?explain=true`);

    it('equal the reference, including their parts', async () => {
      expect(scores.length).toBeGreaterThan(20);
      for (const [name, want] of scores) {
        const { explain, ...body } = await explained(name);
        // A bridged leg is answered as its mint: its own price does not appear.
        const shown = name === 'AAAe' ? 'AAA' : name;
        expect(body.address, name).toBe(names[shown]);
        expect(body.status, name).toBe(want.status);
        const price = expected.score[shown].current_price as number | null;
        expectClose(body.service_current_price, price, name);
        expect(body.service_score, name).toBe(want.service_score ?? null);
        const { unrounded, support, resistance } = want;
        expectClose(
          explain,
          unrounded === undefined ? null : { unrounded, support, resistance },
          name,
        );
      }
    });

    it('have parts that add up as the explorer shows them', async () => {
      let checked = 0;
      for (const [name, { service_score: score }] of scores) {
        const { explain } = await explained(name);
        if (explain === null || score === undefined) continue;
        const steps = scoreSteps(explain, score as number);
        const numbersOf = (start: string): number[] => {
          const step = steps.find((one) => one.startsWith(start)) ?? '';
          return (step.replaceAll(',', '').match(/\d+(?:\.\d+)?/g) ?? []).map(Number);
        };
        const [support, resistance, depth] = numbersOf('D = ');
        const [points, more, sum, rounded] = numbersOf('Score = ');
        expect(numbersOf('Weighted support').at(-1), name).toBe(support);
        expect(numbersOf('Weighted resistance').at(-1), name).toBe(resistance);
        expect(support + resistance, name).toBeCloseTo(depth, 2);
        expect(Math.abs(points + more - sum), name).toBeLessThan(0.00011);
        expect(rounded, name).toBe(score);
        checked++;
      }
      expect(checked).toBeGreaterThan(0);
    });

    it('list the legs separately in a batch, and rank the best on boards', async () => {
      const response = await checkedFetch(`${market.url}/api/v1/score`, {
        method: 'POST',
        headers: { 'x-api-key': market.key, 'content-type': 'application/json' },
        body: JSON.stringify({ addresses: scores.map(([name]) => names[name]) }),
      });
      const { tokens } = (await response.json()) as Json;
      expect(tokens.map((row: Json) => [row.address, row.service_score, row.status])).toEqual(
        scores.map(([name, want]) => [names[name], want.service_score ?? null, want.status]),
      );
      // HHH is nearly eight hours old.
      const stale = tokens.filter((row: Json) => 'stale' in row);
      expect(stale).toMatchObject([{ address: names.HHH, stale: true }]);
      const available = scores
        .filter(([name, { status }]) => status === 'available' && !['AAAe', 'HHH'].includes(name))
        .map(([name, want]) => [names[name], want.service_score as number] as const)
        .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
      const board = await get('/top-scores?chain=all');
      expect(board.tokens.map((row: Json) => [row.address, row.service_score])).toEqual(available);
      expect(board.stale_count).toBe(1);
    });
  });

  it.each(expected.replay as Json[])('answers $token $query page by page', async (example) => {
    let from: number | null = expected.now - 30 * 3600;
    for (const want of example.pages as Json[]) {
      const parameters = { ...example.query, from: String(from), to: String(expected.now) };
      const query = new URLSearchParams(parameters as Record<string, string>);
      const page = await get(`/replay/${names[example.token]}?${query}`);
      expectPage(page, want);
      from = page.next_from as number | null;
    }
    expect(from).toBeNull();
  });

  describe('orders', () => {
    it('have the ranges and flows of the reference, with every DCA order once', async () => {
      const seen = new Set<string>();
      const mints = new Set(exampleRows('dca_orders').map((row) => String(row.token_address)));
      for (const mint of mints) {
        for (const sort of ['usd_flow', 'pct_impact']) {
          const { orders } = await get(
            `/dca-orders?token_address=${mint}&limit=50&sort_by=${sort}`,
          );
          const flows = (orders as Json[]).map(({ dca_address: address, ...order }) => {
            const want = expected.dca_orders[address] as Json;
            seen.add(address as string);
            expect(order.in_active_range, address).toBe(want.in_active_range);
            for (const timeframe of TIMEFRAMES) {
              const usd: unknown = order.flow_projections[`usd_next_${timeframe}`];
              expectClose(usd, want.flow[timeframe], `${address} ${timeframe}`);
            }
            return want.flow['24_hr'] as number;
          });
          if (sort === 'usd_flow') expect(flows).toEqual([...flows].sort((a, b) => b - a));
        }
      }
      expect([...seen].sort()).toEqual(Object.keys(expected.dca_orders as Json).sort());
      expect(seen.size).toBeGreaterThan(40);
    });

    it('have the distances of the reference, nearest first, on both legs', async () => {
      // The reference has every limit order, whatever the distance.
      const within = (expected.limit_orders_AAA_all as [string, number][]).filter(
        ([, pctAway]) => pctAway >= -0.99 && pctAway <= 10,
      );
      expect(within.length).toBeGreaterThan(20);
      const query = `token_address=${names.AAA}&chain=all&limit=500&low_pct_change=-0.99`;
      const { orders } = await get(`/limit-orders?${query}`);
      const found = orders.map((order: Json) => [order.order_address, order.pct_away] as unknown);
      expectClose(found, within, 'limit orders');
      const chains = new Set((orders as Json[]).map((order) => String(order.chain)));
      expect([...chains].sort()).toEqual(['evmchain', 'mainchain']);
      for (const [address, chain] of [
        [names.AAA, 'evmchain'],
        [names.AAAe, 'evmchain'],
        [names.AAAe, 'mainchain'],
      ]) {
        const body = await get(`/limit-orders?token_address=${address}&chain=${chain}&limit=500`);
        const own = (orders as Json[]).filter(
          (order) => order.chain === chain && order.pct_away >= -0.9,
        );
        expect(body.orders).toEqual(own);
      }
    });
  });

  describe('DCA pressure', () => {
    const pressure = (expected.dca_pressure ?? {}) as Record<string, Json>;
    const tokens = async (query = ''): Promise<Json[]> =>
      (await get(`/dca-pressure?limit=50${query}`)).tokens as Json[];
    const nameOf = ({ token }: Json): string =>
      Object.keys(names).find((name) => names[name] === token.address) ?? String(token.address);

    it('has the tokens and numbers of the reference', async () => {
      const found = await tokens();
      expect(found.map(nameOf).sort()).toEqual(Object.keys(pressure).sort());
      for (const item of found) {
        const name = nameOf(item);
        expectClose(item.token.price_usd, expected.score[name].current_price, name);
        expectClose(item, pressure[name], name);
      }
    });

    it('moves prices to where /slippage ends for an order of the flow', async () => {
      let checked = 0;
      for (const { token, impact } of await tokens()) {
        for (const timeframe of TIMEFRAMES) {
          const [net, pct] = [impact[`net_usd_${timeframe}`], impact[`net_pct_${timeframe}`]];
          if (net === 0) continue;
          const order = `side=${net < 0 ? 'sell' : 'buy'}&usd=${Math.abs(net as number)}`;
          const { price_usd: price, quotes } = await get(`/slippage/${token.address}?${order}`);
          if (quotes[0]?.filled !== true) continue;
          expectClose(pct, 100 * (quotes[0].end_price_usd / price - 1), `${token.symbol} ${net}`);
          checked++;
        }
      }
      expect(checked).toBeGreaterThan(10);
    });

    it('is ranked by every sort, timeframe and direction', async () => {
      for (const timeframe of TIMEFRAMES) {
        for (const [sort, field] of Object.entries({ usd: 'net_usd', impact: 'net_pct' })) {
          for (const [direction, sign] of Object.entries({ desc: -1, asc: 1 })) {
            const valueOf = (name: string) =>
              pressure[name].impact[`${field}_${timeframe}`] as number | null;
            const before = (a: string, b: string): number => {
              const [x, y] = [valueOf(a), valueOf(b)];
              if (x === y) return names[a] < names[b] ? -1 : 1;
              return x === null || y === null ? (x === null ? 1 : -1) : sign * (x - y);
            };
            const query = `&sort_by=${sort}&sort_dir=${direction}&sort_timeframe=${timeframe}`;
            const want = Object.keys(pressure).sort(before);
            expect((await tokens(query)).map(nameOf), query).toEqual(want);
          }
        }
      }
    });
  });

  it('has the flow of AAA’s holders', async () => {
    const body = await get(`/whale-activity?token_address=${names.AAA}`);
    const { last_snapshot_t: newestT, ...want } = expected.whale_AAA as Json;
    expect(Date.parse(body.last_snapshot_at as string)).toBe(1000 * newestT);
    const { summary, sparkline } = body;
    expectClose({ summary, sparkline, wallets: body.wallets.slice(0, 10) }, want, 'whales');
  });
});

/** Amounts agree to the cent. */
const cents = (usd: number) => Math.round(usd * 100);
const sum = (values: number[]) => values.reduce((total, value) => total + cents(value), 0);

/** The name of cell `i`'s market or group, as in expected.json. */
function groupName(page: Json, snapshot: Json, i: number): string | null {
  if (snapshot.group_idx !== undefined) return page.groups[snapshot.group_idx[i]].key as string;
  if (snapshot.market_idx === undefined) return null;
  const { source, address, pair } = page.markets[snapshot.market_idx[i]];
  const name: string | null = address ?? pair;
  return name === null ? (source as string) : `${source}/${name}`;
}

function expectPage(page: Json, want: Json): void {
  const { snapshot_count, row_count, window, facets } = page;
  expect({ snapshot_count, row_count, ...window }).toMatchObject({
    snapshot_count: want.snapshot_count,
    row_count: want.row_count,
    served_from: want.served_from,
    served_to: want.served_to,
  });
  const summed = page.snapshots.map(({ t, tier, price_usd, bin, ...columns }: Json) => ({
    t,
    tier,
    price_usd,
    cells: bin.length,
    support: sum(columns.support_usd as number[]),
    resistance: sum(columns.resistance_usd as number[]),
  }));
  expect(summed).toEqual(
    want.snapshots.map(({ support_usd, resistance_usd, ...rest }: Json) => ({
      ...rest,
      support: cents(support_usd as number),
      resistance: cents(resistance_usd as number),
    })),
  );
  if (facets !== undefined) {
    const usdOf = (rows: Json[]) => Object.fromEntries(rows.map(({ key, usd }) => [key, usd]));
    for (const [rows, usd] of [
      [usdOf(facets.types as Json[]), want.facets_types_usd],
      [usdOf(facets.venues as Json[]), want.facets_venues_usd],
    ] as [Json, Json][]) {
      expect(Object.keys(rows).sort()).toEqual(Object.keys(usd).sort());
      expectClose(rows, usd, 'facets');
    }
  }
  const newest = page.snapshots.at(-1) as Json;
  const cells = newest.bin.map((bin: number, i: number) =>
    JSON.stringify([
      groupName(page, newest, i),
      bin,
      cents(newest.support_usd[i] as number),
      cents(newest.resistance_usd[i] as number),
    ]),
  );
  const wanted = want.newest_cells.map(([group, bin, support, resistance]: Json[]) =>
    JSON.stringify([group, bin, cents(Number(support)), cents(Number(resistance))]),
  );
  expect(cells.sort()).toEqual(wanted.sort());
}
