/** Logs that were cut off while a commit was being written: DuckDB's own replay keeps part of some. */
import {
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../storage/duckdb/database.js';
import { MAX_TORN_COPIES } from '../../storage/duckdb/log-mending.js';
import { DamagedLogError } from '../../storage/errors.js';
import type { Store } from '../../storage/store.js';
import { fathom } from '../support/cli.js';
import { HOUR, commitFlat, dcaRow, flatContents } from '../support/flat.js';
import { commitHolders, storedHolders } from '../support/holders.js';
import {
  DataDirectory,
  MINT,
  commitRows,
  openStore,
  orca,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const OPTIONS = { memoryLimitMiB: 128, threads: 1 };
/** The mark that a commit is whole takes the last 21 bytes; further back stand rows and row groups. */
const CUTS = [1, 10, 20, 21, 22, 23, 60, 100, 400, 1000, 2000, 4096, 8192];

let directory: DataDirectory;
beforeEach(() => {
  directory = new DataDirectory();
});
afterEach(() => directory.remove());

/**
 * Copies the directory of an open database, with so many bytes less at the end of its log.
 * @returns whether the log is that long
 */
function copyCut(from: string, to: string, name: string, cutBytes: number): boolean {
  cpSync(from, to, { recursive: true });
  const log = path.join(to, `${name}.wal`);
  const { size } = statSync(log);
  if (cutBytes > size) return false;
  truncateSync(log, size - cutBytes);
  return true;
}

describe('A database whose log ends within a commit', () => {
  const file = (place: string) => path.join(place, 'x.duckdb');
  const contents = (database: Database) =>
    database.rows('SELECT count(*), sum(id), min(name) FROM a UNION ALL SELECT *, NULL FROM sums');

  async function opened(place: string): Promise<Database> {
    return Database.openFile(file(place), OPTIONS);
  }

  it('has all of the commits before it and nothing of that one, at whatever byte it ends', async () => {
    mkdirSync(directory.path);
    const made = await opened(directory.path);
    await made.run('CREATE TABLE a (id BIGINT, name VARCHAR)');
    await made.run("INSERT INTO a SELECT i, 'a' FROM range(3000) r(i)");
    await made.run('CREATE TABLE b (id BIGINT)');
    await made.run('CREATE VIEW sums AS SELECT count(*), sum(id) FROM b');
    await made.close();
    const database = await opened(directory.path);
    // More rows than a row group holds, so that DuckDB writes them out ahead of the commit.
    const add = (first: number) =>
      database.transaction(async (tx) => {
        await tx.run('DELETE FROM a WHERE id % 3 = 0');
        await tx.append(
          'a',
          Array.from({ length: 5000 }, (_, i) => [first + 3 * i, 'b']),
        );
        await tx.append(
          'b',
          Array.from({ length: 2100 }, (_, i) => [first + i]),
        );
      });
    const log = `${file(directory.path)}.wal`;
    const states = [await contents(database)];
    const ends = [0];
    for (const first of [10_000, 50_000]) {
      await add(first);
      states.push(await contents(database));
      ends.push(statSync(log).size);
    }
    const last = ends[2];
    const runs = process.env.FATHOM_RUNS;
    const spread = Number(runs ?? 10);
    const cuts = new Set([
      // FATHOM_RUNS=1000 for a long search: all bytes of the mark, and so many along the whole log.
      ...(runs === undefined
        ? [0, 1, 7, 14, 19, 20, 21, 22, 23]
        : Array.from({ length: 24 }, (_, i) => i)),
      ...Array.from({ length: spread }, (_, i) => Math.floor((i * (last - 1)) / (spread - 1))),
      ...Array.from({ length: 5 }, (_, i) => last - ends[1] - 2 + i),
    ]);
    for (const cutBytes of cuts) {
      const place = new DataDirectory();
      copyCut(directory.path, place.path, 'x.duckdb', cutBytes);
      const whole = ends.filter((end) => end <= last - cutBytes).length - 1;
      // Nothing says that there were commits before the first one is whole.
      if (whole === 0) rmSync(`${file(place.path)}.wal.begun`);
      const cut = await opened(place.path);
      expect(await contents(cut), `${cutBytes} bytes less`).toEqual(states[whole]);
      await cut.close();
      // Nor does it come back when the file is opened once more.
      if (cutBytes % 7 === 0) {
        const again = await opened(place.path);
        expect(await contents(again)).toEqual(states[whole]);
        expect(await again.rows('SELECT table_name FROM duckdb_tables() ORDER BY 1')).toEqual([
          ['a'],
          ['b'],
        ]);
        await again.close();
      }
      place.remove();
    }
    await database.close();
  });
});

describe('A database whose log was damaged', () => {
  const file = (place: string) => path.join(place, 'x.duckdb');
  const ids = async (database: Database) => (await database.rows('SELECT id FROM a')).flat();
  let database: Database;
  let log: Buffer;
  /** Where its commits end; commit i inserted row i. */
  const ends: number[] = [];

  beforeEach(async () => {
    mkdirSync(directory.path);
    await (await Database.openFile(file(directory.path), OPTIONS)).close();
    database = await Database.openFile(file(directory.path), OPTIONS);
    ends.length = 0;
    await database.run('CREATE TABLE a (id INTEGER, name VARCHAR)');
    for (let i = 0; i < 8; i++) {
      await database.run("INSERT INTO a SELECT ?, 'name ' || range FROM range(1)", [i]);
      ends.push(statSync(`${file(directory.path)}.wal`).size);
    }
    log = readFileSync(`${file(directory.path)}.wal`);
  });
  afterEach(() => database.close());

  /** Rows of the commits that lie before a byte of the log. */
  const before = (bytes: number) => ends.flatMap((end, i) => (end <= bytes ? [i] : []));
  const withBit = (bit: number) => {
    const faulty = Buffer.from(log);
    faulty[bit >> 3] ^= 1 << (bit & 7);
    return faulty;
  };
  const inCopies = (place: string, kind: string) =>
    readdirSync(place).filter((name) => name.startsWith(`x.duckdb.wal.${kind}-`));

  it('has every commit before the damage, and says what was cut, or is refused', async () => {
    const [tail, middle] = [ends[6] + 3, ends[3]];
    const faults: [Buffer, 'torn' | 'damaged', number][] = [
      [Buffer.concat([log, Buffer.alloc(1 << 20)]), 'torn', log.length],
      [Buffer.concat([log.subarray(0, tail), Buffer.alloc(64)]), 'torn', tail],
      [Buffer.concat([log.subarray(0, tail), log.subarray(100, 4000)]), 'damaged', tail],
      [withBit(middle * 8), 'damaged', middle],
      [withBit(middle * 8 + 40), 'damaged', middle],
      [withBit((log.length - 21) * 8 + 8), 'damaged', ends[6]],
      // The header's number of the database: DuckDB alone sees that it is another one.
      [withBit(14 * 8), 'damaged', 0],
      [Buffer.alloc(4096), 'damaged', 0],
    ];
    for (const [bytes, kind, from] of faults) {
      const place = new DataDirectory();
      cpSync(directory.path, place.path, { recursive: true });
      writeFileSync(`${file(place.path)}.wal`, bytes);
      const told: string[] = [];
      const onLogNotice = (text: string) => told.push(text);
      const open = (acceptDamagedLog: boolean) =>
        Database.openFile(file(place.path), { ...OPTIONS, acceptDamagedLog, onLogNotice });
      if (kind === 'torn') {
        await expect(Database.openReadOnly(file(place.path), OPTIONS)).rejects.toThrow(
          `${file(place.path)}.wal ends with a commit that was not finished: `,
        );
      } else {
        await expect(open(false)).rejects.toBeInstanceOf(DamagedLogError);
        // Nothing was changed.
        expect(readFileSync(`${file(place.path)}.wal`).equals(bytes)).toBe(true);
        expect(inCopies(place.path, kind)).toEqual([]);
      }
      const opened = await open(kind === 'damaged');
      const found = from === 0 ? [] : await ids(opened);
      expect(found).toEqual(before(from));
      const [copy] = inCopies(place.path, kind);
      const kept = readFileSync(path.join(place.path, copy));
      const cutFrom = Math.max(0, ...ends.filter((end) => end <= from));
      expect(kept.equals(bytes.subarray(cutFrom))).toBe(true);
      expect(told).toEqual([expect.stringContaining(`cut ${kept.length} bytes`)]);
      expect(told[0]).toContain(copy);
      await opened.close();
      place.remove();
    }
  });

  it('keeps so many copies of torn ends, and every copy of a damaged one', async () => {
    const place = new DataDirectory();
    cpSync(directory.path, place.path, { recursive: true });
    const wal = `${file(place.path)}.wal`;
    for (let i = 0; i < MAX_TORN_COPIES + 2; i++) {
      writeFileSync(`${wal}.torn-20200101T0000${10 + i}.000Z`, '');
      writeFileSync(`${wal}.damaged-20200101T0000${10 + i}.000Z`, '');
    }
    writeFileSync(wal, Buffer.concat([log, Buffer.alloc(99)]));
    await (await Database.openFile(file(place.path), OPTIONS)).close();
    expect(inCopies(place.path, 'damaged')).toHaveLength(MAX_TORN_COPIES + 2);
    const torn = inCopies(place.path, 'torn').sort();
    expect(torn).toHaveLength(MAX_TORN_COPIES);
    expect(statSync(path.join(place.path, torn[MAX_TORN_COPIES - 1])).size).toBe(99);
    place.remove();
  });

  it('is opened where an empty log is what a killed process left before its first commit', async () => {
    const place = new DataDirectory();
    cpSync(directory.path, place.path, { recursive: true });
    rmSync(`${file(place.path)}.wal.begun`);
    writeFileSync(`${file(place.path)}.wal`, '');
    await (await Database.openFile(file(place.path), OPTIONS)).close();
    expect(readdirSync(place.path)).toEqual(['x.duckdb', 'x.lock']);
    place.remove();
  });
});

describe('A database whose log is gone', () => {
  const at = (place: string, ending: string) => path.join(place, `x.duckdb${ending}`);
  const INSERT = 'INSERT INTO a VALUES (1)';

  it('is refused where it had commits that no checkpoint wrote, and only there', async () => {
    mkdirSync(directory.path);
    const told: string[] = [];
    const rows = async (place: string, acceptDamagedLog = false) => {
      const onLogNotice = (text: string) => told.push(text);
      const options = { ...OPTIONS, acceptDamagedLog, onLogNotice };
      const opened = await Database.openFile(at(place, ''), options);
      const found = await opened.rows('SELECT id FROM a');
      await opened.close();
      expect(readdirSync(place)).toEqual(['x.duckdb', 'x.lock']);
      return found.flat();
    };
    const database = await Database.openFile(at(directory.path, ''), OPTIONS);
    await database.run('CREATE TABLE a (id INTEGER)');
    await database.checkpoint();
    const commits = [
      () => database.transaction((tx) => tx.run(INSERT)),
      () => database.runAside(INSERT),
    ];
    const stored: number[] = [];
    // Checkpoints write the file's two heads in turn: one is the newer at the first commit, the other at the next.
    for (const commit of commits) {
      // Changes nothing, and begins no log.
      await database.run('DELETE FROM a WHERE id = 2');
      expect(readdirSync(directory.path)).toEqual(['x.duckdb', 'x.holder', 'x.lock']);
      await commit();
      const before = new DataDirectory();
      cpSync(directory.path, before.path, { recursive: true });
      // The log as it is when the checkpoint removes it.
      linkSync(at(directory.path, '.wal'), at(before.path, '.last'));
      await database.checkpoint();
      // What it leaves where it is killed: it writes to the log, then the head; then the log goes, then the mark.
      for (const [isWritten, log, isMarked] of [
        [false, '.wal', true],
        // Killed before the mark was made.
        [false, '.wal', false],
        [false, '.last', true],
        [false, '.last', false],
        [true, '.last', true],
        [true, '.last', false],
        [true, null, true],
        [true, null, false],
        [false, null, true],
      ] as const) {
        const place = new DataDirectory();
        mkdirSync(place.path);
        cpSync(at((isWritten ? directory : before).path, ''), at(place.path, ''));
        if (log !== null) cpSync(at(before.path, log), at(place.path, '.wal'));
        if (isMarked) cpSync(at(before.path, '.wal.begun'), at(place.path, '.wal.begun'));
        if (isWritten || log !== null) {
          const found = await rows(place.path);
          expect(found, `${isWritten} ${log} ${isMarked}`).toEqual([...stored, 1]);
        } else {
          const gone = `${at(place.path, '.wal')} is missing`;
          for (const open of ['openFile', 'openFile', 'openReadOnly'] as const) {
            await expect(Database[open](at(place.path, ''), OPTIONS)).rejects.toThrow(
              new DamagedLogError(`${gone}, and there were commits in it`),
            );
          }
          expect(await rows(place.path, true)).toEqual(stored);
          expect(told.splice(0)).toEqual([
            `${gone}: the commits there are lost, load their files again`,
          ]);
          expect(await rows(place.path)).toEqual(stored);
        }
        place.remove();
      }
      expect(told).toEqual([]);
      before.remove();
      stored.push(1);
    }
    await database.close();
  });
});

describe('Commands on a store whose log was damaged', () => {
  it('refuse it with the way out, which they go with --accept-damaged-log', async () => {
    const store = await openStore(directory.path);
    await commitRows(store, [snapshot(1)]);
    const place = new DataDirectory();
    cpSync(directory.path, place.path, { recursive: true });
    await store.close();
    const log = path.join(place.path, 'fathom.duckdb.wal');
    truncateSync(log, 0);
    const refused = await fathom(['queue', '--data', place.path]);
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^.*fathom\.duckdb\.wal is blank, and there were commits in it: restore a backup, or .* --accept-damaged-log .*\n$/,
    );
    const accepted = await fathom(['queue', '--data', place.path, '--accept-damaged-log']);
    expect(accepted.status).toBe(0);
    expect(accepted.stderr).toMatch(/^.*fathom\.duckdb\.wal: cut 0 bytes .*kept in .*\nno token/);
    expect((await fathom(['queue', '--data', place.path])).status).toBe(0);
    place.remove();
  });
});

describe('A store whose log ends within a commit', () => {
  /** A log longer than this has rows in it, which would rather stand in row groups of the file. */
  const MAX_LOG_BYTES = 64 * 1024;

  /**
   * Every cut leaves what was there before the commit, which then goes through; the whole log leaves
   * what the commit made.
   */
  async function expectAllOrNothing(
    before: (store: Store) => Promise<unknown>,
    commit: (store: Store) => Promise<unknown>,
    contents: (store: Store) => Promise<unknown>,
  ): Promise<void> {
    const first = await openStore(directory.path);
    await before(first);
    await first.close();
    const store = await openStore(directory.path);
    const old = await contents(store);
    await commit(store);
    expect(statSync(path.join(directory.path, 'fathom.duckdb.wal')).size).toBeLessThan(
      MAX_LOG_BYTES,
    );
    const committed = await contents(store);
    expect(committed).not.toEqual(old);
    for (const cutBytes of [0, ...CUTS]) {
      const place = new DataDirectory();
      if (copyCut(directory.path, place.path, 'fathom.duckdb', cutBytes)) {
        // What the mark says that the log has, is whole.
        if (cutBytes > 0) rmSync(path.join(place.path, 'fathom.duckdb.wal.begun'));
        const cut = await openStore(place.path);
        expect(await contents(cut), `${cutBytes} bytes less`).toEqual(
          cutBytes === 0 ? committed : old,
        );
        if (cutBytes === 1) {
          await commit(cut);
          expect(await contents(cut)).toEqual(committed);
        }
        await cut.close();
      }
      place.remove();
    }
    await store.close();
  }

  it('holds all orders of it or none', async () => {
    const orders = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => dcaRow({ dca_address: `dca-${from + i}` }));
    await expectAllOrNothing(
      (store) => commitFlat(store, 'dca_orders', orders(0, 3000)),
      (store) =>
        commitFlat(
          store,
          'dca_orders',
          orders(1000, 6000).map((row, i) => ({ ...row, cycle_usd: 20 + i, closed: i % 7 === 0 })),
        ),
      async (store) => (await flatContents(store)).dca,
    );
  });

  it('holds all holders of it or none', async () => {
    const held = (balance: number): [number, Map<string, number>] => [
      HOUR + balance * 3600,
      new Map([
        ['one', balance],
        ['two', 1],
      ]),
    ];
    const mints = [MINT, ...Array.from({ length: 60 }, (_, i) => `mint-${i}`)];
    await expectAllOrNothing(
      (store) => commitHolders(store, [[MINT, new Map([held(1)])]]),
      (store) =>
        commitHolders(
          store,
          mints.map((mint) => [mint, new Map([held(2), held(3)])]),
        ),
      async (store) =>
        Promise.all(
          [MINT, mints[1], mints[60]].map(async (mint) =>
            [...(await storedHolders(store.holders, mint))].map(([t, owners]) => [t, ...owners]),
          ),
        ),
    );
  });

  it('holds all depth of it or none', async () => {
    /** Amounts that LZ4 finds nothing to save in, so that their blocks fill more than a row group. */
    const noise = (seed: number) => {
      let state = seed + 1;
      return Array.from({ length: 1000 }, (_, i) => {
        state = (state * 48_271) % 2_147_483_647;
        return [i - 500, 1 + state / 100, (state % 1_000_003) / 100] as [number, number, number];
      });
    };
    const minutes = (count: number, seed: number) =>
      Array.from({ length: count }, (_, i) => snapshot(60_000 + 60 * i, [orca(noise(seed + i))]));
    await expectAllOrNothing(
      (store) => commitRows(store, minutes(20, 1)),
      (store) => commitRows(store, minutes(1300, 9)),
      async (store) => {
        const all = await storedSnapshots(store, tokenOf(store));
        return JSON.stringify(all).length;
      },
    );
  });
});
