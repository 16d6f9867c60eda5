import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type RunColumns, runOfSlice, sliceOfRun } from '../../compute/segment/run.js';
import { runsOf, stores } from './replay-stores.js';

/** Tier and columns, without the token. */
const plain = (run: RunColumns) => [
  run.tier,
  ...[run.t, run.priceUsd, run.cellOffsets, run.market, run.bin].map((column) => [...column]),
  [...run.supportCents],
  [...run.resistanceCents],
];

it('a run is read from its slice as written, wherever the slice begins in memory', () => {
  fc.assert(
    fc.property(stores, fc.integer({ min: 1, max: 9 }), (store, runLength) => {
      for (const run of runsOf(store, runLength).runs) {
        const slice = sliceOfRun(run);
        expect(plain(runOfSlice(slice))).toEqual(plain(run));
        const memory = new ArrayBuffer(64 + slice.bytes);
        new Uint8Array(memory).set(new Uint8Array(slice.memory), 64);
        expect(plain(runOfSlice({ ...slice, memory, offset: 64 }))).toEqual(plain(run));
        expect(() => runOfSlice({ ...slice, memory })).toThrow('no run in this slice');
      }
    }),
    { numRuns: 100 },
  );
});
