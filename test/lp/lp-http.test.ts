/** The LP tools over HTTP, from pools and hours in memory: parameters, nulls, bounds, first boards. */
import { afterEach, describe, expect, it } from 'vitest';
import type { DlmmPool } from '../../compute/lp/dlmm-pool.js';
import { storedRow } from '../reference/flat-store.js';
import type { PlainStore } from '../reference/replay.js';
import type { Json } from '../support/conformance.js';
import { noChange, poolRow } from '../support/flat.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MemoryLp } from '../support/memory-sources.js';
import {
  NOW_S,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from '../support/service.js';

const HOUR_S = 3600;
const THIS_HOUR = NOW_S - (NOW_S % HOUR_S);
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const BASE = 'B'.repeat(40);
const OTHER = 'C'.repeat(40);
const POOL = (n: number) => `P${String(n).padStart(39, '1')}`;

const pool = (n: number, more: Partial<DlmmPool> = {}): DlmmPool => ({
  ...storedRow<DlmmPool>(
    poolRow({ pubkey: POOL(n), token_x_mint: BASE, reserve_x: 10, reserve_y: 200 }),
  ),
  ...more,
});

function hourOf(n: number, { hour = THIS_HOUR, fees = n, volume = 100 * n, tvl = 20_000 } = {}) {
  return { pubkey: POOL(n), hour, feesUsd: fees, volumeUsd: volume, tvlUsd: tvl };
}

/** A token at 2 USD: 1,500 USD of pool 1 in each of bins -1 and 1, now and an hour ago. */
function baseStore(): PlainStore {
  const market = { source: 'M', exchangeType: 'DEX', type: 'onchain_pool', pair: null } as const;
  const cells = [
    { market: 0, bin: -1, support: 150_000n, resistance: 0n },
    { market: 0, bin: 1, support: 0n, resistance: 150_000n },
  ];
  return {
    markets: [{ ...market, address: POOL(1) }],
    snapshots: [
      { t: THIS_HOUR - 60, tier: 'raw', price: 2, cells },
      { t: THIS_HOUR + 60, tier: 'raw', price: 2.02, cells },
      { t: THIS_HOUR + 120, tier: 'raw', price: 2, cells },
    ],
  };
}

describe('the LP tools', () => {
  let service: TestService;
  afterEach(() => service.stop());

  async function start(lpSource: MemoryLp, more: TestServiceOptions = {}): Promise<void> {
    const depth = new MemoryDepth().add('mainchain', BASE, baseStore());
    const details = { [BASE]: { symbol: 'BBB', name: 'Base', icon: 'https://icons/b.png' } };
    service = await startTestService({ depth, lpSource, details, ...more });
  }

  const ask = async (path: string): Promise<Json> => {
    const response = await service.get(path);
    return { status: response.status, ...((await response.json()) as Json) };
  };

  it('cost nothing and are empty without data', async () => {
    const source = new MemoryLp();
    await start(source);
    await service.lpTools.settled();
    const { postedTasks } = service.pool;
    service.lpTools.change({ ...noChange(), dlmmPools: true, dlmmHours: true, tokenHours: true });
    await service.lpTools.settled();
    expect(service.pool.postedTasks).toBe(postedTasks);
    expect(await ask('/dlmm-pools?chain=all')).toEqual({
      status: 200,
      chain: 'mainchain',
      period: '1h',
      sort: 'rangeyield',
      minTvl: 10_000,
      mint: null,
      count: 0,
      data: [],
    });
    expect(await ask('/lp-cheat-sheet?chain=all')).toEqual({
      status: 200,
      chain: 'mainchain',
      window: '1h',
      denominator: 'near',
      limit: 25,
      count: 0,
      data: [],
    });
    const unknown = await ask(`/dlmm/${OTHER}?chain=all`);
    expect(unknown).toMatchObject({ status: 200, address: OTHER, period: '1h', pools: [] });
    expect(unknown.chips.leaders).toEqual({});
    expect(unknown.chips.definitions.map(({ key }: Json) => key as string)).toEqual([
      'feesPerAvgTvl',
      'rangeYield',
      'fees',
    ]);
  });

  it('apply a floor, and are unaffected without one', async () => {
    const source = new MemoryLp();
    source.pools = [pool(1), pool(2), pool(3, { tokenXMint: USDC, tokenYMint: OTHER })];
    source.poolHours = [
      hourOf(1, { tvl: 9_999 }),
      hourOf(2, { tvl: 10_000 }),
      hourOf(3, { tvl: 1, volume: 0, fees: 0 }),
    ];
    await start(source);
    const addresses = async (query: string) => {
      const body = await ask(`/dlmm-pools?sort=tvl${query}`);
      return [body.minTvl, body.mint, body.data.map(({ address }: Json) => address as string)];
    };
    expect(await addresses('')).toEqual([10_000, null, [POOL(2)]]);
    expect(await addresses('&minTvl=9999')).toEqual([9_999, null, [POOL(2), POOL(1)]]);
    expect(await addresses('&minTvl=0.5')).toEqual([0.5, null, [POOL(2), POOL(1), POOL(3)]]);
    expect(await addresses(`&mint=${BASE}`)).toEqual([0, BASE, [POOL(2), POOL(1)]]);
    expect(await addresses(`&mint=${BASE}&minTvl=10000`)).toEqual([10_000, BASE, [POOL(2)]]);
    // The quote side too; and what ignores floors.
    expect((await addresses(`&mint=${USDC}`))[2]).toEqual([POOL(2), POOL(1), POOL(3)]);
    const { data } = await ask(`/dlmm-pools?sort=volume&mint=${USDC}`);
    expect(data[2]).toMatchObject({
      baseMint: OTHER,
      quoteMint: USDC,
      baseSymbol: null,
      tokenIcon: null,
      effectiveFeeBps: null,
      captureShare: null,
      feeCapture: null,
      tokenPoolCount: 1,
    });
    expect(data[0]).toMatchObject({
      baseSymbol: 'BBB',
      tokenIcon: 'https://icons/b.png',
      captureShare: 2 / 3,
      tokenPoolCount: 2,
    });
  });

  it('list 500 pools on the board and 2,000 of a token, the best ones', async () => {
    const source = new MemoryLp();
    const numbers = Array.from({ length: 2100 }, (_, i) => i + 1);
    source.pools = numbers.map((n) => pool(n));
    source.poolHours = numbers.map((n) => hourOf(n));
    await start(source);
    const { count, data } = await ask('/dlmm-pools?sort=fees');
    expect(count).toBe(500);
    expect(data.map(({ fees }: Json) => fees as number)).toEqual(numbers.reverse().slice(0, 500));
    const { pools } = await ask(`/dlmm/${BASE}`);
    // At equal liquidity the first by pubkey, and those that lead.
    const sorted = source.pools.map(({ pubkey }) => pubkey).sort();
    const leaders = new Set([POOL(1), POOL(2100)]);
    expect(pools.map(({ pubkey }: Json) => pubkey as string)).toEqual(
      sorted.filter((pubkey, i) => i < 2000 || leaders.has(pubkey)),
    );
  });

  it('mark the pools of a token that lead, and order them by liquidity', async () => {
    const source = new MemoryLp();
    source.pools = [
      pool(1, { reserveX: 1 }),
      pool(2),
      // Without a price, and without hours.
      pool(3, { tokenYMint: OTHER }),
      pool(4, { activeId: 2 ** 31 - 1 }),
    ];
    source.poolHours = [
      hourOf(1, { fees: 10, tvl: 50_000 }),
      hourOf(2, { fees: 10, tvl: 40_000 }),
      hourOf(3, { fees: 99, hour: THIS_HOUR - HOUR_S }),
    ];
    const details = { [BASE]: { symbol: 'BBB' }, [USDC]: { price_usd: 1 } };
    const depth = new MemoryDepth().add('mainchain', BASE, baseStore());
    depth.add('mainchain', USDC, { markets: [], snapshots: [] });
    await start(source, { depth, details });
    const { pools, chips } = await ask(`/dlmm/${BASE}`);
    const label = (key: string) =>
      chips.definitions.find((definition: Json) => definition.key === key).label as string;
    expect(chips.leaders).toEqual({ fees: POOL(1), rangeYield: POOL(1), feesPerAvgTvl: POOL(2) });
    expect(pools.map(({ pubkey }: Json) => pubkey as string)).toEqual([2, 4, 1, 3].map(POOL));
    const [second, extreme, first, third] = pools as Json[];
    expect(second.chips).toEqual([label('feesPerAvgTvl')]);
    expect(first.chips).toEqual([label('rangeYield'), label('fees')]);
    expect(first).toMatchObject({
      token_x_symbol: 'BBB',
      token_x_price: 2,
      token_y_price: 1,
      reserve_x_usd: 2,
      reserve_y_usd: 200,
      total_liquidity_usd: 202,
    });
    // Both bins are within half a bin of the range from 2 to 2.02 in some of the snapshots.
    expect(first.stats_1h.rangeYield).toBe(10 / first.stats_1h.rangeTvl);
    expect(third).toMatchObject({
      token_y_symbol: null,
      token_y_price: null,
      reserve_y_usd: null,
      total_liquidity_usd: null,
      stats_1h: null,
      chips: [],
    });
    expect(extreme.pool_price).toBeNull();
  });

  it('answer requests from before the first boards with those boards', async () => {
    const source = new MemoryLp();
    source.pools = [pool(1)];
    source.poolHours = [hourOf(1)];
    source.mintHours = [{ address: BASE, hour: THIS_HOUR, organicVolumeUsd: 6_000 }];
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    source.beforeRead = () => held;
    await start(source);
    const replies = [ask('/dlmm-pools'), ask(`/dlmm/${BASE}`), ask('/lp-cheat-sheet')];
    // The service responds in the meantime.
    expect(await ask('/top-scores')).toMatchObject({ status: 200 });
    release();
    const [board, pools, densities] = await Promise.all(replies);
    expect(board.data.map(({ rangeYield }: Json) => typeof rangeYield)).toEqual(['number']);
    expect(pools.pools[0].stats_1h.rangeYield).toBe(board.data[0].rangeYield);
    expect(densities.data).toEqual([
      {
        rank: 1,
        address: BASE,
        chain: 'mainchain',
        symbol: 'BBB',
        name: 'Base',
        icon: 'https://icons/b.png',
        organic_volume: 6_000,
        denom_liquidity_usd: 3_000,
        fee_density: 2,
      },
    ]);
  });

  it('survive a failing store', async () => {
    const source = new MemoryLp();
    source.beforeRead = () => Promise.reject(new Error('no such disk'));
    await start(source);
    expect(await ask('/dlmm-pools')).toMatchObject({ status: 500, error_code: 'internal_error' });
    expect(service.logged.join('')).toContain('no such disk');
    source.beforeRead = () => Promise.resolve();
    source.pools = [pool(1)];
    source.poolHours = [hourOf(1)];
    service.lpTools.change({ ...noChange(), dlmmHours: true });
    expect(await ask('/dlmm-pools')).toMatchObject({ status: 200, count: 1 });
  });
});
