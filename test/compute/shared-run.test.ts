import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { statedPlainBytes } from '../../compute/segment/lz4.js';
import {
  clearSlice,
  isFilled,
  fillSlice,
  runOfSlice,
  type RunColumns,
} from '../../compute/segment/run.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import { runsOf, stores } from './replay-stores.js';

const MARGIN = 64;
const MARK = 0x5a;

/** Tier and columns, without the token. */
const plain = (run: RunColumns) => [
  run.tier,
  ...[run.t, run.priceUsd, run.cellOffsets, run.market, run.bin].map((column) => [...column]),
  [...run.supportCents],
  [...run.resistanceCents],
];

describe('a run in shared memory', () => {
  it('is read as written, in a slice as large as its plain segment, without touching anything else', () => {
    fc.assert(
      fc.property(stores, fc.integer({ min: 1, max: 9 }), (store, runLength) => {
        for (const run of runsOf(store, runLength).runs) {
          const bytes = statedPlainBytes(encodeSegment(run));
          const memory = new SharedArrayBuffer(MARGIN + bytes + MARGIN);
          const all = new Uint8Array(memory).fill(MARK);
          const place = { memory, offset: MARGIN, bytes };
          clearSlice(place);
          expect(isFilled(place)).toBe(false);
          fillSlice(run, place);
          expect(isFilled(place)).toBe(true);
          expect(plain(runOfSlice(place))).toEqual(plain(run));
          expect(runOfSlice(place).bin.buffer).toBe(memory);
          expect(all.subarray(0, MARGIN).every((byte) => byte === MARK)).toBe(true);
          expect(all.subarray(MARGIN + bytes).every((byte) => byte === MARK)).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('is not written if it does not fit', () => {
    const [run] = runsOf({ markets: [], snapshots: [tiny()] }, 1).runs;
    const memory = new SharedArrayBuffer(4096);
    const place = { memory, offset: 0, bytes: 64 };
    clearSlice(place);
    fillSlice(run, place);
    expect(isFilled(place)).toBe(false);
    expect(() => runOfSlice(place)).toThrow('no run in this slice');
    expect(new Uint8Array(memory).every((byte) => byte === 0)).toBe(true);
  });
});

function tiny() {
  const cells = [{ market: 0, bin: 1, support: 0n, resistance: 5_000_000_000n }];
  return { t: 1_794_000_000, tier: '15m' as const, price: 1, cells };
}
