import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TIERS } from '../../compute/market.js';
import {
  type Directories,
  directoriesAround,
  loadDirectory,
} from '../../storage/depth/directories.js';
import { firstT, newestSnapshots } from '../../storage/depth/directory.js';
import {
  MAX_SEGMENT_LIST_BYTES,
  packRefs,
  SegmentLists,
  unpackRefs,
} from '../../storage/depth/segment-lists.js';
import { deleteSegments } from '../../storage/depth/segments.js';
import type { Database } from '../../storage/duckdb/database.js';
import type { SqlValue } from '../../storage/duckdb/statements.js';
import {
  commitRows,
  DataDirectory,
  directoryOf,
  openSegmentDatabase,
  openStore,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const TOKENS = 3;

let directory: DataDirectory;
beforeEach(() => (directory = new DataDirectory()));
afterEach(() => directory.remove());

const openDatabase = (): Promise<Database> => openSegmentDatabase(directory);

const bytesOf = (column: Uint32Array): Uint8Array =>
  new Uint8Array(column.buffer, column.byteOffset, column.byteLength);

/** A row of `segments`; the places of a token and tier do not overlap. */
function segmentRow(segmentId: number, place: number): SqlValue[] {
  const tokenId = segmentId % TOKENS;
  const tier = Math.floor(segmentId / TOKENS) % TIERS.length;
  const times = Uint32Array.from({ length: 1 + (segmentId % 3) }, (_, i) => 1000 + place * 10 + i);
  const band = times.map((t) => t % 7);
  // Segments of earlier versions have no digests.
  const digests = segmentId % 4 === 0 ? null : bytesOf(times.map((t) => t % 5));
  const data = [1, Uint8Array.of(1), null, digests];
  return [segmentId, tokenId, tier, 9, bytesOf(times), bytesOf(band), ...data];
}

/** What the lists and the rest of the table tell has to be what the whole table tells. */
async function expectSame(database: Database, lists: SegmentLists): Promise<void> {
  const moments = [900, 1500, 3000, 100_000];
  const around = await directoriesAround(database, [0, TOKENS], moments, lists.listedId);
  for (let tokenId = 0; tokenId < TOKENS; tokenId++) {
    const whole = await loadDirectory(database, tokenId, 0);
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
    arbitrary: fc.record({ kind: fc.constant('append' as const), count: fc.nat(40) }),
    weight: 3,
  },
  { arbitrary: fc.record({ kind: fc.constant('list' as const), upTo: fc.nat(40) }), weight: 3 },
  { arbitrary: fc.record({ kind: fc.constant('delete' as const), draw: fc.nat() }), weight: 4 },
  { arbitrary: fc.constant({ kind: 'reopen' as const }), weight: 1 },
);

describe('Lists of segments', () => {
  it('tell what the table tells, wherever segments come in and go', async () => {
    const runs = fc.asyncProperty(
      fc.array(step, { maxLength: 25 }),
      fc.array(fc.nat(5000), { minLength: 60, maxLength: 60 }),
      async (steps, draws) => {
        const database = await openDatabase();
        await database.run('DELETE FROM segments');
        await database.run('DELETE FROM segment_lists');
        await database.run("DELETE FROM meta WHERE key = 'listed_segments'");
        const places = [...new Set(draws)];
        let lists = await SegmentLists.load(database);
        let last = 0;
        const stored = new Set<number>();
        for (const one of steps) {
          if (one.kind === 'append') {
            const rows: SqlValue[][] = [];
            for (; rows.length < one.count && last < places.length;) {
              rows.push(segmentRow(++last, places[last - 1]));
              stored.add(last);
            }
            await database.transaction((tx) => tx.append('segments', rows));
          } else if (one.kind === 'list') {
            const toId = Math.min(last, lists.listedId + one.upTo);
            await database.transaction((tx) => lists.add(tx, toId));
            lists.publish(toId);
          } else if (one.kind === 'delete' && stored.size > 0) {
            const id = [...stored][one.draw % stored.size];
            stored.delete(id);
            const whole = await loadDirectory(database, id % TOKENS, 0);
            const refs = TIERS.flatMap((tier) => whole[tier]).filter((r) => r.segmentId === id);
            await database.transaction(async (tx) => {
              await deleteSegments(tx, [id]);
              await lists.remove(tx, id % TOKENS, refs);
            });
          } else if (one.kind === 'reopen') {
            const before = lists.listedId;
            lists = await SegmentLists.load(database);
            expect(lists.listedId).toBe(before);
          }
        }
        await expectSame(database, lists);
        await database.close();
      },
    );
    await fc.assert(runs, { numRuns: Number(process.env.FATHOM_RUNS ?? 6) });
  });

  it('stay within their limit, and each covers a time of its own', async () => {
    const database = await openDatabase();
    const lists = await SegmentLists.load(database);
    const total = 9000;
    // Every third comes in between those that are listed first.
    const order = (i: number): number => (i < 6000 ? i + Math.floor(i / 2) : (i - 6000) * 3 + 2);
    const rows = Array.from({ length: total }, (_, i) => segmentRow(i + 1, order(i)));
    await database.transaction((tx) => tx.append('segments', rows));
    for (const toId of [1000, 6000, total]) {
      await database.transaction((tx) => lists.add(tx, toId));
      lists.publish(toId);
    }
    await expectSame(database, lists);
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

  it('of which one was cut short are an error, never other segments', () => {
    const times = Uint32Array.of(7, 8);
    const ref = {
      segmentId: 2 ** 40 + 3,
      tier: '1h' as const,
      cells: 5,
      times,
      bandCells: times,
      digests: times,
    };
    const packed = packRefs([ref, ref]);
    expect(unpackRefs('1h', packed)).toEqual([ref, ref]);
    for (const cut of [4, 12, 28]) {
      expect(() => unpackRefs('1h', packed.subarray(0, packed.length - cut))).toThrow(/damaged/);
    }
  });

  it('take in what compaction leaves, beside commits that replace it', async () => {
    const open = async () => {
      const store = await openStore(directory.path);
      const { lists } = (store.depth as unknown as { directories: Directories }).directories;
      // As it is with very many segments: all but the latest few.
      lists.due = (last) => (last - lists.listedId < 3 ? null : last - 1);
      return store;
    };
    let store = await open();
    const expected = new Map<number, number>();
    for (let i = 0; i < 60; i++) {
      const t = 1000 + ((i * 37) % 50) * 60;
      expected.set(t, 1 + i);
      await commitRows(store, [snapshot(t, undefined, { price_usd: 1 + i })]);
      await store.settled();
      if (i % 25 === 24) {
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
    expect(lists.listedId).toBeGreaterThan(50);
    await store.close();
  });
});
