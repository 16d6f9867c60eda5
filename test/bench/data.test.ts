import { describe, expect, it } from 'vitest';
import { BODY_KINDS, bodyRows, LEVELS_OF_BODY } from '../../bench/data/bodies.js';
import { PAGE_A, PAGE_B, tokenHistory } from '../../bench/data/pages.js';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { DEFAULT_BAND, MIN_CELL_CENTS } from '../../compute/ladder.js';
import { venueKey } from '../../compute/market.js';

const OPTIONS = { firstLine: 1, mode: 'replace' } as const;

describe('a generated page', () => {
  for (const shape of [PAGE_A, PAGE_B]) {
    const { run, markets } = tokenHistory(shape, shape.snapshots, 0);

    it(`${shape.name} is as wide and long as its shape, and sorted as runs are`, () => {
      expect([run.t.length, markets.length]).toEqual([shape.snapshots, shape.markets]);
      expect(run.cellOffsets).toEqual(
        Int32Array.from({ length: shape.snapshots + 1 }, (_, s) => s * shape.cells),
      );
      const outOfOrder = run.bin.filter((bin, c) => {
        if (c % shape.cells === 0) return run.market[c] !== 0;
        const steps = run.market[c] - run.market[c - 1];
        return steps !== 1 && (steps !== 0 || bin <= run.bin[c - 1]);
      });
      expect(outOfOrder).toHaveLength(0);
      expect(new Set(run.market).size).toBe(shape.markets);
      expect(Math.min(...run.bin)).toBeGreaterThanOrEqual(DEFAULT_BAND.first);
      expect(Math.max(...run.bin)).toBeLessThanOrEqual(DEFAULT_BAND.last);
    });

    it(`${shape.name} changes in six cells of ten from snapshot to snapshot`, () => {
      let changed = 0;
      for (let i = shape.cells; i < run.bin.length; i++) {
        const before = i - shape.cells;
        const same =
          run.supportCents[i] === run.supportCents[before] &&
          run.resistanceCents[i] === run.resistanceCents[before];
        if (!same) changed++;
      }
      const share = changed / (run.bin.length - shape.cells);
      expect(share).toBeGreaterThan(0.58);
      expect(share).toBeLessThan(0.62);
    });

    it(`${shape.name} holds support or resistance in every cell, never less than 1 USD`, () => {
      const wrong = run.bin.filter((_, i) => {
        const amounts = [run.supportCents[i], run.resistanceCents[i]];
        return Math.min(...amounts) !== 0 || Math.max(...amounts) < MIN_CELL_CENTS;
      });
      expect(wrong).toHaveLength(0);
    });
  }

  it('differs from token to token, over the same venues', () => {
    const [one, other] = [0, 1].map((index) => tokenHistory(PAGE_A, 3, index));
    expect(one.run.address).not.toBe(other.run.address);
    expect(one.run.supportCents).not.toEqual(other.run.supportCents);
    const typesOf = ({ markets }: typeof one) =>
      markets.map((m) => `${venueKey(m.source)} ${m.type}`);
    expect(typesOf(one)).toEqual(typesOf(other));
  });
});

describe('generated market states', () => {
  it('are valid, of every kind, and on the ladder', () => {
    for (const kind of BODY_KINDS) {
      const batch = binSnapshotRows(bodyRows(kind, 3), OPTIONS);
      expect([kind, batch.faults, batch.snapshots]).toEqual([kind, [], 3]);
      const { run } = batch.runs[0];
      const total = (cents: ArrayLike<number>) => Array.from(cents).reduce((a, b) => a + b, 0);
      // Both sides have depth; otherwise a kernel would be measured on half its work.
      expect([kind, total(run.supportCents) > 0, total(run.resistanceCents) > 0]).toEqual([
        kind,
        true,
        true,
      ]);
    }
  });

  it('have as many levels as LEVELS_OF_BODY says', () => {
    type Bodies = Record<string, Record<string, unknown[]>>;
    const body = (kind: (typeof BODY_KINDS)[number]) =>
      (bodyRows(kind, 1)[0] as { markets: Bodies[] }).markets[0][kind];
    const { bids, asks } = body('book');
    expect(bids.length + asks.length).toBe(LEVELS_OF_BODY.book);
    expect(body('clmm').ticks).toHaveLength(LEVELS_OF_BODY.clmm);
    expect(body('dlmm').bins).toHaveLength(LEVELS_OF_BODY.dlmm);
  });
});
