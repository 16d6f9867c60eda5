/**
 * Stores of very many segments: each is one snapshot of a few cells, of the tokens in turn. A year of full segments would
 * take hundreds of gigabytes; these have the same number of index rows in the same order. They are appended directly to
 * their table: nothing joins them.
 */
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { lz4Compress } from '../../compute/segment/lz4.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import {
  decodeSegment,
  describeSegment,
  digestsOf,
  marketRows,
} from '../../compute/segment/segment.js';
import { bareTokenRow } from '../../storage/depth/catalog.js';
import { Database } from '../../storage/duckdb/database.js';
import type { SqlValue } from '../../storage/duckdb/statements.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { benchAddress, EVERY_S, type PageShape, START_S, tokenHistory } from '../data/pages.js';
import { commitFrames } from '../store.js';
import { type GrowthStore, makeGrowthStore, type StoreShape } from '../data/growth-store.js';

/** Cells of a tiny snapshot. */
const TINY: PageShape = { name: 'tiny', snapshots: 1, markets: 2, cells: 8 };
/** Rows per transaction, and rows between two checkpoints. */
const ROWS_AT_ONCE = 50_000;
const ROWS_PER_CHECKPOINT = 1_000_000;
const DATABASE_OPTIONS = { memoryLimitMiB: 512, threads: 2 };

/** `shape.snapshots` segments of each of `shape.tokens` tokens. */
export async function tinySegmentStore(shape: StoreShape): Promise<GrowthStore> {
  const began = performance.now();
  const runs: SnapshotRun[] = [];
  await makeGrowthStore({ ...shape, snapshots: 1 }, async (store) => {
    const histories = Array.from({ length: shape.tokens }, (_, i) => tokenHistory(TINY, 1, i));
    const frames = histories.map(({ run, markets }) => {
      const segment = describeSegment(run);
      runs.push(decodeSegment(segment.block));
      const { chain, address, tier } = run;
      return { kind: 'segment' as const, chain, address, tier, markets, segment };
    });
    await commitFrames(store, frames);
  });
  await appendSnapshots(shape, runs);
  const made = await makeGrowthStore(shape, async (store) => {
    // Any commit starts the store's housekeeping.
    const row = bareTokenRow('mainchain', benchAddress(shape.tokens));
    await commitFrames(store, [{ kind: 'tokens', rows: [{ line: 1, row }] }]);
    await store.settled();
  });
  return { ...made, fillS: (performance.now() - began) / 1000 };
}

async function appendSnapshots(shape: StoreShape, runs: readonly SnapshotRun[]): Promise<void> {
  const file = path.join(shape.directory, DATABASE_FILE);
  const database = await Database.openFile(file, DATABASE_OPTIONS);
  try {
    const tokenIds = await database.rows('SELECT address, token_id FROM tokens');
    const idOf = new Map(tokenIds.map(([address, id]) => [address as string, id as number]));
    const [[last]] = await database.rows('SELECT max(segment_id) FROM segments');
    const total = runs.length * (shape.snapshots - 1);
    let rows: SqlValue[][] = [];
    for (let n = 0; n < total; n++) {
      const run = runs[n % runs.length];
      const snapshot = 1 + Math.floor(n / runs.length);
      rows.push([(last as number) + 1 + n, idOf.get(run.address) ?? 0, ...rowOf(run, snapshot)]);
      if (rows.length < ROWS_AT_ONCE && n < total - 1) continue;
      await database.transaction((tx) => tx.append('segments', rows));
      rows = [];
      if ((n + 1) % ROWS_PER_CHECKPOINT < ROWS_AT_ONCE) await database.checkpoint();
    }
  } finally {
    await database.close();
  }
}

/**
 * The columns from tier to digests of the token's next snapshot. The run's columns are views of its Arrow stream, so
 * changing their time and amounts makes another stream.
 */
function rowOf(run: SnapshotRun, snapshot: number): SqlValue[] {
  run.t[0] = START_S + snapshot * EVERY_S;
  for (const side of [run.supportCents, run.resistanceCents]) {
    for (let c = 0; c < side.length; c++)
      if (side[c] > 0) side[c] = 100 + ((side[c] * 31) % 900_001);
  }
  const block = lz4Compress(new Uint8Array(run.t.buffer));
  const cells = run.bin.length;
  const [times, bandCells] = [run.t[0], cells].map((one) => bytesOf(Uint32Array.of(one)));
  return [
    0,
    cells,
    times,
    bandCells,
    crc32(block),
    block,
    bytesOf(marketRows(run)),
    bytesOf(digestsOf(run)),
    // In no object of the archive.
    null,
    null,
    null,
  ];
}

function bytesOf(column: Uint32Array | Uint16Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}
