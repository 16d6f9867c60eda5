/** Checks that `npm run test:crash` notices a store that lost something. */
import { describe, expect, it } from 'vitest';
import { after, afterRetention, differences } from './contents.js';
import { depthRow, HOUR, Operations, type Rows, TOKENS } from './operations.js';
import { readCrashOptions } from './options.js';
import { type Act, explain } from './history.js';
import { seededRandom } from '../../bench/random.js';
import { BenchUsageError } from '../../bench/errors.js';
import { temporaryDirectory } from '../support/folders.js';

const folder = temporaryDirectory();

/** An ingest of a file whose rows have its number, with its begin and end. */
function act(number: number, names: string, begin: number, end: number): Act {
  const brings = new Map(names.split(',').map((name) => [name, number]));
  return { operation: { kind: 'check', number, brings }, begin, end };
}

const rowsOf = (rows: Record<string, number>): Rows => new Map(Object.entries(rows));

describe('What rivals leave', () => {
  it('is what was acknowledged, in any order of concurrent operations', () => {
    const acts = [act(1, 'a,b', 0, 5), act(2, 'b,c', 3, 8)];
    for (const b of [1, 2]) {
      expect(explain(rowsOf({ d: 9 }), acts, rowsOf({ a: 1, b, c: 2, d: 9 })).faults).toEqual([]);
    }
    // Earlier rows that no operation touched remain.
    expect(explain(rowsOf({ d: 9 }), acts, rowsOf({ a: 1, b: 1, c: 2 })).faults).toHaveLength(1);
    const stranger = explain(new Map(), acts, rowsOf({ a: 1, b: 1, c: 2, e: 7 }));
    expect([stranger.faults.length, stranger.isPartial]).toEqual([1, false]);
  });

  it('does not come from a file that was acknowledged before another with the same rows began', () => {
    const acts = [act(1, 'a,b', 0, 2), act(2, 'b', 3, 8)];
    expect(explain(new Map(), acts, rowsOf({ a: 1, b: 2 })).faults).toEqual([]);
    expect(explain(new Map(), acts, rowsOf({ a: 1, b: 1 })).faults).toHaveLength(1);
  });

  it('holds all of an unacknowledged file, or nothing', () => {
    const acts = [act(1, 'a,b', 0, Infinity), act(2, 'b', 3, 8)];
    const whole = explain(new Map(), acts, rowsOf({ a: 1, b: 2 }));
    expect([whole.faults, whole.whole, whole.absent]).toEqual([[], 1, 0]);
    expect(explain(new Map(), acts, rowsOf({ b: 2 })).absent).toBe(1);
    const partial = explain(new Map(), [act(1, 'a,b', 0, Infinity)], rowsOf({ a: 1 }));
    expect([partial.faults.length, partial.isPartial]).toEqual([1, true]);
  });

  it('lacks no acknowledged file', () => {
    const lost = explain(new Map(), [act(1, 'a,b', 0, 1), act(2, 'c', 2, 3)], rowsOf({ c: 2 }));
    expect([lost.faults.length, lost.isPartial]).toEqual([2, false]);
  });

  it('is explained by one order for all rows', () => {
    const acts = [act(1, 'a,b', 0, 9), act(2, 'a,b', 0, 9)];
    expect(explain(new Map(), acts, rowsOf({ a: 1, b: 1 })).faults).toEqual([]);
    expect(explain(new Map(), acts, rowsOf({ a: 1, b: 2 })).faults).toEqual([
      'no order of the operations leaves these rows',
    ]);
  });

  it('lacks what was deleted, unless it came later', () => {
    const [token] = TOKENS;
    const [early, late] = [depthRow(token, 10), depthRow(token, 30)];
    const base = rowsOf({ [early]: 5, [late]: 5 });
    const operation = { kind: 'prune', number: 1, token, beforeS: 20, shrinks: false } as const;
    const prune = { operation: { ...operation, brings: new Map() }, begin: 0, end: 2 };
    expect(explain(base, [prune], rowsOf({ [late]: 5 })).faults).toEqual([]);
    expect(explain(base, [prune], base).faults).toHaveLength(1);
    expect(explain(base, [{ ...prune, end: Infinity }], base).faults).toEqual([]);
    const again = rowsOf({ [early]: 2, [late]: 5 });
    expect(explain(base, [prune, act(2, early, 1, 4)], again).faults).toEqual([]);
  });
});

describe('The reference', () => {
  it('notices a row that is missing, or that comes from another file', () => {
    const operations = new Operations(folder, seededRandom(1));
    const operation = operations.next(new Map(), []);
    const rows = after(new Map(), operation);
    expect(rows.size).toBeGreaterThan(0);
    expect(differences(rows, new Map(rows))).toEqual([]);
    const [name, number] = [...rows][0];
    const lacking = new Map([...rows].slice(1));
    expect(differences(rows, lacking)).toEqual([`${name}: expected ${number}, found none`]);
    expect(differences(rows, new Map([...rows, [name, number + 1]]))).toHaveLength(1);
  });

  it('knows what retention makes from raw depth, and its progress', () => {
    const [token] = TOKENS;
    const hourS = (HOUR - 3) * 3600;
    const row = (minute: number, tier?: '15m' | '1h') => depthRow(token, hourS + 60 * minute, tier);
    const raw = new Map([1, 15, 20, 31, 50].map((minute) => [row(minute), minute]));
    const rows = new Map([...raw, [row(30, '15m'), 7]]);
    const all = [
      [row(50), 50],
      [row(30, '15m'), 7],
      [row(15, '15m'), 15],
      [row(45, '15m'), 31],
    ] as const;
    expect(differences(new Map(all), afterRetention(rows, hourS + 50 * 60))).toEqual([]);
    // It was stopped at minute 16.
    const some = new Map([...rows, [row(15, '15m'), 15] as const]);
    some.delete(row(1));
    some.delete(row(15));
    expect(differences(some, afterRetention(rows, hourS + 50 * 60, some))).toEqual([]);
    // When the last raw snapshot of the hour goes, an hourly one replaces it.
    expect(afterRetention(rows, hourS + 3600).get(row(60, '1h'))).toBe(50);
  });
});

it('Its flags are a number of kills, a seed and a time', () => {
  const words = ['--kills', '7', '--seed', '9', '--minutes', '3'];
  expect(readCrashOptions(words)).toEqual({ kills: 7, seed: 9, minutes: 3 });
  expect(readCrashOptions([]).kills).toBe(100);
  expect(() => readCrashOptions(['--kills', '0'])).toThrow(BenchUsageError);
});
