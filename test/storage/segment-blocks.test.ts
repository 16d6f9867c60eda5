import { mkdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Archive } from '../../storage/archive/archive.js';
import {
  deleteSegments,
  fillRowGroup,
  PART_BYTES,
  type PartRow,
  readBlocks,
  SegmentWriter,
} from '../../storage/depth/segments.js';
import { Database } from '../../storage/duckdb/database.js';
import { ROW_GROUP_ROWS } from '../../storage/duckdb/statements.js';
import { ensureSchema } from '../../storage/schema.js';
import { DataDirectory } from '../support/stores.js';

let directory: DataDirectory;
let database: Database;
beforeEach(async () => {
  directory = new DataDirectory();
  mkdirSync(directory.path);
  const file = path.join(directory.path, 'blocks.duckdb');
  database = await Database.openFile(file, { memoryLimitMiB: 256, threads: 1 });
  await ensureSchema(database, file);
});
afterEach(() => database.close());

const SIZES = [1, 3999, 4000, 4001, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000];
const one = Uint32Array.of(1);
const noise = (size: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, i) => (i * i * 31 + (i >> 3) + size) & 255);

const segmentOf = (block: Uint8Array) => ({
  block,
  times: one,
  bandCells: one,
  digests: one,
  cells: 1,
  marketRows: new Uint16Array(0),
});

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
        await writer.add({ segmentId, tokenId: 0, tier: 'raw' }, segmentOf(noise(size)));
      }
      await writer.flush();
    });
    const ids = SIZES.map((_, id) => id);
    const blocks = await readBlocks(database, ids, new Archive());
    expectBlocks(blocks);
    for (const id of ids) expect((await readBlocks(database, [id], new Archive())).size).toBe(1);
    await database.transaction((tx) => deleteSegments(tx, ids));
    expect(await database.rows('SELECT count(*) FROM segment_parts')).toEqual([[0]]);
  });

  it('are written many at once, or before one of them is read', async () => {
    const count = async (tx: Pick<Database, 'rows'>) =>
      (await tx.rows('SELECT count(*) FROM segments'))[0][0];
    await database.transaction(async (tx) => {
      const writer = new SegmentWriter(tx);
      const segment = segmentOf(noise(3999));
      const add = (segmentId: number) => writer.add({ segmentId, tokenId: 0, tier: '1h' }, segment);
      for (const id of [7, 8, 9]) await add(id);
      await writer.settle([]);
      await writer.settle([1, 6]);
      expect(await count(tx)).toBe(0);
      await writer.settle([1, 8]);
      expect([...(await readBlocks(tx, [7, 8, 9], new Archive())).keys()].sort()).toEqual([
        7, 8, 9,
      ]);
      for (let id = 10; id < 1000; id++) await add(id);
      expect(await count(tx)).toBeGreaterThan(500);
      await writer.flush();
      await writer.flush();
      expect(await count(tx)).toBe(993);
    });
  });
});

const nothing = new Uint8Array(0);

/** Parts of one block each, as one text: their order and every byte. */
function blocksOf(rows: readonly PartRow[]): Map<number, { first: number; hex: string }> {
  const blocks = new Map<number, { first: number; hex: string }>();
  let next = 0;
  for (const [segmentId, part, bytes] of rows) {
    const block = blocks.get(segmentId) ?? { first: part, hex: '' };
    if (block.hex !== '') expect(part).toBe(next);
    next = part + 1;
    block.hex += Buffer.from(bytes).toString('hex');
    blocks.set(segmentId, block);
  }
  return blocks;
}

describe('The parts at the end of a transaction', () => {
  it('are the same blocks, cut to fill up a row group if they suffice', () => {
    const sizes = fc.array(fc.nat(3 * PART_BYTES), { maxLength: 400 });
    const runs = fc.property(
      sizes,
      fc.nat(3 * ROW_GROUP_ROWS),
      fc.nat(5),
      (lengths, written, first) => {
        const rows = lengths.flatMap((length, id): PartRow[] => {
          const parts = Math.max(1, Math.ceil(length / PART_BYTES));
          const bytes = noise(length);
          return Array.from(
            { length: parts },
            (_, p) =>
              [
                id,
                p + 1 + (id === 0 ? first : 0),
                bytes.subarray(p * PART_BYTES, (p + 1) * PART_BYTES),
              ] as unknown as PartRow,
          );
        });
        const filled = fillRowGroup(rows, written);
        expect(blocksOf(filled)).toEqual(blocksOf(rows));
        if (filled.length === rows.length) return;
        expect((written + filled.length) % ROW_GROUP_ROWS).toBe(0);
        expect(filled.length - rows.length).toBeLessThan(ROW_GROUP_ROWS);
      },
    );
    fc.assert(runs, { numRuns: Number(process.env.FATHOM_RUNS ?? 30) });
  });

  it('are unchanged if the transaction has less than a row group, or ends with one', () => {
    const rows: PartRow[] = Array.from({ length: 600 }, (_, i) => [i, 1, noise(2000)]);
    for (const written of [0, ROW_GROUP_ROWS - 601, ROW_GROUP_ROWS - 600]) {
      expect(fillRowGroup(rows, written)).toEqual(rows);
    }
    expect(fillRowGroup(rows, ROW_GROUP_ROWS - 599)).toHaveLength(599 + ROW_GROUP_ROWS);
    const small: PartRow[] = [[1, 1, noise(2000)]];
    expect(fillRowGroup(small, ROW_GROUP_ROWS + 5)).toEqual(small);
  });

  it('fill row groups of their table, and read back as written', async () => {
    const sizes = Array.from({ length: 300 }, (_, i) => (i % 7 === 0 ? 300 : 17_000 + 97 * i));
    await database.transaction(async (tx) => {
      const writer = new SegmentWriter(tx);
      for (const [segmentId, size] of sizes.entries()) {
        await writer.add({ segmentId, tokenId: 0, tier: 'raw' }, segmentOf(noise(size)));
        // Withheld parts are there for anyone who has to read them.
        if (segmentId === 150) {
          await writer.settle([149]);
          const block = (await readBlocks(tx, [149], new Archive())).get(149);
          expect(Buffer.compare(block ?? nothing, noise(sizes[149]))).toBe(0);
        }
      }
      await writer.flush();
    });
    const [[rows]] = await database.rows('SELECT count(*) FROM segment_parts');
    expect(rows).toBeGreaterThan(ROW_GROUP_ROWS);
    expect((rows as number) % ROW_GROUP_ROWS).toBe(0);
    const blocks = await readBlocks(database, [...sizes.keys()], new Archive());
    const differing = sizes.filter(
      (size, id) => Buffer.compare(blocks.get(id) ?? nothing, noise(size)) !== 0,
    );
    expect(differing).toEqual([]);
  });
});
