import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lz4Compress, lz4Decompress, PlainMemory } from '../../compute/segment/lz4.js';

const memory = new PlainMemory();
/** A block between which the others are decompressed. */
const NEIGHBOUR = Uint8Array.from({ length: 1000 }, (_, i) => (i * i) & 255);
const neighbour = lz4Compress(NEIGHBOUR);

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

/** Decompresses a block between two others, and checks that nothing of them was touched. */
function decompressed(block: Uint8Array): Uint8Array {
  memory.begin([neighbour, block, neighbour]);
  const before = memory.decompress(neighbour);
  try {
    return memory.decompress(block);
  } finally {
    const after = memory.decompress(neighbour);
    for (const bytes of [before, after]) expect(Buffer.compare(bytes, NEIGHBOUR)).toBe(0);
  }
}

/** A block with another stated length. */
function stating(block: Uint8Array, bytes: number): Uint8Array {
  const changed = block.slice();
  new DataView(changed.buffer).setUint32(0, bytes, true);
  return changed;
}

describe('LZ4 into reused memory', () => {
  it('gives the same as the library', () => {
    fc.assert(
      fc.property(plains, (plain) => {
        const block = lz4Compress(plain);
        expect(Buffer.compare(decompressed(block), plain)).toBe(0);
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
        expect(Buffer.compare(decompressed(block), plain)).toBe(0);
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
          own = decompressed(bad);
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

  it('refuses a block with another length than it states', () => {
    const block = lz4Compress(new Uint8Array(1000));
    for (const bytes of [0, 999, 1001, 100_000]) {
      expect(() => decompressed(stating(block, bytes))).toThrow('LZ4 block is damaged');
    }
  });

  it('gives bytes where Arrow can read columns in place, until it begins others', () => {
    memory.begin([neighbour, neighbour]);
    const [first, second] = [memory.decompress(neighbour), memory.decompress(neighbour)];
    expect(first.buffer).toBe(second.buffer);
    for (const { byteOffset } of [first, second]) expect(byteOffset % 8).toBe(0);
    memory.begin([neighbour]);
    expect(memory.decompress(neighbour).byteOffset).toBe(first.byteOffset);
  });

  it('reads blocks for which it has no room, and keeps no more than 16 MiB', () => {
    const large = new Uint8Array(17 * 1024 * 1024).fill(7);
    const block = lz4Compress(large);
    memory.begin([neighbour, block]);
    const before = memory.decompress(neighbour);
    expect(Buffer.compare(memory.decompress(block), large)).toBe(0);
    expect(Buffer.compare(before, NEIGHBOUR)).toBe(0);
    memory.begin([neighbour]);
    expect(memory.decompress(neighbour).buffer.byteLength).toBeLessThan(17 * 1024 * 1024);
    // Nor does it have room for blocks that were not announced.
    const announced = memory.decompress(neighbour);
    expect(Buffer.compare(announced, NEIGHBOUR)).toBe(0);
  });
});
