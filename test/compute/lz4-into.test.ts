import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  lz4Compress,
  lz4Decompress,
  lz4DecompressInto,
  PlainMemory,
} from '../../compute/segment/lz4.js';

const MARGIN = 32;
const MARK = 0xa5;

/** Texts that repeat themselves at short and long distances, in runs, or not at all. */
const plains = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 90 }),
      fc.record({ byte: fc.nat(255), times: fc.integer({ min: 1, max: 700 }) }),
      fc.record({
        back: fc.integer({ min: 1, max: 900 }),
        length: fc.integer({ min: 1, max: 400 }),
      }),
    ),
    { maxLength: 24, size: 'max' },
  )
  .map((parts) => {
    const out: number[] = [];
    for (const part of parts) {
      if (part instanceof Uint8Array) out.push(...part);
      else if ('byte' in part) for (let i = 0; i < part.times; i++) out.push(part.byte);
      else for (let i = 0; i < part.length; i++) out.push(out[out.length - part.back] ?? i & 255);
    }
    return Uint8Array.from(out);
  });

/** Decompresses into the middle of marked memory, and checks that nothing around it was touched. */
function decompressed(block: Uint8Array, bytes: number): Uint8Array {
  const memory = new Uint8Array(bytes + 2 * MARGIN).fill(MARK);
  try {
    lz4DecompressInto(block, memory.subarray(MARGIN, MARGIN + bytes));
  } finally {
    expect(memory.subarray(0, MARGIN).every((byte) => byte === MARK)).toBe(true);
    expect(memory.subarray(MARGIN + bytes).every((byte) => byte === MARK)).toBe(true);
  }
  return memory.subarray(MARGIN, MARGIN + bytes);
}

describe('LZ4 into given memory', () => {
  it('gives the same as the library', () => {
    fc.assert(
      fc.property(plains, (plain) => {
        const block = lz4Compress(plain);
        expect(Buffer.compare(decompressed(block, plain.length), plain)).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  it('accepts lengths and distances of any number of bytes', () => {
    for (const bytes of [0, 1, 14, 15, 16, 269, 270, 271, 65_535, 65_536, 300_000]) {
      const random = Uint8Array.from(
        { length: bytes },
        (_, i) => (i * i * 31 + (i >> 8) * 7) & 255,
      );
      for (const plain of [random, new Uint8Array(bytes), Buffer.concat([random, random])]) {
        const block = lz4Compress(plain);
        expect(Buffer.compare(decompressed(block, plain.length), plain)).toBe(0);
      }
    }
  });

  it('refuses what is cut short or damaged, or reads it without touching anything else', () => {
    let refused = 0;
    let agreed = 0;
    fc.assert(
      fc.property(plains, fc.nat(), fc.nat(255), fc.boolean(), (plain, where, byte, cuts) => {
        const block = lz4Compress(plain).slice();
        const at = 4 + (where % (block.length - 4));
        const bad = cuts ? block.subarray(0, at) : block;
        if (!cuts) block[at] = byte;
        let library: Uint8Array | null = null;
        try {
          library = lz4Decompress(bad);
        } catch {
          // The library refuses more than the format does: matches in a block's last bytes.
        }
        let own: Uint8Array | null = null;
        try {
          own = decompressed(bad, plain.length);
        } catch (error) {
          expect((error as Error).message).toBe('LZ4 block is damaged');
          refused++;
        }
        if (own === null) expect(library).toBeNull();
        if (own !== null && library !== null) {
          expect(Buffer.compare(own, library)).toBe(0);
          agreed++;
        }
      }),
      { numRuns: 1500 },
    );
    expect(refused).toBeGreaterThan(100);
    expect(agreed).toBeGreaterThan(100);
  });

  it('refuses a block whose length differs from the memory’s', () => {
    const block = lz4Compress(new Uint8Array(1000));
    expect(() => decompressed(block, 999)).toThrow('LZ4 block is damaged');
    expect(() => decompressed(block, 1001)).toThrow('LZ4 block is damaged');
  });
});

it('memory for plain bytes gives what was not taken yet, aligned, and grows as requested', () => {
  const room = new PlainMemory();
  const first = [room.take(13), room.take(100)];
  expect(first.map((bytes) => bytes.length)).toEqual([13, 100]);
  room.clear();
  const again = [room.take(13), room.take(100)];
  expect(again[0].buffer).toBe(again[1].buffer);
  expect(again[1].byteOffset % 8).toBe(0);
  expect(again[1].byteOffset).toBeGreaterThanOrEqual(13);
  again[0].fill(1);
  again[1].fill(2);
  expect(again[0].every((byte) => byte === 1)).toBe(true);
  // Beyond the kept memory, bytes are newly allocated.
  expect(room.take(1).buffer).not.toBe(again[0].buffer);
  room.clear();
  expect(room.take(13).buffer.byteLength).toBeGreaterThanOrEqual(113);
});
