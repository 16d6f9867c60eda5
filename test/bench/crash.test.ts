/** The short form of `npm run bench:crash`, and what it would say of a store that lost something. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { after, afterRetention, differences } from '../../bench/crash/contents.js';
import { depthRow, HOUR, Operations, TOKENS } from '../../bench/crash/operations.js';
import { readCrashOptions } from '../../bench/crash/options.js';
import { runKills } from '../../bench/crash/run.js';
import { durableLog, hurtTail } from '../../bench/crash/torn-log.js';
import { seededRandom } from '../../bench/compare/random.js';
import { BenchUsageError } from '../../bench/flags.js';

const folder = mkdtempSync(path.join(os.tmpdir(), 'fathom-crash-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('Kills at random moments', () => {
  it('lose nothing that was acknowledged, and leave nothing half done', async () => {
    const said: string[] = [];
    const outcome = await runKills({ kills: 5, seed: 3 }, (line) => said.push(line));
    expect([said.join('\n'), outcome.kills, outcome.lost, outcome.partial]).toEqual([
      expect.stringMatching(/\n?5 kills, \d+ files acknowledged, 0 lost, 0 partial$/),
      5,
      0,
      0,
    ]);
  });
});

describe('The reference', () => {
  it('tells a row that is missing, or of another file, from what was acknowledged', () => {
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

  it('knows what retention makes of raw depth, and how far it came', () => {
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
    // Minute 16 is where it was stopped.
    const some = new Map([...rows, [row(15, '15m'), 15] as const]);
    some.delete(row(1));
    some.delete(row(15));
    expect(differences(some, afterRetention(rows, hourS + 50 * 60, some))).toEqual([]);
    // With the last one of the hour goes what stands for it.
    expect(afterRetention(rows, hourS + 3600).get(row(60, '1h'))).toBe(50);
  });

  it('lets only bytes be hurt that no acknowledgement is for', () => {
    const log = path.join(folder, 'fathom.duckdb.wal');
    writeFileSync(log, Buffer.alloc(1000, 7));
    const durable = durableLog(folder);
    expect(hurtTail(folder, durable, seededRandom(1))).toBeNull();
    for (let seed = 0; seed < 8; seed++) {
      writeFileSync(log, Buffer.alloc(3000, 7));
      expect(hurtTail(folder, durable, seededRandom(seed))).not.toBeNull();
      const hurt = readFileSync(log);
      expect(hurt.equals(Buffer.alloc(3000, 7))).toBe(false);
      expect(hurt.subarray(0, 1000).equals(Buffer.alloc(1000, 7))).toBe(true);
    }
    // A log that was begun anew.
    writeFileSync(log, Buffer.alloc(3000, 8));
    expect(hurtTail(folder, durable, seededRandom(1))).toBeNull();
  });
});

describe('Its flags', () => {
  it('are a number of kills and a seed', () => {
    expect(readCrashOptions(['--kills', '7', '--seed', '9'])).toEqual({ kills: 7, seed: 9 });
    expect(readCrashOptions([]).kills).toBe(100);
    expect(() => readCrashOptions(['--kills', '0'])).toThrow(BenchUsageError);
  });
});
