import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type SnapshotSums, sumSnapshots, widthOfSums } from '../../compute/depth/depth-series.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import { runOf } from '../compute/replay-stores.js';
import type { PlainSnapshot } from '../reference/replay.js';

const MARKETS = 5;
const cell = fc.record({
  market: fc.integer({ min: 0, max: MARKETS - 1 }),
  bin: fc.oneof(fc.integer({ min: -232, max: 242 }), fc.integer({ min: -8, max: 8 })),
  support: fc.bigInt(0n, 10n ** 12n),
  resistance: fc.bigInt(0n, 10n ** 12n),
});
const snapshots = fc
  .array(
    fc.uniqueArray(cell, { selector: ({ market, bin }) => `${market} ${bin}`, maxLength: 40 }),
    { minLength: 1, maxLength: 6 },
  )
  .map((all) =>
    all.map((cells, i): PlainSnapshot => ({
      t: 1000 + 60 * i,
      tier: 'raw',
      price: 1 + i,
      cells: cells.sort((a, b) => a.market - b.market || a.bin - b.bin),
    })),
  );
const percents = fc.uniqueArray(
  fc.oneof(fc.constantFrom(1, 2, 5, 10, 50, 100), fc.double({ min: 0.001, max: 100, noNaN: true })),
  { minLength: 1, maxLength: 10 },
);
const slots = fc.array(fc.integer({ min: -1, max: 2 }), { minLength: MARKETS, maxLength: MARKETS });

/** By side: the percents of each group, each with its snapshots. */
function sumsOf(all: PlainSnapshot[], slot: number[], pct: number[], groupCount = 3) {
  const sums: SnapshotSums = { kind: 'within', slot: Int32Array.from(slot), groupCount, pct };
  const selection = {
    run: all.map(() => 0),
    row: all.map((_, row) => row),
    t: all.map(({ t }) => t),
  };
  const segments = [encodeSegment(runOf('raw', all))];
  const result = sumSnapshots({ segments, selection, sums });
  if (result.status !== 'done') throw new Error(result.status);
  const { numbers } = result;
  const width = widthOfSums(sums);
  const column = (at: number) => all.map((_, i) => numbers[i * width + at]);
  expect(column(0)).toEqual(all.map(({ price }) => price));
  const columns = Array.from({ length: width - 1 }, (_, at) => column(at + 1));
  const middle = columns.length / 2;
  return {
    supportCents: columns.slice(0, middle).flat(),
    resistanceCents: columns.slice(middle).flat(),
  };
}

it('sumSnapshots sums the depth within each percent, like summing cell by cell', () => {
  fc.assert(
    fc.property(snapshots, percents, slots, (all, pct, slot) => {
      const { supportCents, resistanceCents } = sumsOf(all, slot, pct);
      const [support, resistance]: number[][] = [[], []];
      for (let group = 0; group < 3; group++) {
        for (const p of pct) {
          for (const { cells } of all) {
            const own = cells.filter(({ market }) => slot[market] === group);
            const below = own.filter(({ bin }) => 1.01 ** bin >= (1 - p / 100) * (1 - 1e-9));
            const above = own.filter(({ bin }) => 1.01 ** bin <= (1 + p / 100) * (1 + 1e-9));
            support.push(Number(below.reduce((sum, one) => sum + one.support, 0n)));
            resistance.push(Number(above.reduce((sum, one) => sum + one.resistance, 0n)));
          }
        }
      }
      expect([...supportCents]).toEqual(support);
      expect([...resistanceCents]).toEqual(resistance);
    }),
  );
});
