import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_WAITING_LEVELS } from '../../storage/import/binance-waiting.js';
import { replayPlainly, type PlainUpdate } from '../reference/order-book.js';
import { importAll, Scratch, TOKEN, type SnapshotRow } from './import-helpers.js';

const scratch = new Scratch();

const FLAGS = { ...TOKEN, every: '1s' };
const T0 = 1_700_000_000;
const best = (rows: SnapshotRow[]) =>
  rows.map((r) => [r.markets[0].book.bids[0][0], r.markets[0].book.asks[0][0]]);

interface Feed {
  updates: PlainUpdate[];
  lines: string[];
}

const SNAPSHOT = { lastId: 0, bids: [['99', '1']], asks: [['101', '1']] } as const;
const LEVEL = fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 3 }));
const CHANGE = fc.record({
  bids: fc.array(LEVEL, { maxLength: 4 }),
  asks: fc.array(LEVEL, { maxLength: 4 }),
  gapMs: fc.integer({ min: 0, max: 900 }),
  ids: fc.integer({ min: 1, max: 5 }),
});
type Change = typeof CHANGE extends fc.Arbitrary<infer C> ? C : never;

/** A stream of updates that each continue the previous one, as spot or futures express it. */
function feedOf(changes: Change[], futures: boolean, firstId = 1): Feed {
  let ms = T0 * 1000;
  let lastId = firstId - 1;
  const updates: PlainUpdate[] = [];
  const lines = changes.map((change) => {
    const previous = lastId;
    const hole = futures ? 2 : 0;
    const first = lastId + 1 + hole;
    lastId = first + change.ids - 1;
    ms += change.gapMs;
    // Bids never reach the asks; 99 and 101 stay.
    const bids = change.bids.map(([p, s]): [string, string] => [`${98 - p}`, `${s}`]);
    const asks = change.asks.map(([p, s]): [string, string] => [`${102 + p}`, `${s}`]);
    updates.push({ ms, firstId: first, lastId, bids, asks });
    const data = { e: 'depthUpdate', E: ms, s: 'X', U: first, u: lastId, b: bids, a: asks };
    return line(futures ? { ...data, pu: previous } : data);
  });
  return { updates, lines };
}

const line = (data: object) => `1700000000000000000 ${JSON.stringify({ stream: 'x@depth', data })}`;
const bare = (snapshot: object) => `1700000000000000000 ${JSON.stringify(snapshot)}`;
const rest = (lastUpdateId: number, more: object = {}) =>
  bare({ lastUpdateId, bids: SNAPSHOT.bids, asks: SNAPSHOT.asks, ...more });
const binance = (lines: string[]) => {
  const file = scratch.file('feed.stream', `${lines.join('\n')}\n`);
  return importAll('binance-stream', [file], FLAGS);
};

/** What the rows must hold by the full feed: the state after the last update at or before each one. */
function truthAt(updates: PlainUpdate[]) {
  const snapshot = { lastId: 0, bids: [['99', '1']], asks: [['101', '1']] } as never;
  const states = replayPlainly(snapshot, updates, () => true);
  return (t: number) => states.findLast((state) => state.ms <= t * 1000)?.book;
}

describe('Binance streams', () => {
  const changes = fc.array(CHANGE, { minLength: 3, maxLength: 25 });

  it('agree with a plain replay wherever the snapshot arrives', async () => {
    await fc.assert(
      fc.asyncProperty(changes, fc.boolean(), fc.nat(), async (list, futures, place) => {
        const { updates, lines } = feedOf(list, futures);
        const late = place % (lines.length + 1);
        const { rows, report } = await binance(lines.toSpliced(late, 0, rest(0)));
        const truth = truthAt(updates);
        for (const row of rows) {
          expect(isDeepStrictEqual(row.markets[0].book, truth(row.t))).toBe(true);
        }
        // Whole once the snapshot and the updates that waited for it are in: every moment up to the last update.
        const first = Math.ceil(updates[Math.max(late - 1, 0)].ms / 1000);
        const count = Math.floor(updates.at(-1)!.ms / 1000) - first + 1;
        expect(rows.length).toBe(Math.max(count, 0));
        expect([report.gaps.count, report.outOfOrder.count]).toEqual([0, 0]);
      }),
      { numRuns: 60 },
    );
  });

  it('write no state that lacks a lost update, and continue at the next snapshot', async () => {
    await fc.assert(
      fc.asyncProperty(changes, fc.boolean(), fc.nat(), async (list, futures, place) => {
        // No update has the time of the one that is lost.
        const apart = list.map((change) => ({ ...change, gapMs: change.gapMs + 1 }));
        const { updates, lines } = feedOf(apart, futures);
        const lost = 1 + (place % (lines.length - 2));
        const all = [rest(0), ...lines.toSpliced(lost, 1)];
        const { rows, report } = await binance(all);
        const truth = truthAt(updates);
        for (const row of rows) {
          expect(isDeepStrictEqual(row.markets[0].book, truth(row.t))).toBe(true);
          expect(row.t * 1000).toBeLessThanOrEqual(updates[lost - 1].ms);
        }
        expect(report.gaps.count).toBe(1);
        const again = await binance([...all, rest(updates.at(-1)!.lastId)]);
        expect(again.report.gaps.count).toBe(1);
        const lastMs = updates.at(-1)!.ms;
        if (lastMs % 1000 === 0) expect(again.rows.at(-1)!.t).toBe(lastMs / 1000);
      }),
      { numRuns: 60 },
    );
  });

  const steps = (n: number): Change[] =>
    Array.from({ length: n }, (_, i) => ({ bids: [[i % 9, 1]], asks: [], gapMs: 400, ids: 2 }));

  it.each([false, true])('keep the moment of the last update before a break', async (futures) => {
    const { updates, lines } = feedOf(
      steps(9).map((change) => ({ ...change, gapMs: 500 })),
      futures,
    );
    for (const [i, { ms }] of updates.entries()) {
      if (i === 0 || i === updates.length - 1 || ms % 1000 !== 0) continue;
      const { rows, report } = await binance([rest(0), ...lines.toSpliced(i + 1, 1)]);
      expect([rows.at(-1)!.t, report.gaps.count]).toEqual([
        ms / 1000,
        i < lines.length - 2 ? 1 : 0,
      ]);
    }
  });

  it('ignore repeated updates and snapshots older than the book', async () => {
    const { lines } = feedOf(steps(12), false);
    const clean = await binance([rest(0), ...lines]);
    const twice = await binance([rest(0), ...lines.flatMap((text) => [text, text]), rest(3)]);
    expect(twice.rows).toEqual(clean.rows);
    expect(twice.report.oldMessages).toBe(13);
  });

  it('start over at a newer snapshot, and say so', async () => {
    const { lines } = feedOf(steps(6), true);
    const newer = rest(24, { E: T0 * 1000 + 2600, bids: [['50', '1']], asks: [['51', '1']] });
    const after = feedOf(steps(9), true).lines.slice(6);
    const { rows, report } = await binance([rest(0), ...lines, newer, ...after]);
    expect(best(rows).at(-1)![1]).toBe(51);
    expect(report.gaps.first.map((gap) => gap.reason)).toEqual([
      'the feed starts over with a snapshot',
    ]);
  });

  it('wait if the snapshot is older than all updates at hand', async () => {
    const { lines } = feedOf(steps(8), false, 100);
    const { rows, report } = await binance([...lines.slice(0, 2), rest(50), ...lines.slice(2)]);
    expect(rows).toEqual([]);
    expect(report.gaps.first[0].reason).toBe('the snapshot at 50 is older than update 100');
    const later = await binance([...lines.slice(0, 4), rest(50), rest(103), ...lines.slice(4)]);
    expect(later.rows.length).toBe(2);
  });

  it('report a gap before any snapshot and use what follows it', async () => {
    const { lines, updates } = feedOf(steps(8), true);
    const { rows, report } = await binance([
      ...lines.slice(0, 2),
      ...lines.slice(3, 5),
      rest(updates[3].lastId),
      ...lines.slice(5),
    ]);
    expect(rows.length).toBeGreaterThan(0);
    expect(report.gaps.first[0].reason).toContain('before any snapshot');
  });

  it('drop the oldest updates if too many wait', async () => {
    const big = Array.from({ length: 10_000 }, (_, i): [number, number] => [i % 9, 1]);
    const wide = steps(60).map((step) => ({ ...step, bids: big }));
    const { lines, updates } = feedOf(wide, false);
    const fitting = Math.floor(MAX_WAITING_LEVELS / 10_001);
    const { rows, report } = await binance([...lines, rest(updates.at(-2)!.lastId)]);
    expect(report.oldMessages).toBe(59);
    expect(rows.length).toBeLessThanOrEqual(1);
    const early = await binance([...lines, rest(updates[59 - fitting - 1].lastId)]);
    expect(early.report.gaps.first[0].reason).toContain('is older than update');
  });

  const faulty: [string, string, string][] = [
    ['no JSON', '17 {"data":', 'the line: expected one whole JSON object'],
    ['no object', '17 17', "the line: expected '<local time> <JSON object>'"],
    ['text before it', 'x {"E":1}', "the line: expected '<local time> <JSON object>'"],
    ['seconds', line({ e: 'depthUpdate', E: T0, s: 'X', U: 1, u: 1, b: [], a: [] }), 'data.E: '],
    ['no time', line({ e: 'depthUpdate', s: 'X', U: 1, u: 1, b: [], a: [] }), 'data.E: '],
    ['no id', line({ e: 'depthUpdate', E: T0 * 1e3, s: 'X', u: 1, b: [], a: [] }), 'data.U: '],
    ['no side', line({ e: 'depthUpdate', E: T0 * 1e3, s: 'X', U: 2, u: 2, b: [] }), 'data.a: '],
    [
      'a bad level',
      line({ e: 'depthUpdate', E: T0 * 1e3, s: 'X', U: 2, u: 2, b: [['1', '-1']], a: [] }),
      'data.b[0]: expected [price above 0',
    ],
    [
      'another market',
      line({ e: 'depthUpdate', E: T0 * 1e3, s: 'X', U: 1, u: 1, pu: 0, b: [], a: [] }),
      'expected X of binance (one import is one market), found that of binance-futures',
    ],
  ];
  it.each(faulty)('with %s are refused with file and line', async (_, text, message) => {
    const first = feedOf(steps(1), false, 0).lines[0];
    await expect(binance([rest(0), first, text])).rejects.toThrow(`feed.stream:3: ${message}`);
  });
});
