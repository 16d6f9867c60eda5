/** Parsing DuckDB's log, with every kind of damage done to a real one. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../storage/duckdb/database.js';
import { readLog } from '../../storage/duckdb/log-frames.js';
import { temporaryDirectory } from '../support/folders.js';

/** A log of entries of many kinds: tables, rows, row groups, changes and deletions. */
let log: Buffer;
/** Where its commits end. */
const ends: number[] = [];
let headerBytes: number;
/** The last fields of a new database's header: 103, no checkpoint, the end. */
const HEADER_END = Buffer.from('670000ffff', 'hex');

beforeAll(async () => {
  const directory = temporaryDirectory();
  const file = path.join(directory, 'x.duckdb');
  const database = await Database.openFile(file, { memoryLimitMiB: 128, threads: 1 });
  for (const statement of [
    'CREATE TABLE a (id BIGINT, name VARCHAR, data BLOB)',
    'CREATE TABLE b (id VARCHAR PRIMARY KEY, n BIGINT)',
    "INSERT INTO a SELECT i, 'name ' || i, 'xy'::BLOB FROM range(7) r(i)",
    "INSERT INTO b VALUES ('one', 1), ('two', NULL)",
    "UPDATE b SET n = 3 WHERE id = 'two'",
    "INSERT INTO a SELECT i, 'name ' || i, NULL FROM range(150) r(i)",
    "INSERT INTO a SELECT i, 'x', NULL FROM range(2100) r(i)",
    'DELETE FROM a WHERE id % 2 = 0 AND id < 9',
    "INSERT INTO b VALUES ('three', 3)",
  ]) {
    await database.run(statement);
    ends.push(statSync(`${file}.wal`).size);
  }
  log = readFileSync(`${file}.wal`);
  headerBytes = log.indexOf(HEADER_END) + HEADER_END.length;
  await database.close();
});

/** The end of the last commit that is whole within so many bytes. */
const endWithin = (bytes: number) => Math.max(0, ...ends.filter((end) => end <= bytes));

function flipped(bit: number): Buffer {
  const faulty = Buffer.from(log);
  faulty[bit >> 3] ^= 1 << (bit & 7);
  return faulty;
}

/** Random bytes, the same in every run. */
function noise(bytes: number): Buffer {
  let state = bytes;
  return Buffer.from(
    Array.from({ length: bytes }, () => (state = (state * 48_271) % 2_147_483_647) >> 8),
  );
}

describe('In a log', () => {
  it('that was cut at any byte, all earlier commits are found', () => {
    expect(log.length).toBeGreaterThan(5000);
    for (let bytes = 0; bytes <= log.length; bytes++) {
      const isEnd = ends.includes(bytes);
      const state = isEnd ? 'whole' : bytes < headerBytes ? 'blank' : 'torn';
      expect(readLog(log.subarray(0, bytes))).toEqual({ state, wholeBytes: endWithin(bytes) });
    }
  });

  it('followed by zeros, all commits are found', () => {
    const found = { state: 'torn', wholeBytes: log.length };
    for (const zeros of [1, 21, 512, 4096, 65_536, 1 << 20]) {
      expect(readLog(Buffer.concat([log, Buffer.alloc(zeros)]))).toEqual(found);
    }
  });

  it('whose last bytes are zeros or noise, all earlier commits are found', () => {
    for (let bytes = 64; bytes <= 4096; bytes += 64) {
      const from = log.length - bytes;
      const found = { state: 'torn', wholeBytes: endWithin(from) };
      const before = log.subarray(0, from);
      expect(readLog(Buffer.concat([before, Buffer.alloc(bytes)]))).toEqual(found);
      // What happened to a mark with one wrong byte cannot be known.
      if (ends.some((end) => end > from && end <= from + 4)) continue;
      expect(readLog(Buffer.concat([before, noise(bytes)])), `${bytes} bytes`).toEqual(found);
    }
  });

  it('with one wrong bit, the damage is found wherever it is', () => {
    const bits = log.length * 8;
    // All bits of lengths, checksums and marks near each end, and some of all others.
    for (let bit = headerBytes * 8; bit < bits; bit++) {
      const isNear = ends.some((end) => Math.abs((bit >> 3) - end) <= 24);
      if (!isNear && bit % 13 !== 0) continue;
      const { state, wholeBytes } = readLog(flipped(bit));
      expect(state, `bit ${bit}`).toBe('damaged');
      expect(wholeBytes).toBe(endWithin(bit >> 3));
    }
    // The header has no checksum: DuckDB compares its numbers with the database.
    for (let bit = 0; bit < headerBytes * 8; bit++) {
      const { state, wholeBytes } = readLog(flipped(bit));
      expect([
        ['damaged', 0],
        ['whole', log.length],
      ]).toContainEqual([state, wholeBytes]);
    }
  });

  it('with a wrong length in any entry, the damage is found', () => {
    let entries = 0;
    for (let at = headerBytes; at < log.length; entries++) {
      for (let bit = 0; bit < 64; bit++) {
        expect(readLog(flipped(at * 8 + bit)).state).toBe('damaged');
      }
      at += 16 + Number(log.readBigUInt64LE(at));
    }
    expect(entries).toBeGreaterThan(2 * ends.length);
  });

  it('with zeros or noise in the middle, the damage is found', () => {
    for (let from = 0; from + 512 < log.length - 21; from += 512) {
      for (const wrong of [Buffer.alloc(512), noise(512)]) {
        const faulty = Buffer.concat([log.subarray(0, from), wrong, log.subarray(from + 512)]);
        expect(readLog(faulty)).toEqual({ state: 'damaged', wholeBytes: endWithin(from) });
      }
    }
  });

  it('that is empty, this is reported', () => {
    for (const bytes of [0, 1, 4096, 1 << 20]) {
      expect(readLog(Buffer.alloc(bytes))).toEqual({ state: 'blank', wholeBytes: 0 });
      expect(readLog(noise(bytes))).toEqual({ state: 'blank', wholeBytes: 0 });
    }
  });
});
