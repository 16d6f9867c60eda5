/** The small market's pools and fee densities, over HTTP from a real store. */
import { beforeAll, describe, expect, it } from 'vitest';
import { DLMM_PERIODS } from '../../compute/lp/hours.js';
import type { Json } from '../support/conformance.js';
import {
  exampleRows,
  expectClose,
  expectedReplies,
  HAS_EXAMPLES,
  serveExamples,
} from '../support/examples.js';
import { becomes } from '../support/waiting.js';

const DATASETS = [
  'tokens',
  'snapshots',
  'cells',
  'dlmm_pools',
  'dlmm_hours',
  'token_hours',
] as const;
const SORTS = {
  rangeyield: 'rangeYield',
  feespertvl: 'feesPerAvgTvl',
  fees: 'fees',
  volume: 'volume',
  tvl: 'tvl',
} as const;
const STATS = [
  'fees',
  'volume',
  'effectiveFeeBps',
  'feesPerAvgTvl',
  'rangeYield',
  'rangeTvl',
  'feeCapture',
  'captureShare',
  'tvl',
];

/** @param name `window/denominator` */
function densityPath(name: string): string {
  const [window, denominator] = name.split('/');
  return `/lp-cheat-sheet?window=${window}&denominator=${denominator}&limit=100`;
}

describe.runIf(HAS_EXAMPLES)('the example market', () => {
  let expected: Json;
  let bodyOf: (target: string) => Promise<Json>;
  beforeAll(async () => {
    expected = expectedReplies();
    bodyOf = (await serveExamples(DATASETS)).get;
    // The first boards wait for ranges for some seconds, which may be too short on a busy machine.
    const withRanges = (rows: Json[]): number =>
      rows.filter(({ rangeYield }) => rangeYield !== null).length;
    const densities = Object.entries<Json[]>(expected.lp_cheat_sheet as Json);
    const counts = async (): Promise<number[]> => {
      const pools = await bodyOf('/dlmm-pools?period=24h&minTvl=0');
      const found = [withRanges(pools.data as Json[])];
      for (const [name] of densities) found.push((await bodyOf(densityPath(name))).count as number);
      return found;
    };
    await becomes(counts, [
      withRanges(Object.values(expected.dlmm['24h'] as Json)),
      ...densities.map(([, rows]) => rows.length),
    ]);
  });

  it.each(Object.keys(SORTS) as (keyof typeof SORTS)[])('ranks pools by %s', async (sort) => {
    for (const period of DLMM_PERIODS.filter((name) => name in expected.dlmm)) {
      const want = expected.dlmm[period] as Json;
      const where = `/dlmm-pools?period=${period}&sort=${sort}&minTvl=0`;
      const { data, count, ...echo } = await bodyOf(where);
      expect(echo).toEqual({ chain: 'mainchain', period, sort, minTvl: 0, mint: null });
      expect(count).toBe(data.length);
      const valueOf = (address: string) => (want[address][SORTS[sort]] ?? -Infinity) as number;
      const ranked = Object.keys(want).sort((a, b) => {
        const [x, y] = [valueOf(a), valueOf(b)];
        return x === y ? (a < b ? -1 : 1) : y - x;
      });
      expect(data.map(({ address }: Json) => address as string)).toEqual(ranked);
      for (const row of data as Json[]) {
        const { base, quote, ...figures } = want[row.address] as Json;
        expect([row.baseMint, row.quoteMint]).toEqual([base, quote]);
        expectClose(row, figures, `${where} ${row.address}`);
      }
    }
  });

  it('describes the pool and its tokens in each row', async () => {
    const tokens = new Map(exampleRows('tokens').map((token) => [token.address as string, token]));
    const pools = exampleRows('dlmm_pools');
    const { data } = await bodyOf('/dlmm-pools?period=24h&minTvl=0');
    for (const row of data as Json[]) {
      const pool = pools.find(({ pubkey }) => pubkey === row.address) as Json;
      expect(row).toMatchObject({ binStep: pool.bin_step, baseFeePct: pool.base_fee_pct });
      expect(row.baseSymbol).toBe(tokens.get(row.baseMint as string)?.symbol ?? null);
      expect(row.quoteSymbol).toBe(tokens.get(row.quoteMint as string)?.symbol ?? null);
      expect(row.tokenIcon).toBe(tokens.get(row.baseMint as string)?.icon ?? null);
      const sharing = Object.values<Json>(expected.dlmm['24h'] as Json);
      expect(row.tokenPoolCount).toBeGreaterThanOrEqual(
        sharing.filter(({ base }) => base === row.baseMint).length,
      );
    }
  });

  it('has the pools of a token with their figures of this hour', async () => {
    const hour = expected.dlmm['1h'] as Json;
    const priceOf = (mint: string): number | null => {
      const name = Object.keys(expected.names as Json).find((n) => expected.names[n] === mint);
      return name === undefined ? null : (expected.score[name]?.current_price ?? null);
    };
    const pools = exampleRows('dlmm_pools');
    const mints = new Set(pools.flatMap((pool) => [pool.token_x_mint, pool.token_y_mint]));
    for (const mint of mints as Set<string>) {
      const body = await bodyOf(`/dlmm/${mint}`);
      expect(body).toMatchObject({ address: mint, chain: 'mainchain', period: '1h' });
      const own = pools.filter((pool) => [pool.token_x_mint, pool.token_y_mint].includes(mint));
      expect(body.pools.map(({ pubkey }: Json) => pubkey as string).sort()).toEqual(
        own.map(({ pubkey }) => pubkey as string).sort(),
      );
      for (const pool of body.pools as Json[]) {
        const row = own.find(({ pubkey }) => pubkey === pool.pubkey) as Json;
        expect(pool).toMatchObject(row);
        const decimals = row.token_x_decimals - row.token_y_decimals;
        const price = (1 + row.bin_step / 10_000) ** row.active_id * 10 ** decimals;
        expectClose(pool.pool_price, price, 'pool_price');
        const [x, y] = [priceOf(row.token_x_mint as string), priceOf(row.token_y_mint as string)];
        expectClose(pool.token_x_price, x, 'token_x_price');
        expectClose(pool.token_y_price, y, 'token_y_price');
        expectClose(pool.reserve_x_usd, x && x * row.reserve_x, 'reserve_x_usd');
        expectClose(pool.reserve_y_usd, y && y * row.reserve_y, 'reserve_y_usd');
        const total = x === null || y === null ? null : x * row.reserve_x + y * row.reserve_y;
        expectClose(pool.total_liquidity_usd, total, 'total_liquidity_usd');
        const want = hour[pool.pubkey] as Json | undefined;
        expect(pool.stats_1h === null).toBe(want === undefined);
        if (want === undefined) continue;
        expect(Object.keys(pool.stats_1h as Json).sort()).toEqual([...STATS].sort());
        const stats = STATS.map((name) => [name, want[name] as unknown]);
        expectClose(pool.stats_1h, Object.fromEntries(stats), pool.pubkey as string);
      }
      const leaders = Object.entries<string>(body.chips.leaders as Json);
      for (const { key, label } of body.chips.definitions as Json[]) {
        const values = own.flatMap(({ pubkey }) => hour[pubkey]?.[key] ?? []) as number[];
        const led = leaders.find(([name]) => name === key)?.[1];
        if (values.length === 0) expect(led).toBeUndefined();
        else expect(hour[led as string][key]).toBe(Math.max(...values));
        for (const pool of body.pools as Json[]) {
          expect(pool.chips.includes(label)).toBe(pool.pubkey === led);
        }
      }
    }
  });

  it('ranks tokens by fee density', async () => {
    const boards = Object.entries<Json[]>(expected.lp_cheat_sheet as Json);
    expect(boards.length).toBe(9);
    for (const [name, want] of boards) {
      const [window, denominator] = name.split('/');
      const where = densityPath(name);
      const { data, count, ...echo } = await bodyOf(where);
      expect(echo).toEqual({ chain: 'mainchain', window, denominator, limit: 100 });
      expect(count).toBe(want.length);
      expect(data.map(({ address }: Json) => address as string)).toEqual(
        want.map(({ address }) => address as string),
      );
      for (const [i, row] of (data as Json[]).entries()) {
        expect(row.rank).toBe(i + 1);
        const { organic_volume, denom_liquidity_usd, fee_density } = want[i];
        const figures = { organic_volume, denom_liquidity_usd, fee_density };
        expectClose(row, figures, `${where} ${row.address}`);
      }
    }
  });
});
