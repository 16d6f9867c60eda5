import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TIERS } from '../../compute/market.js';
import {
  Directories,
  directoriesAround,
  loadDirectory,
  sizedDirectory,
} from '../../storage/depth/directories.js';
import {
  byTier,
  type Directory,
  EMPTY_DIRECTORY,
  entryBytes,
  firstT,
  newestSnapshots,
  type SegmentRef,
} from '../../storage/depth/directory.js';
import {
  MAX_SEGMENT_LIST_BYTES,
  packRefs,
  SegmentLists,
  unpackRefs,
} from '../../storage/depth/segment-lists.js';
import { deleteSegments } from '../../storage/depth/segments.js';
import { UnlistedSegments } from '../../storage/depth/unlisted-segments.js';
import type { Database } from '../../storage/duckdb/database.js';
import { readMeta } from '../../storage/meta.js';
import type { SqlRow, SqlValue } from '../../storage/duckdb/statements.js';
import { segmentRef } from '../support/runs.js';
import {
  commitRows,
  freshDirectory,
  directoryOf,
  openSegmentDatabase,
  openStore,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const TOKENS = 3;
/** Entries of unlisted segments in memory: few enough for some runs to exceed it. */
const LIMIT = 25;
const LIMIT_BYTES = LIMIT * entryBytes(1);

const directory = freshDirectory();

const openDatabase = (): Promise<Database> => openSegmentDatabase(directory);

const bytesOf = (column: Uint32Array): Uint8Array =>
  new Uint8Array(column.buffer, column.byteOffset, column.byteLength);

const tokenOfId = (segmentId: number): number => segmentId % TOKENS;

/** A segment; the times of a token's segments in one tier do not overlap. */
function refOf(segmentId: number, place: number, snapshots = 1 + (segmentId % 3)): SegmentRef {
  const times = Uint32Array.from({ length: snapshots }, (_, i) => 1000 + place * 10 + i);
  const tier = TIERS[Math.floor(segmentId / TOKENS) % TIERS.length];
  return segmentRef(segmentId, times, { tier, isArchived: segmentId % 5 === 0 });
}

/** Its row of `segments`. */
function rowOf(ref: SegmentRef): SqlValue[] {
  const { segmentId, tier, cells, times, bandCells, digests, isArchived } = ref;
  const head = [segmentId, tokenOfId(segmentId), TIERS.indexOf(tier), cells];
  const block = [77, Uint8Array.of(1), new Uint8Array(0)];
  const place = isArchived ? [1, 0, 1] : [null, null, null];
  return [...head, bytesOf(times), bytesOf(bandCells), ...block, bytesOf(digests), ...place];
}

/** The plain index: all segments in a map, a directory by filter and sort. */
type PlainIndex = Map<number, SegmentRef>;

function plainDirectory(index: PlainIndex, tokenId: number): Directory {
  const own = [...index.values()].filter(({ segmentId }) => tokenOfId(segmentId) === tokenId);
  own.sort((a, b) => a.times[0] - b.times[0]);
  return byTier((tier) => own.filter((ref) => ref.tier === tier));
}

/** What decides which snapshots are the newest must equal what the whole index decides. */
async function expectNewest(database: Database, lists: SegmentLists, index: PlainIndex) {
  const moments = [900, 1500, 3000, 100_000];
  const around = await directoriesAround(database, [0, TOKENS], moments, lists.listedId);
  for (let tokenId = 0; tokenId < TOKENS; tokenId++) {
    const whole = plainDirectory(index, tokenId);
    expect(await loadDirectory(database, tokenId, lists.listedId)).toEqual(whole);
    const known = around.get(tokenId);
    if (known === undefined) {
      expect(TIERS.flatMap((tier) => whole[tier])).toEqual([]);
      continue;
    }
    for (const [nowS, delayS] of [
      [100_000, 97_000],
      [3000, 1500],
      [1500, 600],
    ]) {
      expect(newestSnapshots(known, nowS, delayS)).toEqual(newestSnapshots(whole, nowS, delayS));
    }
  }
}

const step = fc.oneof(
  {
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      added: fc.nat(30),
      removed: fc.array(fc.nat(), { maxLength: 4 }),
    }),
    weight: 5,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('list' as const),
      upTo: fc.oneof(fc.nat(3), fc.nat(40)),
    }),
    weight: 3,
  },
  { arbitrary: fc.constant({ kind: 'reopen' as const }), weight: 1 },
);

/** A database's segments, lists and unlisted segments as a store has them, with the plain index beside them. */
class Indexed {
  readonly index: PlainIndex = new Map();
  private lastId = 0;

  private constructor(
    private readonly database: Database,
    private lists: SegmentLists,
    private unlisted: UnlistedSegments,
  ) {}

  static async open(database: Database): Promise<Indexed> {
    for (const table of ['segments', 'segment_lists']) await database.run(`DELETE FROM ${table}`);
    await database.run("DELETE FROM meta WHERE key = 'listed_segments'");
    const lists = await SegmentLists.load(database, await readMeta(database));
    return new Indexed(database, lists, await UnlistedSegments.load(database, 0, LIMIT_BYTES));
  }

  /** One with an empty cache. */
  private get directories(): Directories {
    return new Directories(this.database, this.lists, this.unlisted);
  }

  async commit(places: readonly number[], draws: readonly number[]): Promise<void> {
    const ids = [...this.index.keys()];
    const gone = new Set(draws.flatMap((draw) => ids[draw % ids.length] ?? []));
    const added = places.map((place) => refOf(++this.lastId, place));
    await this.database.transaction(async (tx) => {
      if (added.length > 0) await tx.append('segments', added.map(rowOf));
      for (const id of gone) {
        await deleteSegments(tx, [id]);
        await this.lists.remove(tx, tokenOfId(id), [this.index.get(id) as SegmentRef]);
      }
    });
    for (const ref of added) this.index.set(ref.segmentId, ref);
    for (const id of gone) this.index.delete(id);
    const touched = [...added.map(({ segmentId }) => segmentId), ...gone].map(tokenOfId);
    for (const tokenId of new Set(touched)) {
      const sized = sizedDirectory(plainDirectory(this.index, tokenId));
      await this.directories.publish(new Map([[tokenId, sized]]));
    }
  }

  async list(count: number): Promise<void> {
    const toId = Math.min(this.lastId, this.lists.listedId + count);
    await this.database.transaction((tx) => this.lists.add(tx, toId));
    await this.directories.publishListed(toId);
  }

  async reopen(): Promise<void> {
    const before = this.lists.listedId;
    this.lists = await SegmentLists.load(this.database, await readMeta(this.database));
    expect(this.lists.listedId).toBe(before);
    this.unlisted = await UnlistedSegments.load(this.database, before, LIMIT_BYTES);
  }

  async expectSame(): Promise<void> {
    for (let tokenId = 0; tokenId < TOKENS; tokenId++) {
      const whole = plainDirectory(this.index, tokenId);
      expect(await this.directories.get(tokenId)).toEqual(whole);
      const kept = this.unlisted.of(tokenId);
      if (kept === null) continue;
      const newest = TIERS.flatMap((tier) => whole[tier]).filter(
        ({ segmentId }) => segmentId > this.lists.listedId,
      );
      expect(new Set(kept)).toEqual(new Set(newest));
    }
    await expectNewest(this.database, this.lists, this.index);
  }
}

describe('Lists of segments', () => {
  it('and unlisted segments together equal a plain index, wherever segments come and go', async () => {
    const runs = fc.asyncProperty(
      fc.array(step, { maxLength: 20 }),
      fc.uniqueArray(fc.nat(5000), { minLength: 60, maxLength: 60 }),
      async (steps, places) => {
        const database = await openDatabase();
        const indexed = await Indexed.open(database);
        let used = 0;
        for (const one of steps) {
          if (one.kind === 'commit') {
            const added = places.slice(used, used + one.added);
            used += added.length;
            await indexed.commit(added, one.removed);
          } else if (one.kind === 'list') await indexed.list(one.upTo);
          else await indexed.reopen();
          await indexed.expectSame();
        }
        await database.close();
      },
    );
    await fc.assert(runs, { numRuns: Number(process.env.FATHOM_RUNS ?? 4) });
  });

  it('stay within their limit, and do not overlap in time', async () => {
    const database = await openDatabase();
    const lists = await SegmentLists.load(database, await readMeta(database));
    const total = 9000;
    // Every third is inserted between those listed first.
    const order = (i: number): number => (i < 6000 ? i + Math.floor(i / 2) : (i - 6000) * 3 + 2);
    const refs = Array.from({ length: total }, (_, i) => refOf(i + 1, order(i)));
    await database.transaction((tx) => tx.append('segments', refs.map(rowOf)));
    for (const toId of [1000, 6000, total]) {
      await database.transaction((tx) => lists.add(tx, toId));
      lists.publish(toId);
    }
    await expectNewest(database, lists, new Map(refs.map((ref) => [ref.segmentId, ref])));
    const stored = await database.rows(
      'SELECT token_id, tier, first_t, data FROM segment_lists ORDER BY token_id, tier, first_t',
    );
    expect(stored.length).toBeGreaterThan(TOKENS * TIERS.length);
    const ends = new Map<string, number>();
    let entries = 0;
    for (const [tokenId, tier, first, data] of stored) {
      expect((data as Uint8Array).length).toBeLessThanOrEqual(MAX_SEGMENT_LIST_BYTES);
      const refs = unpackRefs('raw', data as Uint8Array);
      entries += refs.length;
      expect(firstT(refs[0])).toBe(first);
      expect(first).toBeGreaterThan(ends.get(`${tokenId}:${tier}`) ?? 0);
      ends.set(`${tokenId}:${tier}`, firstT(refs[refs.length - 1]));
    }
    expect(entries).toBe(total);
    await database.close();
  });

  it('are an error if one was cut short, never other segments', () => {
    const ref = segmentRef(2 ** 40 + 3, [7, 8], { tier: '1h' });
    const packed = packRefs([ref, ref]);
    expect(unpackRefs('1h', packed)).toEqual([ref, ref]);
    for (const cut of [4, 12, 28]) {
      expect(() => unpackRefs('1h', packed.subarray(0, packed.length - cut))).toThrow(/damaged/);
    }
  });

  it('take in the results of compaction, beside commits that replace them', async () => {
    const open = async () => {
      const store = await openStore(directory.path);
      const { lists } = (store.depth as unknown as { directories: Directories }).directories;
      // As with very many segments: all but the latest few.
      lists.due = (last) => (last - lists.listedId < 3 ? null : last - 1);
      return store;
    };
    let store = await open();
    const expected = new Map<number, number>();
    for (let i = 0; i < 40; i++) {
      const t = 1000 + ((i * 37) % 50) * 60;
      expected.set(t, 1 + i);
      await commitRows(store, [snapshot(t, undefined, { price_usd: 1 + i })]);
      await store.settled();
      if (i % 15 === 14) {
        await store.close();
        store = await open();
      }
    }
    await store.settled();
    const cached = await directoryOf(store, tokenOf(store));
    await store.close();
    store = await open();
    expect(await directoryOf(store, tokenOf(store))).toEqual(cached);
    const stored = await storedSnapshots(store, tokenOf(store));
    expect(new Map(stored.map(({ t, price }) => [t, price]))).toEqual(expected);
    const { lists } = (store.depth as unknown as { directories: Directories }).directories;
    expect(lists.listedId).toBeGreaterThan(30);
    await store.close();
  });
});

describe('Segments that are in no list', () => {
  it('are not kept beyond their limit, but are again once few enough are left', async () => {
    const database = await openDatabase();
    const lists = await SegmentLists.load(database, await readMeta(database));
    const unlisted = await UnlistedSegments.load(database, 0, LIMIT_BYTES);
    const directories = new Directories(database, lists, unlisted);
    const rows = Array.from({ length: LIMIT + 5 }, (_, i) => rowOf(refOf(i + 1, i, 1)));
    await database.transaction((tx) => tx.append('segments', rows));
    expect(unlisted.of(0)).toEqual([]);
    for (let tokenId = 0; tokenId < TOKENS; tokenId++) {
      const sized = sizedDirectory(await loadDirectory(database, tokenId, 0));
      await directories.publish(new Map([[tokenId, sized]]));
    }
    expect(unlisted.of(0)).toBeNull();
    await database.transaction((tx) => lists.add(tx, 10));
    await directories.publishListed(10);
    const kept = Array.from({ length: TOKENS }, (_, tokenId) => unlisted.of(tokenId) ?? []).flat();
    expect(kept.map((ref) => ref.segmentId).sort((a, b) => a - b)).toEqual(
      Array.from({ length: LIMIT - 5 }, (_, i) => i + 11),
    );
    await database.close();
  });

  it('leave no gap if a commit removes a listed one while the lists are read', async () => {
    const reads: ((rows: SqlRow[]) => void)[] = [];
    const rows = (sql: string) =>
      sql.includes('segment_lists')
        ? new Promise<SqlRow[]>((resolve) => reads.push(resolve))
        : Promise.resolve(sql.includes('count(*)') ? [[0]] : []);
    const database = { rows } as unknown as Database;
    const lists = SegmentLists.none();
    lists.publish(5);
    const unlisted = await UnlistedSegments.load(database, 5);
    const directories = new Directories(database, lists, unlisted);
    const loading = directories.get(4);
    // Listed segment 3 becomes part of segment 6: the lists no longer hold 3, and 6 is not known yet.
    const joined: Directory = { ...EMPTY_DIRECTORY, raw: [{ ...refOf(6, 6), tier: 'raw' }] };
    const end = directories.beginCommit((id) => id === 4);
    reads[0]([]);
    await directories.publish(new Map([[4, sizedDirectory(joined)]]));
    end();
    expect(await loading).toBe(joined);
    expect(unlisted.of(4)?.map(({ segmentId }) => segmentId)).toEqual([6]);
  });
});
