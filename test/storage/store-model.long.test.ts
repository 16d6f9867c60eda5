import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/random.js';
import { DEFAULT_BAND } from '../../compute/ladder.js';
import { decodeSegment, digestsOf, sliceRun } from '../../compute/segment/segment.js';
import type { Removed } from '../../compute/segment/remove.js';
import { TIERS } from '../../compute/market.js';
import { marketName } from '../../storage/depth/market-names.js';
import type { Replaced, UseStore } from '../../storage/operations.js';
import type { Store } from '../../storage/store.js';
import { visibleSnapshots } from '../reference/replay.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  DataDirectory,
  directoryOf,
  EVM_TOKEN,
  MINT,
  openStore,
  OTHER_MINT,
  retryWhileJoined,
  snapshotsOf,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { contentsOf } from '../walk/contents.js';
import {
  after,
  cellsIn,
  depthName,
  differences,
  isRefused,
  type Operation,
  pricesIn,
  type Rows,
  snapshotsIn,
} from '../walk/model.js';
import { ONE_THREAD } from '../walk/one-thread.js';
import { Operations } from '../walk/operations.js';
import { perform } from '../walk/perform.js';
import { SLOTS_BEHIND_RETENTION, timeOf } from '../walk/times.js';

const TOKENS = [MINT, OTHER_MINT, EVM_TOKEN];
const HABITS = {
  shares: {
    replace: 40,
    merge: 30,
    delete: 16,
    prune: 3,
    ingest: 5,
    create: 2,
    revoke: 2,
    backup: 2,
  },
  prices: [0.5, 2, 3.25],
  mayBeRefused: true,
  isWide: true,
  tokens: TOKENS,
};
const T0 = timeOf(SLOTS_BEHIND_RETENTION);
const END = 2 ** 32 - 1;
/** Use more for a long search: FATHOM_RUNS=500. */
const RUNS = Number(process.env.FATHOM_RUNS ?? 8);

const steps = fc.array(
  fc.record({
    /** Of the operation. */
    seed: fc.noShrink(fc.integer({ min: 0, max: 2 ** 32 - 1 })),
    isRehearsed: fc.boolean(),
    then: fc.oneof(
      { arbitrary: fc.constant('nothing' as const), weight: 4 },
      { arbitrary: fc.constantFrom('reopen' as const, 'settle' as const), weight: 1 },
    ),
  }),
  { minLength: 1, maxLength: 12 },
);
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

/** A store, and what it must hold. */
class Walk {
  rows: Rows = new Map();
  keys: string[] = [];
  readonly prunable = TOKENS;
  /** By token: markets in the order of their first arrival. */
  readonly markets = new Map<string, string[]>();
  private store!: Store;
  private readonly directory = new DataDirectory();
  private readonly operations = new Operations(temporaryDirectory(), () => 0, HABITS);
  private readonly useStore: UseStore = (body) => body(this.store);

  async open(): Promise<void> {
    this.store = await openStore(this.directory.path);
  }

  async end(): Promise<void> {
    await this.store.close();
    this.directory.remove();
  }

  async then(what: 'nothing' | 'reopen' | 'settle'): Promise<void> {
    if (what === 'settle') await this.store.settled();
    if (what === 'reopen') {
      await this.store.close();
      await this.open();
    }
  }

  async step(seed: number, isRehearsed: boolean): Promise<void> {
    const operation = this.operations.next(this, seededRandom(seed));
    const work = (dryRun: boolean) =>
      perform(operation, this.directory.path, ONE_THREAD, this.useStore, dryRun);
    if (isRefused(this.rows, operation)) {
      await expect(work(isRehearsed)).rejects.toThrow(REFUSED);
      return;
    }
    const isCounted = ['ingest', 'prune', 'delete'].includes(operation.kind);
    const rehearsed = isRehearsed && isCounted ? await work(true) : null;
    if (rehearsed !== null) await this.expectRows();
    const report = await work(false);
    if (rehearsed !== null) expect(rehearsed).toEqual(report);
    const counts = countsOf(this.rows, operation);
    expect([report.ingest?.replaced, report.delete, report.prune]).toEqual(counts);
    if (report.create !== undefined) this.keys.push(report.create.id);
    if (operation.kind === 'revoke') this.keys = this.keys.filter((id) => id !== operation.id);
    if (operation.kind === 'backup') await this.expectBackup(operation.out);
    this.take(operation);
  }

  private take(operation: Operation): void {
    this.rows = after(this.rows, operation);
    if (operation.kind !== 'ingest') return;
    for (const [token, market] of operation.brings.arrivals) {
      const known = this.markets.get(token) ?? [];
      if (!known.includes(market)) this.markets.set(token, [...known, market]);
    }
  }

  private async expectBackup(out: string): Promise<void> {
    const copy = await openStore(out);
    try {
      expect(differences(this.rows, await contentsOf(copy))).toEqual([]);
    } finally {
      await copy.close();
    }
  }

  private async expectRows(): Promise<void> {
    expect(differences(this.rows, await contentsOf(this.store))).toEqual([]);
  }

  async expectContent(): Promise<void> {
    const { store } = this;
    await this.expectRows();
    for (const [address, names] of this.markets) {
      const tokenId = tokenOf(store, address);
      const stored = snapshotsIn(this.rows, address, names);
      expect(await storedSnapshots(store, tokenId)).toEqual(stored);
      const whole = { tokenId, fromS: 0, toS: END, nowS: END, maxSnapshots: 1 };
      expect((await store.depth.plan(whole)).markets.map(marketName)).toEqual(names);
      await expectSoundSegments(store, tokenId);
      await expectHistory(store, tokenId, stored, names);
    }
  }

  async expectPlan(question: Question): Promise<void> {
    const { address } = question;
    const names = this.markets.get(address);
    if (names === undefined) return;
    await expectPlan(this.store, snapshotsIn(this.rows, address, names), question);
  }
}

const REFUSED = /^nothing to delete: |the price of the existing snapshot|has no market/;

/** What an operation must report: replaced snapshots, and those that it deleted or pruned. */
function countsOf(
  before: Rows,
  operation: Operation,
): [Replaced | undefined, Removed | undefined, Removed | undefined] {
  const now = after(before, operation);
  const cells = (rows: Rows, names: Iterable<string>): number =>
    [...names].reduce((sum, name) => sum + cellsIn(rows.get(name) ?? '').length, 0);
  const bySnapshot = new Map<string, Set<string>>();
  for (const name of [...before.keys(), ...now.keys()]) {
    const depth = depthName(name);
    if (depth === null) continue;
    bySnapshot.set(depth.snapshot, (bySnapshot.get(depth.snapshot) ?? new Set()).add(name));
  }
  const [had, has] = [pricesIn(before), pricesIn(now)];
  if (operation.kind === 'ingest') {
    const { brings, merge } = operation;
    const replaced: Replaced = { snapshots: 0, cellsBefore: 0, cellsAfter: 0 };
    for (const snapshot of brings.snapshots.keys()) {
      if (!had.has(snapshot)) continue;
      const all = [...(bySnapshot.get(snapshot) ?? [])];
      const isMet = (name: string): boolean => brings.rows.has(name) && cells(before, [name]) > 0;
      const names = merge ? all.filter(isMet) : all;
      if (merge && names.length === 0) continue;
      replaced.snapshots++;
      replaced.cellsBefore += cells(before, names);
      replaced.cellsAfter += cells(now, names);
    }
    return [replaced, undefined, undefined];
  }
  if (operation.kind !== 'delete' && operation.kind !== 'prune') {
    return [undefined, undefined, undefined];
  }
  const removed: Removed = { snapshots: 0, changedSnapshots: 0, cells: 0 };
  for (const [snapshot, names] of bySnapshot) {
    const lost = cells(before, names) - cells(now, names);
    removed.cells += lost;
    if (!has.has(snapshot)) removed.snapshots++;
    else if (lost > 0) removed.changedSnapshots++;
  }
  return operation.kind === 'delete'
    ? [undefined, removed, undefined]
    : [undefined, undefined, removed];
}

/** Up to now, and up to a moment within. */
async function expectHistory(
  store: Store,
  tokenId: number,
  stored: ReturnType<typeof snapshotsIn>,
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
    expect(history.markets.map((one) => [marketName(one.market), one.firstT, one.lastT])).toEqual(
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

interface Question {
  address: string;
  from: number;
  length: number;
  now: number;
  maxSnapshots: number;
}

async function expectPlan(
  store: Store,
  stored: ReturnType<typeof snapshotsIn>,
  question: Question,
): Promise<void> {
  const { address, now, maxSnapshots } = question;
  const fromS = T0 + question.from;
  const window = { fromS, toS: fromS + question.length, nowS: now, maxSnapshots };
  const plan = await store.depth.plan({ tokenId: tokenOf(store, address), ...window });
  const blocks = await store.depth.readSegments(plan.segmentIds);
  const segments = blocks.map((block) => snapshotsOf(decodeSegment(block)));
  const read = plan.snapshots.map(({ segment, row }) => segments[segment][row]);
  const visible = visibleSnapshots(stored, now).filter(
    ({ t }) => t >= window.fromS && t < window.toS,
  );
  expect(read).toEqual(visible.slice(0, maxSnapshots));
  expect(plan.nextT).toBe(visible[maxSnapshots]?.t ?? null);
}

describe('A store', () => {
  it('holds what the plain model does, whatever is committed', async () => {
    await fc.assert(
      fc.asyncProperty(steps, plans, async (walked, questions) => {
        const walk = new Walk();
        await walk.open();
        try {
          for (const { seed, isRehearsed, then } of walked) {
            await walk.step(seed, isRehearsed);
            await walk.then(then);
            await retryWhileJoined(() => walk.expectContent());
            for (const question of questions) {
              await retryWhileJoined(() => walk.expectPlan(question));
            }
          }
          for (const then of ['settle', 'reopen'] as const) {
            await walk.then(then);
            await retryWhileJoined(() => walk.expectContent());
          }
        } finally {
          await walk.end();
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});
