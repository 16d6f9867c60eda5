import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TIERS } from '../../compute/market.js';
import { Directories, loadDirectory, sizedDirectory } from '../../storage/depth/directories.js';
import { type Directory, EMPTY_DIRECTORY, entryBytes } from '../../storage/depth/directory.js';
import { SegmentLists } from '../../storage/depth/segment-lists.js';
import { deleteSegments } from '../../storage/depth/segments.js';
import { UnlistedSegments } from '../../storage/depth/unlisted-segments.js';
import type { Database } from '../../storage/duckdb/database.js';
import type { SqlRow, SqlValue } from '../../storage/duckdb/statements.js';
import { DataDirectory, openSegmentDatabase } from '../support/stores.js';

const TOKENS = 3;
/** Small enough for some runs to exceed it. */
const LIMIT = 25;
const LIMIT_BYTES = LIMIT * entryBytes(1);

let directory: DataDirectory;
beforeEach(() => (directory = new DataDirectory()));
afterEach(() => directory.remove());

const openDatabase = (): Promise<Database> => openSegmentDatabase(directory);

const bytesOf = (...words: number[]): Uint8Array => new Uint8Array(Uint32Array.from(words).buffer);

/** A row of `segments`, of a token, tier and time of its own. */
function segmentRow(segmentId: number): SqlValue[] {
  const tier = Math.floor(segmentId / TOKENS) % TIERS.length;
  // Later ones lie before and between earlier ones, too.
  const t = 1000 + ((segmentId * 7919) % 100_003);
  const block = Uint8Array.of(1);
  const data = [1, block, null, bytesOf(segmentId)];
  return [segmentId, segmentId % TOKENS, tier, 9, bytesOf(t), bytesOf(4), ...data];
}

const step = fc.oneof(
  {
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      added: fc.nat(12),
      removed: fc.array(fc.nat(), { maxLength: 4 }),
    }),
    weight: 5,
  },
  { arbitrary: fc.record({ kind: fc.constant('list' as const), upTo: fc.nat(40) }), weight: 3 },
  { arbitrary: fc.constant({ kind: 'reopen' as const }), weight: 1 },
);

describe('Segments that stand in no list', () => {
  it('make up a directory with the lists, whatever is committed and listed', async () => {
    const runs = fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      const database = await openDatabase();
      for (const table of ['segments', 'segment_lists', 'meta']) {
        await database.run(
          `DELETE FROM ${table} WHERE ${table === 'meta' ? "key = 'listed_segments'" : 'true'}`,
        );
      }
      let lists = await SegmentLists.load(database);
      let unlisted = await UnlistedSegments.load(database, lists.listedId, LIMIT_BYTES);
      let directories = new Directories(database, lists, unlisted);
      const stored = new Set<number>();
      let last = 0;
      for (const one of steps) {
        if (one.kind === 'commit') {
          const rows = Array.from({ length: one.added }, () => segmentRow(++last));
          const gone = new Set(
            one.removed.flatMap((draw) => [...stored][draw % stored.size] ?? []),
          );
          await database.transaction(async (tx) => {
            if (rows.length > 0) await tx.append('segments', rows);
            for (const id of gone) {
              const whole = await loadDirectory(tx, id % TOKENS, 0);
              const refs = TIERS.flatMap((tier) => whole[tier]).filter((r) => r.segmentId === id);
              await deleteSegments(tx, [id]);
              await lists.remove(tx, id % TOKENS, refs);
            }
          });
          for (const [id] of rows) stored.add(id as number);
          for (const id of gone) stored.delete(id);
          for (const tokenId of new Set(
            [...rows.map(([id]) => id as number), ...gone].map((id) => id % TOKENS),
          )) {
            const sized = sizedDirectory(await loadDirectory(database, tokenId, 0));
            await directories.publish(new Map([[tokenId, sized]]));
          }
        } else if (one.kind === 'list') {
          const toId = Math.min(last, lists.listedId + one.upTo);
          await database.transaction((tx) => lists.add(tx, toId));
          await directories.publishListed(toId);
        } else {
          lists = await SegmentLists.load(database);
          unlisted = await UnlistedSegments.load(database, lists.listedId, LIMIT_BYTES);
        }
        // One that has nothing in its cache.
        directories = new Directories(database, lists, unlisted);
        for (let tokenId = 0; tokenId < TOKENS; tokenId++) {
          const whole = await loadDirectory(database, tokenId, 0);
          expect(await directories.get(tokenId)).toEqual(whole);
          const newest = TIERS.flatMap((tier) => whole[tier]).filter(
            (r) => r.segmentId > lists.listedId,
          );
          const kept = unlisted.of(tokenId)?.map((ref) => ref.segmentId);
          if (kept !== undefined) {
            expect(new Set(kept)).toEqual(new Set(newest.map((ref) => ref.segmentId)));
          }
        }
      }
      await database.close();
    });
    await fc.assert(runs, { numRuns: Number(process.env.FATHOM_RUNS ?? 12) });
  });

  it('are not kept beyond their limit, and are again once few enough are left', async () => {
    const database = await openDatabase();
    const lists = await SegmentLists.load(database);
    const unlisted = await UnlistedSegments.load(database, 0, LIMIT_BYTES);
    const directories = new Directories(database, lists, unlisted);
    const rows = Array.from({ length: LIMIT + 5 }, (_, i) => segmentRow(i + 1));
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

  it('leave no hole where a commit takes a listed one away while the lists are read', async () => {
    const ref = (segmentId: number) => ({
      ...{ segmentId, tier: 'raw' as const, cells: 1 },
      ...{
        times: Uint32Array.of(segmentId),
        bandCells: Uint32Array.of(1),
        digests: Uint32Array.of(1),
      },
    });
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
    // Listed segment 3 becomes part of segment 6: the lists no longer hold it, 6 was not known yet.
    const joined: Directory = { ...EMPTY_DIRECTORY, raw: [ref(6)] };
    const end = directories.beginCommit((id) => id === 4);
    reads[0]([]);
    await directories.publish(new Map([[4, sizedDirectory(joined)]]));
    end();
    expect(await loading).toBe(joined);
    expect(unlisted.of(4)?.map(({ segmentId }) => segmentId)).toEqual([6]);
  });
});
