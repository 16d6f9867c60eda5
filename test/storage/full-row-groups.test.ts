import { mkdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fillRowGroup,
  PART_BYTES,
  type PartRow,
  readBlocks,
  SegmentWriter,
} from '../../storage/depth/segments.js';
import { Database } from '../../storage/duckdb/database.js';
import { ROW_GROUP_ROWS } from '../../storage/duckdb/statements.js';
import { migrate } from '../../storage/migrations.js';
import { DataDirectory } from '../support/stores.js';

const one = Uint32Array.of(1);
const nothing = new Uint8Array(0);
const noise = (size: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, i) => (i * i * 31 + (i >> 3) + size) & 255);

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
                ...[id, p + 1 + (id === 0 ? first : 0)],
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
    const directory = new DataDirectory();
    mkdirSync(directory.path);
    const file = path.join(directory.path, 'blocks.duckdb');
    const database = await Database.openFile(file, { memoryLimitMiB: 256, threads: 1 });
    await migrate(database, 0);
    const sizes = Array.from({ length: 300 }, (_, i) => (i % 7 === 0 ? 300 : 17_000 + 97 * i));
    await database.transaction(async (tx) => {
      const writer = new SegmentWriter(tx);
      for (const [segmentId, size] of sizes.entries()) {
        const segment = {
          block: noise(size),
          times: one,
          bandCells: one,
          digests: one,
          cells: 1,
          marketRows: new Uint16Array(0),
        };
        await writer.add({ segmentId, tokenId: 0, tier: 'raw' }, segment);
        // Withheld parts are there for anyone who has to read them.
        if (segmentId === 150) {
          await writer.settle([149]);
          const block = (await readBlocks(tx, [149])).get(149);
          expect(Buffer.compare(block ?? nothing, noise(sizes[149]))).toBe(0);
        }
      }
      await writer.flush();
    });
    const [[rows]] = await database.rows('SELECT count(*) FROM segment_parts');
    expect(rows).toBeGreaterThan(ROW_GROUP_ROWS);
    expect((rows as number) % ROW_GROUP_ROWS).toBe(0);
    const blocks = await readBlocks(database, [...sizes.keys()]);
    const differing = sizes.filter(
      (size, id) => Buffer.compare(blocks.get(id) ?? nothing, noise(size)) !== 0,
    );
    expect(differing).toEqual([]);
    await database.close();
    directory.remove();
  });
});
