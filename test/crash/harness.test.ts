/** Checks that `npm run test:crash` notices a store that lost something. */
import { describe, expect, it } from 'vitest';
import {
  after,
  afterRetention,
  depthRow,
  differences,
  type Operation,
  type Rows,
  snapshotName,
} from '../walk/model.js';
import { Operations } from '../walk/operations.js';
import { HOUR, TOKENS } from '../walk/times.js';
import { readCrashOptions } from './options.js';
import { type Act, explain } from './history.js';
import { seededRandom } from '../../bench/random.js';
import { BenchUsageError } from '../../bench/errors.js';
import { temporaryDirectory } from '../support/folders.js';

const folder = temporaryDirectory();

/** An ingest of a file whose rows have its number, with its begin and end. */
function act(number: number, names: string, begin: number, end: number): Act {
  const rows = new Map(names.split(',').map((name) => [name, `${number}`]));
  const brings = { rows, snapshots: new Map(), arrivals: [] };
  const file = { dataset: 'dca_orders', file: '', merge: false } as const;
  return { operation: { kind: 'ingest', number, ...file, brings }, begin, end };
}

const rowsOf = (rows: Record<string, number>): Rows =>
  new Map(Object.entries(rows).map(([name, number]) => [name, `${number}`]));

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
    const [early, late] = [10, 30].map((t) => depthRow(snapshotName(token, t), 'p'));
    const base = rowsOf({ [early]: 5, [late]: 5 });
    const operation = { kind: 'prune', number: 1, token, beforeS: 20, shrinks: false } as const;
    const prune = { operation, begin: 0, end: 2 };
    expect(explain(base, [prune], rowsOf({ [late]: 5 })).faults).toEqual([]);
    expect(explain(base, [prune], base).faults).toHaveLength(1);
    expect(explain(base, [{ ...prune, end: Infinity }], base).faults).toEqual([]);
    const again = rowsOf({ [early]: 2, [late]: 5 });
    expect(explain(base, [prune, act(2, early, 1, 4)], again).faults).toEqual([]);
  });
});

describe('The model', () => {
  it('replaces and merges the markets of a snapshot, and deletes them', () => {
    const s = snapshotName('T', 60);
    const file = (merge: boolean, ...rows: [string, string | null][]): Operation => {
      const brings = { rows: new Map(rows), snapshots: new Map([[s, 2]]), arrivals: [] };
      return { kind: 'ingest', number: 1, dataset: 'snapshots', file: '', merge, brings };
    };
    const [a, b, none] = [depthRow(s, 'a'), depthRow(s, 'b'), depthRow(s)];
    const both = new Map([a, b].map((name) => [name, '2: 1 5/0']));
    expect(after(both, file(false, [a, '2: 3 1/0']))).toEqual(new Map([[a, '2: 3 1/0']]));
    expect(after(both, file(true, [a, '2: 3 1/0'])).get(b)).toBe('2: 1 5/0');
    expect([...after(both, file(true, [a, null])).keys()]).toEqual([b]);
    expect(after(both, file(true, [a, null], [b, null]))).toEqual(new Map([[none, '2']]));
    expect(after(new Map([[none, '2']]), file(true, [a, '2: 3 1/0'])).has(none)).toBe(false);
    const deletion = { kind: 'delete', number: 1, token: 'T', fromS: 60, toS: 61 } as const;
    expect([...after(both, { ...deletion, market: 'a' }).keys()]).toEqual([b]);
    expect(after(new Map([[none, '2']]), { ...deletion, market: null }).size).toBe(0);
  });

  it('notices a row that is missing, or that comes from another file', () => {
    const operations = new Operations(folder, seededRandom(1), { shares: { ingest: 1 } });
    const rows = after(new Map(), operations.next({ rows: new Map(), keys: [] }));
    expect(rows.size).toBeGreaterThan(0);
    expect(differences(rows, new Map(rows))).toEqual([]);
    const [name, text] = [...rows][0];
    const lacking = new Map([...rows].slice(1));
    expect(differences(rows, lacking)).toEqual([
      `${name}: expected ${text.slice(0, 60)}, found none`,
    ]);
    expect(differences(rows, new Map([...rows, [name, '0']]))).toHaveLength(1);
  });

  it('knows what retention makes from raw depth, and its progress', () => {
    const [token] = TOKENS;
    const hourS = (HOUR - 3) * 3600;
    /** Each snapshot has two markets. */
    const at = (minute: number, text: string, tier?: '15m' | '1h') =>
      ['p', 'q'].map((market): [string, string] => {
        return [depthRow(snapshotName(token, hourS + 60 * minute, tier), market), text];
      });
    const raw = [1, 15, 20, 31, 50].flatMap((minute) => at(minute, `${minute}`));
    const rows = new Map([...raw, ...at(30, '7', '15m')]);
    const reached = (minute: number, found?: Rows) =>
      afterRetention(rows, TOKENS, hourS + minute * 60, found);
    const all = [
      ...at(50, '50'),
      ...at(30, '7', '15m'),
      ...at(15, '15', '15m'),
      ...at(45, '31', '15m'),
    ];
    expect(differences(new Map(all), reached(50))).toEqual([]);
    // It was stopped at minute 16.
    const some = new Map([...rows, ...at(15, '15', '15m')]);
    for (const [name] of [...at(1, ''), ...at(15, '')]) some.delete(name);
    expect(differences(some, reached(50, some))).toEqual([]);
    // When the last raw snapshot of the hour goes, an hourly one replaces it.
    expect(at(60, '', '1h').map(([name]) => reached(60).get(name))).toEqual(['50', '50']);
  });
});

it('Its flags are a number of kills, a seed and a time', () => {
  const words = ['--kills', '7', '--seed', '9', '--minutes', '3'];
  expect(readCrashOptions(words)).toEqual({ kills: 7, seed: 9, minutes: 3 });
  expect(readCrashOptions([]).kills).toBe(100);
  expect(() => readCrashOptions(['--kills', '0'])).toThrow(BenchUsageError);
});
