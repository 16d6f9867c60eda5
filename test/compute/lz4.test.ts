import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lz4Compress, lz4Decompress } from '../../compute/segment/lz4.js';

/** Texts with runs of one byte. */
const plains = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 90 }),
      fc
        .record({ byte: fc.nat(255), times: fc.integer({ min: 1, max: 700 }) })
        .map(({ byte, times }) => new Uint8Array(times).fill(byte)),
    ),
    { maxLength: 24, size: 'max' },
  )
  .map((parts) => new Uint8Array(Buffer.concat(parts)));

describe('LZ4 blocks', () => {
  it('give the same bytes again, in an ArrayBuffer of their own', () => {
    fc.assert(
      fc.property(plains, (plain) => {
        const again = lz4Decompress(lz4Compress(plain));
        expect(Buffer.compare(again, plain)).toBe(0);
        expect(again.byteOffset).toBe(0);
        expect(again.buffer.byteLength).toBe(plain.length);
      }),
    );
  });

  it('that are cut short or damaged are refused, or have the stated length', () => {
    let refused = 0;
    fc.assert(
      fc.property(plains, fc.nat(), fc.nat(255), fc.boolean(), (plain, where, byte, cuts) => {
        const block = Uint8Array.from(lz4Compress(plain));
        const at = 4 + (where % (block.length - 4));
        if (!cuts) block[at] = byte;
        try {
          expect(lz4Decompress(cuts ? block.subarray(0, at) : block).length).toBe(plain.length);
        } catch (error) {
          if ((error as Error).name === 'AssertionError') throw error;
          refused++;
        }
      }),
      { numRuns: 1000 },
    );
    expect(refused).toBeGreaterThan(100);
  });
});
