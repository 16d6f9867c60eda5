/** Random small stores and requests for the tests of replay, and the kernel run on them. */
import fc from 'fast-check';
import { binsOfBand } from '../../compute/ladder.js';
import { TIERS, type Chain } from '../../compute/market.js';
import { marketsOfPage, type PageNames } from '../../compute/replay/names.js';
import { drawPage, namePage, type Page, type PageLimits } from '../../compute/replay/page.js';
import type { ReplayQuery } from '../../compute/replay/query.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import type { PlainCell, PlainRequest, PlainSnapshot, PlainStore } from '../reference/replay.js';
import { MINT, runOfCells } from '../support/runs.js';

export { MINT };
export const START_T = 1_794_000_000;
/** A page of the tests holds at least this many cells, and no snapshot has more. */
const MAX_TEST_CELLS = 14;

/** Venues as collectors spell them: some share a key, and each key has one type. */
const VENUES = [
  { source: 'Orca Whirlpool', exchangeType: 'DEX', type: 'onchain_pool' },
  { source: 'orca_whirlpool!', exchangeType: 'DEX', type: 'onchain_pool' },
  { source: 'constant-product', exchangeType: 'DEX', type: 'onchain_pool' },
  { source: 'Phoenix "v1"', exchangeType: 'DEX', type: 'onchain_limit_order' },
  { source: 'Börse № 9', exchangeType: 'CEX', type: 'cex_spot' },
  { source: 'Binance', exchangeType: 'CEX', type: 'cex_spot' },
  { source: 'Binance Futures', exchangeType: 'CEX', type: 'cex_perp' },
] as const;

const VENUE_KEYS = [
  'orca-whirlpool',
  'constant-product',
  'phoenix-v1',
  'b-rse-9',
  'binance',
  'nix',
];
const BANDS = [
  [-50, 100],
  [-90, 1000],
  [-5, 5],
  [-1, 2.01],
  [0, 0.5],
  [0.2, 0.3],
] as const;

const cents = fc.oneof(
  fc.integer({ min: 0, max: 2000 }),
  fc.integer({ min: 0, max: 50_000_000 }),
  fc.integer({ min: 0, max: 90_000 }).map((usd) => usd * 100),
  fc.integer({ min: 4_294_967_000, max: 900_000_000_000 }),
);

const bins = fc.oneof(
  fc.integer({ min: -6, max: 6 }),
  fc.integer({ min: -72, max: 72 }),
  fc.constantFrom(-232, -231, -70, -69, 69, 70, 232, 233, 240, 241, 242),
);

export const stores: fc.Arbitrary<PlainStore> = fc
  .array(fc.constantFrom(...VENUES), { minLength: 1, maxLength: 9 })
  .chain((venues) => {
    const cell = fc.record({
      market: fc.integer({ min: 0, max: venues.length - 1 }),
      bin: bins,
      support: cents.map(BigInt),
      resistance: cents.map((value) => BigInt(value + 100)),
    });
    const cells = fc
      .uniqueArray(cell, {
        selector: ({ market, bin }) => `${market} ${bin}`,
        maxLength: MAX_TEST_CELLS,
        size: 'max',
      })
      .map((list) => list.sort(byMarketAndBin));
    const snapshot = fc.record({
      gap: fc.integer({ min: 1, max: 5000 }),
      tier: fc.constantFrom(...TIERS),
      price: fc.double({ min: 1e-12, max: 1e12, noNaN: true }),
      cells,
      lacks: fc.option(fc.nat(MAX_TEST_CELLS), { freq: 3 }),
    });
    return fc.array(snapshot, { maxLength: 24, size: 'max' }).map((list): PlainStore => {
      let t = START_T;
      let before: PlainCell[] = [];
      const snapshots = list.map(({ gap, cells: own, lacks, ...rest }) => {
        // As in real books, some have the cells of the one before: all, all but one, or the last of another market.
        const { market: last = 0 } = before.at(-1) ?? {};
        const same = before.flatMap((one, i) => {
          if (i !== lacks) return [one];
          return i + 1 === before.length && last + 1 < venues.length
            ? [{ ...one, market: last + 1 }]
            : [];
        });
        before = lacks === null ? own : same.map((one) => ({ ...one, support: one.support + 7n }));
        return { t: (t += gap), ...rest, cells: before };
      });
      return { markets: venues.map(marketAt), snapshots };
    });
  });

function marketAt(venue: (typeof VENUES)[number], index: number) {
  const address = index % 3 === 0 ? null : `pool-${index}`;
  return { ...venue, address, pair: index % 2 === 0 ? `A${index}/USD` : null };
}

function byMarketAndBin(a: PlainCell, b: PlainCell): number {
  return a.market - b.market || a.bin - b.bin;
}

const typeLists = fc.uniqueArray(
  fc.constantFrom('onchain_pool', 'onchain_limit_order', 'cex_spot', 'cex_perp'),
  { minLength: 1, maxLength: 3 },
);
const venueLists = fc.array(fc.constantFrom(...VENUE_KEYS), { minLength: 1, maxLength: 4 });

/** Keeps, drops or neither; never both. */
function keepOrDrop<T>(lists: fc.Arbitrary<T[]>) {
  const none = fc.constant({ keep: null, drop: null });
  return fc.oneof(
    { arbitrary: none, weight: 2 },
    { arbitrary: lists.map((keep) => ({ keep, drop: null })), weight: 1 },
    { arbitrary: lists.map((drop) => ({ keep: null, drop })), weight: 1 },
  );
}

/** A request for a window that states nothing else, or only `more`: it uses replay's defaults. */
export function plainRequest(
  from: number,
  to: number,
  more: Partial<PlainRequest> = {},
): PlainRequest {
  return {
    from,
    to,
    group: 'market',
    types: null,
    excludeTypes: null,
    venues: null,
    excludeVenues: null,
    minPct: -50,
    maxPct: 100,
    ...more,
  };
}

export const requests = fc
  .record({
    group: fc.constantFrom('market' as const, 'venue' as const, 'type' as const, 'all' as const),
    types: keepOrDrop(typeLists),
    venues: keepOrDrop(venueLists),
    band: fc.oneof(fc.constant(BANDS[0]), fc.constantFrom(...BANDS)),
    from: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20_000 })),
    length: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 60_000 })),
  })
  .map(({ group, types, venues, band, from, length }): PlainRequest => ({
    from: START_T + from,
    to: START_T + from + length,
    group,
    types: types.keep,
    excludeTypes: types.drop,
    venues: venues.keep,
    excludeVenues: venues.drop,
    minPct: band[0],
    maxPct: band[1],
  }));

export const pageLimits: fc.Arbitrary<PageLimits> = fc.record({
  maxCells: fc.integer({ min: MAX_TEST_CELLS, max: 40 }),
  maxSnapshots: fc.integer({ min: 1, max: 24 }),
});

export function queryOf(request: PlainRequest): ReplayQuery {
  const { group, types, excludeTypes, venues, excludeVenues, minPct, maxPct } = request;
  const band = binsOfBand(minPct, maxPct);
  return { group, types, excludeTypes, venues, excludeVenues, band, minPct, maxPct };
}

export function envelopeOf(request: PlainRequest, resolvedToken: string | null = null) {
  const token = resolvedToken === null ? MINT : '0x00000000000000000000000000000000000000aa';
  const { from, to } = request;
  const chain: Chain = 'mainchain';
  return { token, resolvedToken, chain, window: { from, to, clamped: false } };
}

/** One tier's snapshots as columns. */
export function runOf(tier: PlainSnapshot['tier'], snapshots: PlainSnapshot[]): SnapshotRun {
  const rows = snapshots.map(({ t, price, cells }) => ({
    t,
    price,
    cells: cells.map((cell) => [
      cell.market,
      cell.bin,
      Number(cell.support),
      Number(cell.resistance),
    ]),
  }));
  return runOfCells(rows, { tier });
}

/** A store's snapshots as runs of a few snapshots of one tier, with the position of each snapshot. */
export function runsOf(store: PlainStore, runLength: number): StoreRuns {
  const known = made.get(store) ?? new Map<number, StoreRuns>();
  made.set(store, known);
  const runs = known.get(runLength) ?? makeRuns(store, runLength);
  known.set(runLength, runs);
  return runs;
}

interface StoreRuns {
  runs: SnapshotRun[];
  placeOf: Map<number, { run: number; row: number }>;
}

/** Pages of one store are requested many times. */
const made = new WeakMap<PlainStore, Map<number, StoreRuns>>();

function makeRuns(store: PlainStore, runLength: number): StoreRuns {
  const runs: SnapshotRun[] = [];
  const placeOf = new Map<number, { run: number; row: number }>();
  for (const tier of TIERS) {
    const ofTier = store.snapshots.filter((snapshot) => snapshot.tier === tier);
    for (let first = 0; first < ofTier.length; first += runLength) {
      const part = ofTier.slice(first, first + runLength);
      part.forEach(({ t }, row) => placeOf.set(t, { run: runs.length, row }));
      runs.push(runOf(tier, part));
    }
  }
  return { runs, placeOf };
}

/** How a caller passes the selection: this many rows at first, with or without the next time. */
interface Supply {
  rows: number;
  namesNext: boolean;
  runLength: number;
}

export const supplies: fc.Arbitrary<Supply> = fc.record({
  rows: fc.integer({ min: 1, max: 26 }),
  namesNext: fc.boolean(),
  runLength: fc.integer({ min: 1, max: 6 }),
});

/** One page of the kernel. Whenever it requests more rows it gets twice as many. */
export function kernelPage(
  store: PlainStore,
  request: PlainRequest,
  limits: PageLimits,
  supply: Supply,
): { page: Page; askedForMore: number } {
  const { runs, placeOf } = runsOf(store, supply.runLength);
  const query = queryOf(request);
  const markets = marketsOfPage(store.markets, query);
  const times = store.snapshots
    .map(({ t }) => t)
    .filter((t) => t >= request.from && t < request.to);
  for (let rows = supply.rows, askedForMore = 0; ; rows *= 2, askedForMore++) {
    const places = times.slice(0, rows).map((t) => placeOf.get(t) as { run: number; row: number });
    const drawn = drawPage(
      {
        runs,
        selection: { run: places.map(({ run }) => run), row: places.map(({ row }) => row) },
        markets,
        query,
        windowContinues: rows < times.length,
        nextT: supply.namesNext ? (times[rows] ?? null) : null,
      },
      limits,
    );
    if (drawn.end !== 'more') {
      return { page: namePage(drawn, markets, markets.names as PageNames), askedForMore };
    }
  }
}
