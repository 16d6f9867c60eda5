/** Logs cut off during the write of a commit: DuckDB's own replay keeps part of some. */
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
import { holderFileOf, writeLogMark } from '../../storage/duckdb/holder-file.js';
import { MAX_TORN_COPIES } from '../../storage/duckdb/log-mending.js';
import { DamagedLogError } from '../../storage/errors.js';
import { fathom } from '../support/cli.js';
import {
  DataDirectory,
  freshDirectory,
  commitRows,
  openStore,
  snapshot,
} from '../support/stores.js';

const OPTIONS = { memoryLimitMiB: 128, threads: 1 };

const directory = freshDirectory();

const SECTOR_BYTES = 512;

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

  /** Rows of the commits before a byte of the log. */
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
    const zeros = 'which end in zeros; every commit before them is there; if the disk lost';
    /** A log whose last sector begins with these few zeros of an unfinished commit. */
    const zeroEnd = (zeros: number) => {
      const padding = SECTOR_BYTES - (ends[6] % SECTOR_BYTES);
      return Buffer.concat([
        log.subarray(0, ends[6]),
        Buffer.alloc(padding, 1),
        Buffer.alloc(zeros),
      ]);
    };
    const faults: [Buffer, 'torn' | 'damaged', number, string?][] = [
      [Buffer.concat([log, Buffer.alloc(1 << 20)]), 'torn', log.length, zeros],
      [Buffer.concat([log.subarray(0, tail), Buffer.alloc(600)]), 'torn', tail, zeros],
      [log.subarray(0, tail), 'torn', tail, 'of a commit that was not finished; every'],
      [zeroEnd(2), 'torn', ends[6], 'of a commit that was not finished; every'],
      [Buffer.concat([log.subarray(0, tail), log.subarray(100, 4000)]), 'damaged', tail],
      [withBit(middle * 8), 'damaged', middle],
      [withBit(middle * 8 + 40), 'damaged', middle],
      [withBit((log.length - 21) * 8 + 8), 'damaged', ends[6]],
      // The header's number of the database: only DuckDB sees that it is another one.
      [withBit(14 * 8), 'damaged', 0],
      [Buffer.alloc(4096), 'damaged', 0],
    ];
    for (const [bytes, kind, from, said = 'where it was damaged'] of faults) {
      const place = new DataDirectory();
      cpSync(directory.path, place.path, { recursive: true });
      writeFileSync(`${file(place.path)}.wal`, bytes);
      const notices: string[] = [];
      const onNotice = (text: string) => notices.push(text);
      const open = (acceptDamagedLog: boolean) =>
        Database.openFile(file(place.path), { ...OPTIONS, acceptDamagedLog, onNotice });
      if (kind === 'torn') {
        await expect(Database.openReadOnly(file(place.path), OPTIONS)).rejects.toThrow(
          `${file(place.path)}.wal ends with a commit that was not finished, or with zeros: `,
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
      expect(notices).toEqual([expect.stringContaining(`cut ${kept.length} bytes`)]);
      expect(notices[0]).toContain(copy);
      expect(notices[0]).toContain(said);
      await opened.close();
      place.remove();
    }
  });

  it('keeps a limited number of torn ends, and every damaged one', async () => {
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
  });

  it('is opened if a process killed before its first commit left an empty log', async () => {
    const place = new DataDirectory();
    cpSync(directory.path, place.path, { recursive: true });
    await writeLogMark(file(place.path), null);
    writeFileSync(`${file(place.path)}.wal`, '');
    await (await Database.openFile(file(place.path), OPTIONS)).close();
    expect(readdirSync(place.path)).toEqual(['x.duckdb', 'x.holder', 'x.lock']);
  });
});

describe('A database whose log is gone', () => {
  const at = (place: string, ending: string) => path.join(place, `x.duckdb${ending}`);
  const INSERT = 'INSERT INTO a VALUES (1)';

  it('is refused only if it had commits that no checkpoint wrote', async () => {
    mkdirSync(directory.path);
    const notices: string[] = [];
    const rows = async (place: string, acceptDamagedLog = false) => {
      const onNotice = (text: string) => notices.push(text);
      const options = { ...OPTIONS, acceptDamagedLog, onNotice };
      const opened = await Database.openFile(at(place, ''), options);
      const found = await opened.rows('SELECT id FROM a');
      await opened.close();
      expect(readdirSync(place)).toEqual(['x.duckdb', 'x.holder', 'x.lock']);
      return found.flat();
    };
    const database = await Database.openFile(at(directory.path, ''), OPTIONS);
    await database.run('CREATE TABLE a (id INTEGER)');
    await database.checkpoint();
    const commits = [
      () => database.transaction((tx) => tx.run(INSERT)),
      () => database.shortTransaction((tx) => tx.run(INSERT)),
    ];
    const stored: number[] = [];
    // Checkpoints write the file's two heads in turn: one is newer at the first commit, the other at the next.
    for (const commit of commits) {
      // Changes nothing and starts no log.
      await database.run('DELETE FROM a WHERE id = 2');
      expect(readdirSync(directory.path)).toEqual(['x.duckdb', 'x.holder', 'x.lock']);
      await commit();
      const before = new DataDirectory();
      cpSync(directory.path, before.path, { recursive: true });
      // The log as it is when the checkpoint removes it.
      linkSync(at(directory.path, '.wal'), at(before.path, '.last'));
      await database.checkpoint();
      // What a killed checkpoint leaves: it writes to the log, then the head, then removes the log.
      for (const [isWritten, log, isMarked] of [
        [false, '.wal', true],
        // Killed before the mark was written.
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
        if (isMarked) cpSync(holderFileOf(at(before.path, '')), holderFileOf(at(place.path, '')));
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
          expect(notices.splice(0)).toEqual([
            `${gone}: the commits there are lost, load their files again`,
          ]);
          expect(await rows(place.path)).toEqual(stored);
        }
        place.remove();
      }
      expect(notices).toEqual([]);
      before.remove();
      stored.push(1);
    }
    await database.close();
  });
});

describe('Commands on a store whose log was damaged', () => {
  it('refuse it where every file of the log is gone', async () => {
    const store = await openStore(directory.path);
    await commitRows(store, [snapshot(1)]);
    const place = new DataDirectory();
    cpSync(directory.path, place.path, { recursive: true });
    await store.close();
    const ofLog = readdirSync(place.path).filter((name) => name.startsWith('fathom.duckdb.wal'));
    expect(ofLog).not.toEqual([]);
    for (const name of ofLog) rmSync(path.join(place.path, name));
    const refused = await fathom(['queue', '--data', place.path]);
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toContain('fathom.duckdb.wal is missing, and there were commits in it');
  });

  it('refuse it and name --accept-damaged-log, which accepts it', async () => {
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
      /^.*fathom\.duckdb\.wal is blank, and there were commits in it: restore a backup, or .* --accept-damaged-log, .*\n$/,
    );
    const accepted = await fathom(['queue', '--data', place.path, '--accept-damaged-log']);
    expect(accepted.status).toBe(0);
    expect(accepted.stderr).toMatch(/^.*fathom\.duckdb\.wal: cut 0 bytes .*kept in .*\nno token/);
    expect((await fathom(['queue', '--data', place.path])).status).toBe(0);
  });
});
