/** Random pools, hours and snapshots for the tests of the LP tools, and the kernels run on them. */
import fc from 'fast-check';
import { dlmmBoard, type DlmmBoard, type PoolHours } from '../../compute/lp/dlmm-board.js';
import { BoardPoolList, type BoardPools } from '../../compute/lp/dlmm-pool.js';
import { hoursInSight, thisHour } from '../../compute/lp/hours.js';
import {
  joinRanges,
  poolRanges,
  type PoolRanges,
  poolsOfMarkets,
} from '../../compute/lp/pool-range.js';
import type { PriceHoursInput } from '../../compute/lp/price-range.js';
import type { Market } from '../../compute/market.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import { binSums, type BinSums, cellsOfRun, marketMask } from '../../compute/segment/snapshots.js';
import type {
  PlainMarketplace,
  PlainPool,
  PlainPoolHour,
  PlainSnapshot,
  PlainTokenHour,
} from '../reference/lp.js';
import { runOfCells } from '../support/runs.js';

export const QUOTES = ['USDC', 'USDT', 'SOL'];
const MINTS = ['USDC', 'SOL', 'AAA', 'BBB', 'CCC'];
const PUBKEYS = ['P1', 'P2', 'P3', 'P4', 'P5', 'P6', 'P7'];
/** Start of an hour. */
const HOUR = 1_794_657_600;

export interface TestMarketplace extends PlainMarketplace {
  tokenHours: PlainTokenHour[];
}

/** Few values, so that rows tie, and sometimes null. */
const amount = fc.oneof(
  fc.constantFrom(0, 0, 1, 250),
  fc.integer({ min: 1, max: 4_000_000 }).map((cents) => cents / 4),
);
const price = fc.oneof(
  fc.constant(10),
  fc.integer({ min: -9, max: 9 }).map((halfBins) => 10 * 1.01 ** (halfBins / 2)),
  fc.double({ min: 0.4, max: 300, noNaN: true }),
);
const cell = fc.record({
  market: fc.constantFrom(...PUBKEYS, null),
  pool: fc.boolean(),
  bin: fc.oneof(fc.integer({ min: -6, max: 6 }), fc.integer({ min: -232, max: 242 })),
  usd: fc.integer({ min: 4, max: 4000 }).map((quarters) => quarters / 4),
});
const hourOffset = fc.oneof(fc.integer({ min: -2, max: 1 }), fc.integer({ min: -26, max: 1 }));

const snapshotsFrom = (now: number) =>
  fc.uniqueArray(
    fc.record({
      t: fc
        .oneof(fc.integer({ min: -7200, max: 600 }), fc.integer({ min: -97_000, max: 4000 }))
        .map((offset) => now + offset),
      price,
      cells: fc.uniqueArray(cell, {
        maxLength: 8,
        selector: (c) => `${c.market} ${c.pool} ${c.bin}`,
      }),
    }),
    { maxLength: 7, selector: ({ t }) => t },
  );

export const marketplaces: fc.Arbitrary<TestMarketplace> = fc
  .constantFrom(0, 1, 1200, 3599)
  .map((second) => HOUR + second)
  .chain((now) =>
    fc.record({
      now: fc.constant(now),
      quotes: fc.constant(QUOTES),
      pools: fc.uniqueArray(
        fc
          .record({
            pubkey: fc.constantFrom(...PUBKEYS),
            mints: fc.shuffledSubarray(MINTS, { minLength: 2, maxLength: 2 }),
          })
          .map(({ pubkey, mints: [x, y] }): PlainPool => ({ pubkey, x, y })),
        { maxLength: 7, selector: ({ pubkey }) => pubkey },
      ),
      poolHours: fc.uniqueArray(
        fc
          .record({
            pubkey: fc.constantFrom(...PUBKEYS),
            hour: hourOffset,
            fees: amount,
            volume: amount,
            tvl: amount,
          })
          .map((row): PlainPoolHour => ({ ...row, hour: HOUR + row.hour * 3600 })),
        { maxLength: 30, selector: ({ pubkey, hour }) => `${pubkey} ${hour}` },
      ),
      tokenHours: fc.uniqueArray(
        fc
          .record({ address: fc.constantFrom(...MINTS), hour: hourOffset, volume: amount })
          .map((row): PlainTokenHour => ({ ...row, hour: HOUR + row.hour * 3600 })),
        { maxLength: 20, selector: ({ address, hour }) => `${address} ${hour}` },
      ),
      snapshots: fc.record(Object.fromEntries(MINTS.map((mint) => [mint, snapshotsFrom(now)]))),
    }),
  );

/** Every pubkey twice, for a pool and for an order book at the same address; and one without. */
const MARKETS: Market[] = [...PUBKEYS, null].flatMap((address) =>
  ([true, false] as const).map((pool): Market => ({
    source: pool ? 'Meteora' : 'Other',
    exchangeType: 'DEX',
    type: pool ? 'onchain_pool' : 'onchain_limit_order',
    address,
    pair: null,
  })),
);
const marketIndex = (market: string | null, pool: boolean) =>
  MARKETS.findIndex((m) => m.address === market && (m.type === 'onchain_pool') === pool);

function runOf(snapshots: readonly PlainSnapshot[]): SnapshotRun {
  const cellsOf = ({ cells }: PlainSnapshot) =>
    cells.map(({ market, pool, bin, usd }) => {
      // An amount is split, to catch a kernel that uses only one side.
      const support = Math.floor((usd * 100) / 3);
      return [marketIndex(market, pool), bin, support, usd * 100 - support];
    });
  const byPlace = (a: number[], b: number[]) => a[0] - b[0] || a[1] - b[1];
  const rows = snapshots.map((one) => ({ ...one, cells: cellsOf(one).sort(byPlace) }));
  return runOfCells(rows);
}

const byTime = (snapshots: readonly PlainSnapshot[]) => [...snapshots].sort((a, b) => a.t - b.t);

/** A token's snapshots in blocks of at most three; the selection names those up to now. */
export function storedOf({ now, snapshots }: TestMarketplace, mint: string): PriceHoursInput {
  const sorted = byTime(snapshots[mint] ?? []);
  const blocks: Uint8Array[] = [];
  const run: number[] = [];
  const row: number[] = [];
  for (let first = 0; first < sorted.length; first += 3) {
    const part = sorted.slice(first, first + 3);
    part.forEach(({ t }, i) => {
      if (t > now) return;
      run.push(blocks.length);
      row.push(i);
    });
    blocks.push(encodeSegment(runOf(part)));
  }
  return { blocks, selection: { run, row }, firstHourS: hoursInSight(now).firstHourS };
}

/** Price and on-chain pools of a token's newest visible snapshot. */
export function newestOf(
  { now, snapshots }: TestMarketplace,
  mint: string,
): { priceUsd: number; pools: BinSums } | null {
  const newest = byTime(snapshots[mint] ?? [])
    .filter(({ t }) => t <= now)
    .at(-1);
  if (newest === undefined) return null;
  const mask = marketMask(MARKETS, ({ type }) => type === 'onchain_pool');
  return { priceUsd: newest.price, pools: binSums(cellsOfRun(runOf([newest]), 0), mask) };
}

/** This hour by the kernels' rule. */
export function thisHourOf(now: number, rows: readonly { hour: number }[]): number {
  return thisHour(now, (hourS) => rows.some(({ hour }) => hour === hourS));
}

/** Rows of hours as columns. */
function poolHoursOf(rows: readonly PlainPoolHour[]): PoolHours {
  const pubkeys = [...new Set(rows.map(({ pubkey }) => pubkey))];
  return {
    pubkeys,
    pool: Uint32Array.from(rows, ({ pubkey }) => pubkeys.indexOf(pubkey)),
    hour: Uint32Array.from(rows, ({ hour }) => hour),
    feesUsd: Float64Array.from(rows, ({ fees }) => fees),
    volumeUsd: Float64Array.from(rows, ({ volume }) => volume),
    tvlUsd: Float64Array.from(rows, ({ tvl }) => tvl),
  };
}

export function boardPoolsOf(place: Pick<PlainMarketplace, 'pools' | 'quotes'>): BoardPools {
  const pools = place.pools.map(({ pubkey, x, y }) => ({ pubkey, tokenXMint: x, tokenYMint: y }));
  const list = new BoardPoolList(place.quotes);
  for (const pool of pools) list.add(pool);
  return list.columns();
}

/** Every base token's ranges. */
export function rangesOf(
  place: TestMarketplace,
  pools: BoardPools,
  maxHeldBytes?: number,
): { pubkeys: string[]; ranges: PoolRanges }[] {
  return pools.baseMints.map((mint, base) => {
    const pubkeys = pools.pubkeys.filter((_, pool) => pools.base[pool] === base);
    const input = {
      ...storedOf(place, mint),
      poolOfMarket: poolsOfMarkets(MARKETS, pubkeys),
      poolCount: pubkeys.length,
      thisHourS: thisHourOf(place.now, place.poolHours),
    };
    return { pubkeys, ranges: poolRanges(input, maxHeldBytes) };
  });
}

/** The board as the server makes it, from rows, blocks and pools. */
export function boardOf(place: TestMarketplace): { pools: BoardPools; board: DlmmBoard } {
  const pools = boardPoolsOf(place);
  const thisHourS = thisHourOf(place.now, place.poolHours);
  const board = dlmmBoard({
    pools,
    hours: poolHoursOf(place.poolHours),
    ranges: joinRanges(rangesOf(place, pools), thisHourS),
    thisHourS,
  });
  return { pools, board };
}
