import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectSame } from '../support/same.js';
import type { Market } from '../../compute/market.js';
import { countCells, isTombstone, joinRuns } from '../../compute/segment/merge.js';
import {
  decodeSegment,
  describeSegment,
  encodeSegment,
  MAX_SEGMENT_CELLS,
  MAX_SEGMENT_SNAPSHOTS,
  splitRun,
} from '../../compute/segment/segment.js';
import { type RewriteResult, rewriteSegments } from '../../compute/segment/rewrite.js';
import { MAX_REWRITTEN, rewriteGroups } from '../../storage/depth/rewrite-groups.js';
import { directoryOfTimes, runOfCells, type SnapshotOfCells } from '../support/runs.js';
import { snapshotsOf } from '../support/stores.js';

const market = (name: number): Market => ({
  source: `venue-${name}`,
  exchangeType: 'DEX',
  type: 'onchain_pool',
  address: null,
  pair: null,
});

const byPlace = (a: readonly number[], b: readonly number[]) => a[0] - b[0] || a[1] - b[1];
const cents = fc.oneof(fc.integer({ min: 100, max: 999 }), fc.integer({ min: 100, max: 2 ** 40 }));
const cells = (markets: number) =>
  fc
    .uniqueArray(
      fc.tuple(
        fc.integer({ min: 0, max: markets - 1 }),
        fc.integer({ min: -3, max: 3 }),
        cents,
        cents,
      ),
      { selector: ([name, bin]) => `${name} ${bin}`, maxLength: 12 },
    )
    .map((list) => list.sort(byPlace));
const PRICES: Record<number, number> = {};
const priceAt = (t: number): number => (PRICES[t] ??= 1 + (t % 7));
const plainRun = fc
  .uniqueArray(fc.record({ t: fc.integer({ min: 1, max: 25 }), cells: cells(4) }), {
    selector: ({ t }) => t,
    maxLength: 10,
  })
  .map((list) => list.sort((a, b) => a.t - b.t).map((s) => ({ ...s, price: priceAt(s.t) })));
/** A run whose market column indexes a separate list. */
const part = fc.record({
  snapshots: plainRun,
  names: fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 4 }),
});
const partOf = ({ snapshots, names }: { snapshots: SnapshotOfCells[]; names: number[] }) => ({
  run: runOfCells(snapshots),
  markets: names.map(market),
});

/** What joining makes, computed on plain snapshots whose cells carry their market's name. */
function plainJoin(
  parts: readonly { snapshots: SnapshotOfCells[]; names: number[] }[],
  merge: boolean,
) {
  const order: number[] = [];
  for (const { names } of parts) for (const n of names) if (!order.includes(n)) order.push(n);
  const byTime = new Map<number, { price: number; markets: Map<number, number[][]> }>();
  for (const { snapshots, names } of parts) {
    for (const { t, price, cells: own } of snapshots) {
      const existing = merge ? byTime.get(t) : undefined;
      const markets = existing?.markets ?? new Map<number, number[][]>();
      for (const name of new Set(own.map(([index]) => names[index]))) markets.set(name, []);
      for (const [index, ...rest] of own) markets.get(names[index])?.push(rest);
      byTime.set(t, { price, markets });
    }
  }
  const snapshots = Array.from(byTime, ([t, { price, markets }]) => ({
    tier: 'raw',
    t,
    price,
    cells: [...markets]
      .flatMap(([name, own]) => own.map((rest) => [order.indexOf(name), ...rest]))
      .sort(byPlace),
  }));
  return { order, snapshots: snapshots.sort((a, b) => a.t - b.t) };
}

describe('joinRuns', () => {
  it.each(['replace', 'merge'] as const)('%ss as plain maps would', (mode) => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        const joined = joinRuns(parts.map(partOf), mode);
        const expected = plainJoin(parts, mode === 'merge');
        expect(joined.markets).toEqual(expected.order.map(market));
        expect(snapshotsOf(joined.run)).toEqual(expected.snapshots);
      }),
    );
  });

  it('keeps an empty market until it is merged with the cells that it replaces, then drops it', () => {
    const existing = {
      run: runOfCells([
        {
          t: 5,
          price: 1,
          cells: [
            [0, 1, 200, 0],
            [1, 1, 300, 0],
          ],
        },
      ]),
      markets: [market(7), market(8)],
    };
    const later = {
      run: runOfCells([{ t: 5, price: 1, cells: [[0, -232, 0, 0]] }]),
      markets: [market(8)],
    };
    const carried = joinRuns([later, later], 'merge', true);
    expect(snapshotsOf(carried.run)[0].cells).toEqual([[0, -232, 0, 0]]);
    expect(isTombstone(carried.run, 0)).toBe(true);
    expect(countCells(carried.run)).toBe(0);
    const joined = joinRuns([existing, carried], 'merge');
    expect(snapshotsOf(joined.run)[0].cells).toEqual([[0, 1, 200, 0]]);
  });
});

it('splitRun cuts only when a segment is full, and loses nothing', () => {
  const counts = fc.array(fc.constantFrom(0, 1, 40, 3000, MAX_SEGMENT_CELLS, 20_000), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(counts, fc.integer({ min: 1, max: 400 }), (cellCounts, repeated) => {
      const all = [...cellCounts, ...new Array<number>(repeated).fill(2)];
      const run = runOfCells(
        all.map((count, i) => ({
          t: i + 1,
          price: 1,
          cells: Array.from({ length: count }, (_, c) => [c >> 8, c % 256, 100, 0]),
        })),
      );
      const pieces = splitRun(run);
      expectSame(pieces.flatMap(snapshotsOf), snapshotsOf(run));
      const cellsIn = pieces.map(({ bin }) => bin.length);
      pieces.forEach(({ t }, i) => {
        expect(t.length).toBeLessThanOrEqual(MAX_SEGMENT_SNAPSHOTS);
        if (t.length > 1) expect(cellsIn[i]).toBeLessThanOrEqual(MAX_SEGMENT_CELLS);
        if (i + 1 === pieces.length || t.length === MAX_SEGMENT_SNAPSHOTS) return;
        expect(cellsIn[i] + all[pieces[i + 1].t[0] - 1]).toBeGreaterThan(MAX_SEGMENT_CELLS);
      });
      const again = splitRun(decodeSegment(encodeSegment(run)));
      expect(again.map(({ t }) => [...t])).toEqual(pieces.map(({ t }) => [...t]));
    }),
    { numRuns: 8 },
  );
});

describe('rewriteSegments', () => {
  const segment = (snapshots: SnapshotOfCells[]) => describeSegment(runOfCells(snapshots)).block;
  const contents = (result: RewriteResult) => {
    if (result.status !== 'done') throw new Error(result.status);
    return result.segments.flatMap(({ block }) => snapshotsOf(decodeSegment(block)));
  };
  const one = (t: number, own: number[][], price = 1): SnapshotOfCells => ({
    t,
    price,
    cells: own,
  });
  const added = (snapshots: SnapshotOfCells[], marketMap: number[] | null = null) => ({
    block: segment(snapshots),
    fromRow: 0,
    toRow: snapshots.length,
    marketMap: marketMap === null ? null : Uint16Array.from(marketMap),
  });

  it('says so if the stored blocks already hold all of it, however they are cut', () => {
    const a = one(1, [[0, 0, 100, 0]]);
    const b = one(2, [[0, 0, 100, 5]]);
    const stored = [segment([a]), segment([b])];
    expect(rewriteSegments({ stored, added: added([a, b]), mode: 'replace' }).status).toBe(
      'unchanged',
    );
    expect(rewriteSegments({ stored, added: added([a]), mode: 'merge' }).status).toBe('unchanged');
    const other = rewriteSegments({
      stored,
      added: added([one(2, [[0, 0, 101, 5]])]),
      mode: 'replace',
    });
    expect(contents(other).map(({ cells: own }) => own)).toEqual([
      [[0, 0, 100, 0]],
      [[0, 0, 101, 5]],
    ]);
  });

  it('overlays only the requested rows, with the token’s market numbers', () => {
    const block = added(
      [
        one(1, [[0, 0, 1, 0]]),
        one(2, [
          [0, 3, 7, 0],
          [1, 0, 8, 0],
        ]),
        one(3, []),
      ],
      [5, 2],
    );
    const result = rewriteSegments({
      stored: [],
      added: { ...block, fromRow: 1, toRow: 2 },
      mode: 'replace',
    });
    expect(contents(result)).toEqual([
      {
        tier: 'raw',
        t: 2,
        price: 1,
        cells: [
          [2, 0, 8, 0],
          [5, 3, 7, 0],
        ],
      },
    ]);
  });

  it('names the snapshot whose price has changed meanwhile', () => {
    const result = rewriteSegments({
      stored: [segment([one(1, [], 1), one(2, [], 1)])],
      added: added([one(1, [], 1), one(2, [], 1.5)]),
      mode: 'merge',
    });
    expect(result).toEqual({ status: 'price-conflict', t: 2 });
  });

  it('names the snapshot that would become too large', () => {
    const wide = (first: number) =>
      Array.from({ length: 50_001 }, (_, i) => [first + (i >> 7), i % 128, 100, 0]);
    const stored = [segment([one(9, wide(0))])];
    expect(rewriteSegments({ stored, added: added([one(9, wide(1000))]), mode: 'merge' })).toEqual({
      status: 'too-large',
      t: 9,
      limit: '100000 cells',
    });
    expect(rewriteSegments({ stored, added: added([one(9, wide(0))]), mode: 'merge' }).status).toBe(
      'unchanged',
    );
    const rich = [segment([one(9, [[0, 0, 2 ** 53 - 1, 0]])])];
    expect(
      rewriteSegments({ stored: rich, added: added([one(9, [[1, 0, 0, 1]])]), mode: 'merge' }),
    ).toEqual({ status: 'too-large', t: 9, limit: `${2 ** 53 - 1} cents in all` });
  });
});

it('rewriteGroups takes in every stored segment it touches, no others, and not too many at once', () => {
  const spans = fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { maxLength: 120 });
  fc.assert(
    fc.property(
      spans,
      fc.integer({ min: 1, max: 4 }),
      fc.uniqueArray(fc.integer({ min: 0, max: 401 }), { minLength: 1, maxLength: 60 }),
      (storedTimes, perSegment, addedTimes) => {
        const list = storedTimes.map((t) => ({ tier: 'raw' as const, t }));
        const stored = directoryOfTimes(list, perSegment).raw;
        const times = Uint32Array.from(addedTimes.sort((a, b) => a - b));
        const groups = rewriteGroups(stored, times);
        expect(groups.flatMap(({ fromRow, toRow }) => [...times.slice(fromRow, toRow)])).toEqual([
          ...times,
        ]);
        const touched = stored.filter((ref) =>
          times.some((t) => t >= ref.times[0] && t <= ref.times[ref.times.length - 1]),
        );
        expect(groups.flatMap(({ from, to }) => stored.slice(from, to))).toEqual(touched);
        let place = 0;
        for (const { fromRow, toRow, from, to } of groups) {
          expect(to - from).toBeLessThanOrEqual(MAX_REWRITTEN);
          expect(from).toBeGreaterThanOrEqual(place);
          place = to;
          // The result of a group fits between its neighbours.
          const before = stored[from - 1]?.times.at(-1) ?? -1;
          const after = stored[to]?.times[0] ?? Infinity;
          expect(times[fromRow]).toBeGreaterThan(before);
          expect(times[toRow - 1]).toBeLessThan(after);
        }
      },
    ),
    { numRuns: 1000 },
  );
});
