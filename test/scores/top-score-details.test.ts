/** GET /top-scores?details=true: what the other endpoints say about each token, in one reply. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../support/conformance.js';
import { type Cell, commitRows, commitTokens, orca, snapshot } from '../support/stores.js';
import { MarketService, NOW_S } from '../tokens/market-service.js';

const [BRIDGED, ALONE, NEW, STALE] = ['A', 'B', 'C', 'D'].map((letter) => letter.repeat(43));
const LEG = `0x${'a'.repeat(40)}`;
const HOUR_S = 3600;
const NONE = { support: 0, resistance: 0 };
const PERPS = { source: 'Perps', exchange_type: 'CEX', type: 'cex_perp' } as const;

/** On the wrong side of the price, too far away for the score. */
const FAR: Cell[] = [
  [-40, 0, 300],
  [40, 200, 0],
];

const snap = (address: string, hoursAgo: number, usd: number, more: Cell[] = []) =>
  snapshot(
    NOW_S - hoursAgo * HOUR_S,
    [
      orca([
        [-2, usd, 0],
        [-1, usd, 0],
        [-3, 7 * usd, 0],
        [1, 0, 2 * usd],
        [2, 0, 5 * usd],
        ...more,
      ]),
      { ...PERPS, cells: [[-1, 1_000_000, 1_000_000]] },
    ],
    { address },
  );

let service: MarketService;
beforeAll(async () => {
  service = await MarketService.start();
  await commitTokens(service.store, [
    { address: BRIDGED, asset: 'one', symbol: 'ONE', name: 'One' },
    { chain: 'evmchain', address: LEG, asset: 'one' },
  ]);
  const rows = [snap(NEW, 0, 500), snap(STALE, 30, 500), snap(LEG, 20, 3000), snap(LEG, 1, 90)];
  for (const hours of [26, 23.5, 11.2, 5, 0.2]) {
    rows.push(snap(BRIDGED, hours, 10_000 / hours), snap(ALONE, hours + 0.1, 2000 * hours, FAR));
  }
  await commitRows(service.store, rows);
  await service.settled();
});
afterAll(() => service.stop());

const tokensOf = async (chain: string, more = '&details=true') => {
  const { status, body } = await service.get(`/top-scores?chain=${chain}${more}`);
  expect(status).toBe(200);
  return body.tokens as Json[];
};

describe('GET /top-scores?details=true', () => {
  it('has what /score says now and said at each hour, and the depth near the price', async () => {
    const found = new Set<string>();
    for (const chain of ['mainchain', 'evmchain', 'all']) {
      const plain = await tokensOf(chain, '');
      const detailed = await tokensOf(chain);
      expect(detailed).toHaveLength(plain.length);
      for (const [i, token] of detailed.entries()) {
        const { name, support_usd, resistance_usd, depth_2pct_usd, ...rest } = token;
        const { score_24h_ago, scores_24h, ...same } = rest;
        expect(same).toEqual(plain[i]);
        if (found.has(token.address as string)) continue;
        found.add(token.address as string);
        const score = async (query: string) => {
          const { body } = await service.get(`/score/${token.address}?chain=all&${query}`);
          return body;
        };
        const { name: itsName, explain } = await score('explain=true');
        // A bridged token is answered with its mint, which has a name.
        if (token.address !== LEG) expect(name).toBe(itsName);
        expect([support_usd, resistance_usd]).toEqual([explain.support, explain.resistance]);
        // Its amounts beyond the score's bins: see the next test.
        const more = token.address === ALONE ? { support: 200, resistance: 300 } : NONE;
        const weights = explain.weights as { bin: number; support: number; resistance: number }[];
        const sum = (side: 'support' | 'resistance', keeps: (factor: number) => boolean) =>
          weights
            .filter(({ bin }) => keeps(1.01 ** bin))
            .reduce((total, weight) => total + weight[side], more[side]);
        expect(depth_2pct_usd.support).toBeCloseTo(
          sum('support', (factor) => factor >= 0.98),
          2,
        );
        expect(depth_2pct_usd.resistance).toBeCloseTo(
          sum('resistance', (f) => f <= 1.02),
          2,
        );
        const ago = await score(`at=${NOW_S - 24 * HOUR_S}`);
        expect(score_24h_ago).toBe(ago.service_score);
        expect(scores_24h).toHaveLength(24);
        const lastHourS = Math.floor(NOW_S / HOUR_S) * HOUR_S;
        for (const [hour, value] of (scores_24h as (number | null)[]).entries()) {
          const then = await score(`at=${lastHourS - (23 - hour) * HOUR_S}`);
          expect([token.address, hour, value]).toEqual([token.address, hour, then.service_score]);
        }
      }
    }
    expect([...found].sort()).toEqual([ALONE, BRIDGED, LEG, NEW].sort());
  });

  it('adds up to what /market-depth has within 2%', async () => {
    const { body } = await service.get(`/market-depth?token_address=${ALONE}&include_summary=true`);
    const rows = (body.depth_data as Json[]).filter((row) => row.type !== 'cex_perp');
    const price = body.price as number;
    const sums = { support: 0, resistance: 0 };
    for (const row of rows) {
      const factor = (row.price as number) / price;
      if (factor >= 0.98) sums.support += row.support as number;
      if (factor <= 1.02) sums.resistance += row.resistance as number;
    }
    const { depth_2pct_usd } = (await tokensOf('mainchain')).find(
      ({ address }) => address === ALONE,
    ) as Json;
    expect(sums.support).toBeGreaterThan(0);
    expect(depth_2pct_usd.support).toBeCloseTo(sums.support, 1);
    expect(depth_2pct_usd.resistance).toBeCloseTo(sums.resistance, 1);
  });

  it('is at most a minute old', async () => {
    const support = async () =>
      (await tokensOf('mainchain')).find(({ address }) => address === NEW)?.support_usd as number;
    const before = await support();
    await commitRows(service.store, [snap(NEW, -10 / HOUR_S, 9000)]);
    await service.turnTo(NOW_S + 20);
    expect(await support()).toBe(before);
    await service.turnTo(NOW_S + 61);
    expect(await support()).toBeGreaterThan(before);
  });
});
