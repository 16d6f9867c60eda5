import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHolderBlock, ownersOfBlock } from '../../compute/holders/block-decoder.js';
import { HolderBlockEncoder } from '../../compute/holders/block-encoder.js';
import { lz4Compress, lz4Decompress } from '../../compute/segment/lz4.js';
import { encodeHolderBlock, histories, holderSnapshot } from '../support/holders.js';

/** Replaces words of a block's plain bytes, and adds a matching checksum. */
function forged(block: Uint8Array, words: Readonly<Record<number, number>>): Uint8Array {
  const plain = new Uint8Array(lz4Decompress(block.subarray(4)));
  const view = new DataView(plain.buffer);
  for (const [index, word] of Object.entries(words)) view.setUint32(4 * Number(index), word, true);
  return sealed(plain);
}

function sealed(plain: Uint8Array): Uint8Array {
  const packed = lz4Compress(plain);
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(packed));
  return Buffer.concat([sum, packed]);
}

describe('A holder block', () => {
  it('restores every snapshot, each balance bit for bit', () => {
    fc.assert(
      fc.property(histories, (history) => {
        expect(decodeHolderBlock(encodeHolderBlock(history))).toEqual(history);
      }),
      { numRuns: 300 },
    );
  });

  it('returns only those of some moments', () => {
    fc.assert(
      fc.property(histories, fc.infiniteStream(fc.boolean()), (history, picks) => {
        const wanted = history.filter(() => picks.next().value);
        const times = [5, ...wanted.map(({ t }) => t).reverse()];
        expect(decodeHolderBlock(encodeHolderBlock(history), times)).toEqual(wanted);
      }),
    );
  });

  it('can be continued as if it had been made at once', () => {
    fc.assert(
      fc.property(histories, fc.nat(), (history, cut) => {
        const first = history.slice(0, 1 + (cut % history.length));
        const encoder = HolderBlockEncoder.resume(encodeHolderBlock(first));
        for (const snapshot of history.slice(first.length)) encoder.add(snapshot);
        expect(encoder.finish()).toEqual(encodeHolderBlock(history));
      }),
    );
  });

  it('names the owners whose balances it has', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const owners = new Set(history.flatMap(({ owner }) => [...owner]));
        const named = [...ownersOfBlock(encodeHolderBlock(history))];
        expect(named).toEqual([...owners].sort((a, b) => a - b));
      }),
    );
  });

  it('can be read from anywhere in a buffer', () => {
    const history = [holderSnapshot(7, [[3, 1.5]]), holderSnapshot(8, [])];
    const block = encodeHolderBlock(history);
    for (const offset of [1, 2, 3, 4]) {
      const within = new Uint8Array(block.length + 8);
      within.set(block, offset);
      const view = within.subarray(offset, offset + block.length);
      expect(decodeHolderBlock(view)).toEqual(history);
    }
  });

  it('stores a snapshot in which a few owners changed in the bytes of those', () => {
    const owners = Array.from({ length: 10_000 }, (_, i) => [i, Math.sqrt(i + 2)] as const);
    const whole = holderSnapshot(1, owners);
    const changed = new Map(owners);
    for (let i = 0; i < 10_000; i += 100) changed.set(i, Math.cbrt(i + 2));
    const one = encodeHolderBlock([whole]).length;
    const two = encodeHolderBlock([whole, holderSnapshot(2, changed)]).length;
    const same = encodeHolderBlock([whole, { ...whole, t: 2 }]).length;
    expect(one).toBeLessThan(9 * 10_000);
    expect(two - one).toBeLessThan(20 * 100);
    expect(same - one).toBeLessThan(20);
  });

  it('is refused if any bit is flipped, or if it is truncated', () => {
    fc.assert(
      fc.property(histories, fc.nat(), fc.nat(7), (history, place, bit) => {
        const block = encodeHolderBlock(history);
        const flipped = block.slice();
        flipped[place % block.length] ^= 1 << bit;
        expect(() => decodeHolderBlock(flipped)).toThrow(/damaged/);
        expect(() => decodeHolderBlock(block.subarray(0, place % block.length))).toThrow(/damaged/);
      }),
    );
  });

  it('is refused if its checksum matches but its parts do not', () => {
    const block = encodeHolderBlock([
      holderSnapshot(10, [[1, 2]]),
      holderSnapshot(11, [
        [1, 2],
        [4, 3],
      ]),
    ]);
    // Words: format, snapshots, owners, changes, two times, two counts, then bytes in planes.
    const faults: [Record<number, number>, RegExp][] = [
      [{ 0: 7 }, /unknown format/],
      [{ 1: 3 }, /its length differs/],
      [{ 3: 0xffff_ffff }, /its length differs/],
      [{ 5: 10 }, /times fall/],
      [{ 6: 2 }, /counts differ/],
      [{ 8: 0 }, /owners fall/],
      [{ 10: 0 }, /change has no owner/],
      [{ 10: 0x0909 }, /change has no owner/],
      [{ 14: 0, 15: 0x7f7f_f0f0 }, /not a number above 0/],
    ];
    for (const [words, message] of faults) {
      expect(() => decodeHolderBlock(forged(block, words))).toThrow(message);
    }
    expect(() => decodeHolderBlock(sealed(new Uint8Array(8)))).toThrow(/no head/);
  });

  it('is not made from anything but a history', () => {
    const one = holderSnapshot(5, [[1, 1]]);
    const refused = [
      [],
      [one, one],
      [one, { ...one, t: 4 }],
      [{ ...one, t: 5.5 }],
      [holderSnapshot(5, [[1, 0]])],
      [holderSnapshot(5, [[1, -1]])],
      [holderSnapshot(5, [[1, NaN]])],
      [holderSnapshot(5, [[1, Infinity]])],
      [
        holderSnapshot(5, [
          [1, 1],
          [1, 1],
        ]),
      ],
      [{ ...one, owner: new Uint32Array(2) }],
    ];
    for (const history of refused) expect(() => encodeHolderBlock(history)).toThrow();
  });
});
