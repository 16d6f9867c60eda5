import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_BAND } from '../../compute/ladder.js';
import { decodeSegment, digestsOf, sliceRun } from '../../compute/segment/segment.js';
import { TIERS } from '../../compute/market.js';
import { marketName } from '../../storage/depth/market-names.js';
import type { Store } from '../../storage/store.js';
import { PlainStore, nameOf } from '../reference/store.js';
import { visibleSnapshots } from '../reference/replay.js';
import {
  DataDirectory,
  EVM_TOKEN,
  MINT,
  OTHER_MINT,
  commitDelete,
  commitRows,
  directoryOf,
  retryWhileJoined,
  openStore,
  snapshotsOf,
  storedSnapshots,
  tokenOf,
  type Cell,
  type MarketFields,
  type SnapshotRow,
} from '../support/stores.js';

const TOKENS = [MINT, OTHER_MINT, EVM_TOKEN];
/** Some share a venue; one has neither address nor pair. */
const MARKETS: Omit<MarketFields, 'cells'>[] = [
  { source: 'Orca', exchange_type: 'DEX', address: 'pool-1', pair: 'A/B' },
  { source: 'Orca', exchange_type: 'DEX', address: 'pool-2' },
  { source: 'orca!', exchange_type: 'DEX', address: 'pool-1' },
  { source: 'Phoenix', exchange_type: 'DEX', type: 'onchain_limit_order', pair: 'A/B' },
  { source: 'Binance', exchange_type: 'CEX', pair: 'A/USDT' },
  { source: 'Binance', exchange_type: 'CEX' },
];
const T0 = 1_794_000_000;
const END = 2 ** 32 - 1;
/** Use more for a long search: FATHOM_RUNS=500. */
const RUNS = Number(process.env.FATHOM_RUNS ?? 8);

const amount = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 300 }), weight: 3 },
  // Some exceed 32 bits of cents, which widens a segment's columns.
  { arbitrary: fc.integer({ min: 0, max: 9_000_000_000 }), weight: 1 },
);
const cell = fc
  .tuple(fc.integer({ min: -260, max: 260 }), amount, amount)
  .map(([bin, support, resistance]): Cell => [bin, support / 100, resistance / 100]);
const cells = fc.uniqueArray(cell, { selector: ([bin]) => bin, maxLength: 4 });
const markets = fc.uniqueArray(
  fc.tuple(fc.constantFrom(...MARKETS), cells).map(([market, own]) => ({ ...market, cells: own })),
  { selector: nameOf, maxLength: 4 },
);
const price = fc.constantFrom(0.5, 2, 3.25);
const tier = fc.oneof(
  { arbitrary: fc.constant('raw' as const), weight: 3 },
  { arbitrary: fc.constantFrom('15m' as const, '1h' as const), weight: 1 },
);
const rowAt = (t: fc.Arbitrary<number>) =>
  fc.record({ address: fc.constantFrom(...TOKENS), t, tier, price_usd: price, markets });

/** Rows that often meet, and rows far from all others. */
const fewRows = fc.array(
  rowAt(
    fc.oneof(
      { arbitrary: fc.integer({ min: 0, max: 30 }).map((i) => T0 + i * 300), weight: 8 },
      { arbitrary: fc.integer({ min: 0, max: 100_000 }).map((i) => T0 + i * 60), weight: 1 },
    ),
  ),
  { maxLength: 12 },
);
/** A long file of one token, more than one segment holds, with rising or falling times. */
const manyRows = fc
  .record({
    address: fc.constantFrom(...TOKENS),
    first: fc.integer({ min: 0, max: 60 }),
    everyS: fc.constantFrom(60, 300, -60),
    count: fc.integer({ min: 2, max: 700 }),
    price_usd: price,
    markets,
  })
  .map(({ first, everyS, count, ...row }) =>
    Array.from({ length: count }, (_, i) => ({
      ...row,
      tier: 'raw' as const,
      t: T0 + 50_000 + first * 60 + i * everyS,
    })),
  );

const commit = fc.record({
  mode: fc.constantFrom('replace' as const, 'merge' as const),
  rows: fc.oneof({ arbitrary: fewRows, weight: 5 }, { arbitrary: manyRows, weight: 1 }),
  cuts: fc.array(fc.integer({ min: 0, max: 11 }), { maxLength: 2 }),
  after: fc.oneof(
    { arbitrary: fc.constant('nothing' as const), weight: 4 },
    {
      arbitrary: fc.constantFrom('reopen' as const, 'settle' as const, 'rehearse' as const),
      weight: 1,
    },
  ),
  deleted: fc.option(
    fc.record({
      address: fc.constantFrom(...TOKENS),
      markets: fc.option(fc.subarray(MARKETS, { minLength: 1 })),
      fromS: fc.integer({ min: 0, max: 30 }).map((i) => T0 + i * 300),
      lengthS: fc.constantFrom(1, 900, 5000, 60_000),
    }),
    { freq: 2 },
  ),
});
const plans = fc.array(
  fc.record({
    address: fc.constantFrom(...TOKENS),
    from: fc.integer({ min: -100, max: 20_000 }),
    length: fc.integer({ min: 0, max: 20_000 }),
    now: fc.oneof(fc.constant(END), fc.integer({ min: T0, max: T0 + 20_000 })),
    maxSnapshots: fc.integer({ min: 1, max: 20 }),
  }),
  { minLength: 3, maxLength: 3 },
);

/** Rows as a collector would send them: cells to be merged are binned around the existing price. */
function sendable(
  model: PlainStore,
  rows: readonly Omit<SnapshotRow, 'chain'>[],
  mode: 'replace' | 'merge',
): SnapshotRow[] {
  const prices = new Map<string, number>();
  return rows.map((row) => {
    const place = `${row.address} ${row.tier} ${row.t}`;
    const existing = prices.get(place) ?? model.existingPrice(row) ?? row.price_usd;
    if (mode === 'merge') prices.set(place, existing);
    const chain = row.address === EVM_TOKEN ? 'evmchain' : 'mainchain';
    return { ...row, chain, price_usd: mode === 'merge' ? existing : row.price_usd };
  });
}

async function expectContent(store: Store, model: PlainStore): Promise<void> {
  for (const [address, { markets: names }] of model.tokens) {
    const tokenId = tokenOf(store, address);
    expect(await storedSnapshots(store, tokenId)).toEqual(model.stored(address));
    const whole = { tokenId, fromS: 0, toS: END, nowS: END, maxSnapshots: 1 };
    expect((await store.depth.plan(whole)).markets.map(nameOf)).toEqual(names);
    await expectSoundSegments(store, tokenId);
    await expectHistory(store, tokenId, model.stored(address), names);
  }
}

/** Up to now, and up to a moment within. */
async function expectHistory(
  store: Store,
  tokenId: number,
  stored: ReturnType<PlainStore['stored']>,
  names: readonly string[],
): Promise<void> {
  for (const nowS of [END, stored[stored.length >> 1]?.t ?? 0]) {
    const visible = stored.filter(({ t }) => t <= nowS);
    const timesOf = (tierName: string) =>
      visible.filter((one) => one.tier === tierName).map(({ t }) => t);
    const markets = names.flatMap((name, index) => {
      const own = visible.filter(({ cells: held }) => held.some(([market]) => market === index));
      const times = own.map(({ t }) => t).sort((a, b) => a - b);
      return times.length === 0 ? [] : [[name, times[0], times[times.length - 1]]];
    });
    const history = await store.depth.history(tokenId, nowS);
    const found = TIERS.map((tierName) => history.times[tierName].flatMap((part) => [...part]));
    expect(found).toEqual(TIERS.map(timesOf));
    expect(history.markets.map((one) => [nameOf(one.market), one.firstT, one.lastT])).toEqual(
      markets,
    );
    const all = visible.map(({ t }) => t);
    const first = all.length === 0 ? null : Math.min(...all);
    expect(await store.depth.firstSnapshotT(tokenId, nowS)).toBe(first);
  }
}

/** Segments follow each other without overlap, and the index is right about each one's contents. */
async function expectSoundSegments(store: Store, tokenId: number): Promise<void> {
  const directory = await directoryOf(store, tokenId);
  for (const tierName of TIERS) {
    let last = -1;
    for (const ref of directory[tierName]) {
      const [block] = await store.depth.readSegments([ref.segmentId]);
      const run = decodeSegment(block);
      expect(run.tier).toBe(tierName);
      expect([...ref.times]).toEqual([...run.t]);
      expect(ref.times.length).toBeGreaterThan(0);
      for (const t of ref.times) {
        expect(t).toBeGreaterThan(last);
        last = t;
      }
      expect(ref.cells).toBe(run.bin.length);
      const inBand = snapshotsOf(run).map(
        ({ cells: own }) =>
          own.filter(([, bin]) => bin >= DEFAULT_BAND.first && bin <= DEFAULT_BAND.last).length,
      );
      expect([...ref.bandCells]).toEqual(inBand);
      // The inputs of tags do not depend on the segment around a snapshot.
      const alone = Array.from(run.t, (_, row) => digestsOf(sliceRun(run, row, row + 1))[0]);
      expect([...ref.digests]).toEqual(alone);
    }
  }
}

/** Deletes from both, with the same counts; if there is nothing to delete, neither changes. */
async function expectDeleted(
  store: Store,
  model: PlainStore,
  question: { address: string; markets: typeof MARKETS | null; fromS: number; lengthS: number },
): Promise<void> {
  const { address, fromS, lengthS } = question;
  const known = model.tokens.get(address)?.markets ?? [];
  const wanted = question.markets?.filter((market) => known.includes(nameOf(market))) ?? null;
  if (known.length === 0 || wanted?.length === 0) return;
  // Only the source tells apart markets that differ in its spelling.
  const names = wanted?.map((market) => marketName(fullMarket(market))) ?? null;
  const what = { address, fromS, toS: fromS + lengthS, markets: names };
  const removed = model.delete(address, wanted?.map(nameOf) ?? null, what.fromS, what.toS);
  const deleting = commitDelete(store, what);
  if (removed.snapshots + removed.changedSnapshots > 0) {
    expect((await deleting).deleted).toEqual(removed);
  } else await expect(deleting).rejects.toThrow(/^nothing to delete: /);
}

const fullMarket = ({ source, address, pair }: Omit<MarketFields, 'cells'>) => ({
  source,
  address: address ?? null,
  pair: pair ?? null,
  exchangeType: 'DEX' as const,
  type: 'onchain_pool' as const,
});

async function expectPlan(
  store: Store,
  model: PlainStore,
  question: { address: string; from: number; length: number; now: number; maxSnapshots: number },
): Promise<void> {
  const { address, now, maxSnapshots } = question;
  if (!model.tokens.has(address)) return;
  const fromS = T0 + question.from;
  const window = { fromS, toS: fromS + question.length, nowS: now, maxSnapshots };
  const plan = await store.depth.plan({ tokenId: tokenOf(store, address), ...window });
  const blocks = await store.depth.readSegments(plan.segmentIds);
  const segments = blocks.map((block) => snapshotsOf(decodeSegment(block)));
  const read = plan.snapshots.map(({ segment, row }) => segments[segment][row]);
  const visible = visibleSnapshots(model.stored(address), now).filter(
    ({ t }) => t >= window.fromS && t < window.toS,
  );
  expect(read).toEqual(visible.slice(0, maxSnapshots));
  expect(plan.nextT).toBe(visible[maxSnapshots]?.t ?? null);
}

describe('A store', () => {
  it('holds what a plain map of snapshots would, whatever is committed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(commit, { minLength: 1, maxLength: 10 }),
        plans,
        async (commits, questions) => {
          const directory = new DataDirectory();
          const model = new PlainStore();
          let store = await openStore(directory.path);
          try {
            for (const { mode, rows, cuts, deleted, after } of commits) {
              const sent = sendable(model, rows, mode);
              const options = { mode, cuts: cuts.filter((cut) => cut < sent.length) };
              const rehearsed =
                after === 'rehearse'
                  ? await commitRows(store, sent, { ...options, rehearse: true })
                  : null;
              if (rehearsed !== null) await retryWhileJoined(() => expectContent(store, model));
              const report = await commitRows(store, sent, options);
              expect(rehearsed ?? report).toEqual(report);
              expect(report.replaced).toEqual(model.commit(sent, mode));
              if (deleted !== null) await expectDeleted(store, model, deleted);
              if (after === 'settle') await store.settled();
              if (after === 'reopen') {
                await store.close();
                store = await openStore(directory.path);
              }
              await retryWhileJoined(() => expectContent(store, model));
              for (const question of questions) {
                await retryWhileJoined(() => expectPlan(store, model, question));
              }
            }
            await store.settled();
            await retryWhileJoined(() => expectContent(store, model));
            await store.close();
            store = await openStore(directory.path);
            await retryWhileJoined(() => expectContent(store, model));
          } finally {
            await store.close();
            directory.remove();
          }
        },
      ),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});
