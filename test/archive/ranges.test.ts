/** How archived blocks are read: those that follow each other in an object at once, and none twice. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Archive } from '../../storage/archive/archive.js';
import { BLOCK_FILES } from '../../storage/archive/block-files.js';
import { ArchiveUnavailableError, type Objects } from '../../storage/archive/objects.js';
import type { SqlRow } from '../../storage/duckdb/statements.js';
import { FileCache } from '../../storage/file-cache.js';
import { temporaryDirectory } from '../support/folders.js';

interface Block {
  segmentId: number;
  key: string;
  at: number;
  bytes: Uint8Array;
  crc32: number;
}

/** Objects of blocks one after the other, in memory. */
class Stored {
  readonly blocks: Block[] = [];
  private readonly objects = new Map<string, Uint8Array>();
  /** Every range that was read. */
  readonly ranges: { key: string; from: number; to: number }[] = [];

  /** @param sizes of the blocks of each object */
  constructor(sizes: readonly (readonly number[])[]) {
    for (const [o, lengths] of sizes.entries()) {
      const key = `segments/${o}`;
      let at = 0;
      for (const length of lengths) {
        const segmentId = this.blocks.length + 1;
        const bytes = new Uint8Array(length).map((_, i) => segmentId * 31 + i * 7);
        this.blocks.push({ segmentId, key, at, bytes, crc32: crc32(bytes) });
        at += length;
      }
      const own = this.blocks.filter((block) => block.key === key).map(({ bytes }) => bytes);
      this.objects.set(key, Buffer.concat(own));
    }
  }

  /** What the tables say: the query's ids are its last list of numbers. */
  readonly statements = {
    rows: (sql: string): Promise<SqlRow[]> => {
      const ids = new Set(/IN \(([\d, ]+)\)/.exec(sql)?.[1].split(',').map(Number));
      const found = this.blocks.filter(({ segmentId }) => ids.has(segmentId));
      return Promise.resolve(
        found.map((one) => [one.segmentId, one.key, one.at, one.bytes.length, one.crc32]),
      );
    },
  };

  damage({ key, at, bytes }: Block): void {
    this.objects.get(key)![at + (bytes.length >> 1)] ^= 1;
  }

  open(files: Archive['files'] = null): Archive {
    const read: Objects['read'] = (key, at, length) => {
      this.ranges.push({ key, from: at, to: at + length });
      return new Promise((resolve) =>
        setImmediate(() => resolve(this.objects.get(key)!.slice(at, at + length))),
      );
    };
    return new Archive({ name: 'memory', read } as unknown as Objects, files, 0);
  }

  /** Stretches of these blocks that follow each other, by brute force. */
  stretches(asked: ReadonlySet<number>): number {
    return this.blocks.filter(({ segmentId, key }) => {
      const before = this.blocks[segmentId - 2];
      const follows = before?.key === key && asked.has(before.segmentId);
      return asked.has(segmentId) && !follows;
    }).length;
  }
}

const filesIn = (directory: string) =>
  FileCache.open(BLOCK_FILES, {
    directory,
    maxBytes: 2 ** 30,
    stored: (ids) => Promise.resolve(new Set(ids)),
    onTrouble: () => undefined,
    keptFreeBytes: 0,
  });

const sizes = fc.array(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
});

describe('Archived blocks', () => {
  it('are each read once, whoever asks at the same time, and then come from files', async () => {
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(fc.array(fc.nat(30), { minLength: 1, maxLength: 8 }), {
          minLength: 1,
          maxLength: 4,
        }),
        async (lengths, callers) => {
          const stored = new Stored(lengths);
          const files = await filesIn(temporaryDirectory());
          const archive = stored.open(files);
          const asked = callers.map((picks) => {
            const all = picks.map((pick) => stored.blocks[pick % stored.blocks.length]);
            return [...new Set(all)];
          });
          const readAll = () =>
            Promise.all(asked.map((blocks) => archive.blocks(stored.statements, blocks)));
          for (let turn = 0; turn < 2; turn++) {
            for (const [i, found] of (await readAll()).entries()) {
              expect(found.map(({ segmentId }) => segmentId)).toEqual(
                asked[i].map(({ segmentId }) => segmentId),
              );
              for (const [b, { block }] of found.entries()) {
                expect(Buffer.compare(block, asked[i][b].bytes)).toBe(0);
                // Callers may transfer its memory.
                expect(block.buffer.byteLength).toBeLessThan(block.length + 2);
              }
            }
          }
          const all = new Set(asked.flat());
          const bytes = [...all].reduce((sum, block) => sum + block.bytes.length, 0);
          expect(archive.readBytes).toBe(bytes);
          expect(archive.reads).toBe(stored.ranges.length);
          for (const [i, a] of stored.ranges.entries()) {
            for (const b of stored.ranges.slice(i + 1)) {
              expect(a.key !== b.key || a.to <= b.from || b.to <= a.from).toBe(true);
            }
          }
          // A caller alone needs a range for each stretch, and so does a check, which reads no file.
          const alone = new Stored(lengths);
          await alone.open().blocks(alone.statements, asked[0]);
          const checked = await alone.open(files).fromObjects.blocks(alone.statements, asked[0]);
          for (const { segmentId, block } of checked) {
            expect(Buffer.compare(block, alone.blocks[segmentId - 1].bytes)).toBe(0);
          }
          const ids = new Set(asked[0].map(({ segmentId }) => segmentId));
          expect(alone.ranges.length).toBe(2 * alone.stretches(ids));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('are read by ranges of at most 4 MiB', async () => {
    const mebibyte = 2 ** 20;
    const stored = new Stored([Array.from({ length: 9 }, () => mebibyte).concat(5 * mebibyte)]);
    await stored.open().blocks(stored.statements, stored.blocks);
    expect(stored.ranges.map(({ from, to }) => (to - from) / mebibyte)).toEqual([4, 4, 1, 5]);
  });

  it('that are damaged fail those who need them, and nobody else', async () => {
    const stored = new Stored([[100, 100, 100]]);
    const [first, second, third] = stored.blocks;
    stored.damage(second);
    const archive = stored.open();
    const [all, alone] = await Promise.allSettled([
      archive.blocks(stored.statements, [first, second, third]),
      archive.blocks(stored.statements, [first, third]),
    ]);
    expect(stored.ranges).toHaveLength(1);
    expect(all).toMatchObject({ status: 'rejected', reason: expect.any(ArchiveUnavailableError) });
    expect(String((all as PromiseRejectedResult).reason)).toContain(
      'the checksum of bytes 100 to 199 does not match',
    );
    expect(alone.status).toBe('fulfilled');
    expect(archive.failures).toBe(1);
    expect(archive.isUnreadable).toBe(true);
    await archive.blocks(stored.statements, [third]);
    expect(archive.isUnreadable).toBe(false);
  });

  it('whose file is damaged or of an earlier segment are read again; a segment that is gone is left out', async () => {
    const stored = new Stored([[50, 60]]);
    const [first, second] = stored.blocks;
    const files = await filesIn(temporaryDirectory());
    await files.write({ segmentId: 1, crc32: first.crc32 }, new Uint8Array(50));
    await files.write({ segmentId: 2, crc32: 5 }, new Uint8Array(60));
    const gone = { segmentId: 99, crc32: 1 };
    const found = await stored.open(files).blocks(stored.statements, [gone, first, second]);
    expect(found.map(({ segmentId }) => segmentId)).toEqual([1, 2]);
    for (const [i, { block }] of found.entries()) {
      expect(Buffer.compare(block, stored.blocks[i].bytes)).toBe(0);
    }
  });
});
