import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deleteSegments, readBlocks, SegmentWriter } from '../../storage/depth/segments.js';
import { Database } from '../../storage/duckdb/database.js';
import { MAX_VALUE_BYTES } from '../../storage/duckdb/statements.js';
import { migrate } from '../../storage/migrations.js';
import { DataDirectory } from '../support/stores.js';

let directory: DataDirectory;
let database: Database;
beforeEach(async () => {
  directory = new DataDirectory();
  mkdirSync(directory.path);
  const file = path.join(directory.path, 'blocks.duckdb');
  database = await Database.openFile(file, { memoryLimitMiB: 256, threads: 1 });
  await migrate(database, 0);
});
afterEach(async () => {
  await database.close();
  directory.remove();
});

const SIZES = [1, 3999, 4000, 4001, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000];
const one = Uint32Array.of(1);
const noise = (size: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, i) => (i * i * 31 + (i >> 3) + size) & 255);

/** Compares byte for byte; a matcher takes seconds for this many. */
function expectBlocks(blocks: ReadonlyMap<number, Uint8Array>): void {
  const differing = SIZES.filter((size, id) => {
    const block = blocks.get(id);
    return block === undefined || Buffer.compare(block, noise(size)) !== 0;
  });
  expect(differing).toEqual([]);
}

describe('Blocks of any size', () => {
  it('read back as written, and leave nothing when deleted', async () => {
    await database.transaction(async (tx) => {
      const writer = new SegmentWriter(tx);
      for (const [segmentId, size] of SIZES.entries()) {
        const segment = {
          block: noise(size),
          times: one,
          bandCells: one,
          digests: one,
          cells: 1,
          marketRows: new Uint16Array(0),
        };
        await writer.add({ segmentId, tokenId: 0, tier: 'raw' }, segment);
      }
      await writer.flush();
    });
    const ids = SIZES.map((_, id) => id);
    const blocks = await readBlocks(database, ids);
    expectBlocks(blocks);
    for (const id of ids) expect((await readBlocks(database, [id])).size).toBe(1);
    await database.transaction((tx) => deleteSegments(tx, ids));
    expect(await database.rows('SELECT count(*) FROM segment_parts')).toEqual([[0]]);
  });

  it('are written many at once, or before one of them is read', async () => {
    const count = async (tx: Pick<Database, 'rows'>) =>
      (await tx.rows('SELECT count(*) FROM segments'))[0][0];
    await database.transaction(async (tx) => {
      const writer = new SegmentWriter(tx);
      const segment = {
        block: noise(3999),
        times: one,
        bandCells: one,
        digests: one,
        cells: 1,
        marketRows: new Uint16Array(0),
      };
      const add = (segmentId: number) => writer.add({ segmentId, tokenId: 0, tier: '1h' }, segment);
      for (const id of [7, 8, 9]) await add(id);
      await writer.settle([]);
      await writer.settle([1, 6]);
      expect(await count(tx)).toBe(0);
      await writer.settle([1, 8]);
      expect([...(await readBlocks(tx, [7, 8, 9])).keys()].sort()).toEqual([7, 8, 9]);
      for (let id = 10; id < 1000; id++) await add(id);
      expect(await count(tx)).toBeGreaterThan(500);
      await writer.flush();
      await writer.flush();
      expect(await count(tx)).toBe(993);
    });
  });

  it('read back as earlier builds wrote them: in the row up to the size of one value', async () => {
    await database.transaction(async (tx) => {
      for (const [id, size] of SIZES.entries()) {
        const block = noise(size);
        const columns = new Uint8Array(one.buffer);
        await tx.append('segments', [
          [
            ...[id, 0, 0, 1, columns, columns, crc32(block)],
            ...[block.subarray(0, MAX_VALUE_BYTES), null, null],
          ],
        ]);
        for (let part = 1; part * MAX_VALUE_BYTES < size; part++) {
          const from = part * MAX_VALUE_BYTES;
          await tx.append('segment_parts', [
            [id, part, block.subarray(from, from + MAX_VALUE_BYTES)],
          ]);
        }
      }
    });
    const ids = SIZES.map((_, id) => id);
    const blocks = await readBlocks(database, ids);
    expectBlocks(blocks);
  });
});
