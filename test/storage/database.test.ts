import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Connection } from '../../storage/duckdb/connection.js';
import { DuckDBError } from '../../storage/duckdb/duckdb-error.js';
import { Database, MAX_REOPENINGS } from '../../storage/duckdb/database.js';
import { MAX_WAITING, Mutex } from '../../storage/lender.js';
import {
  DamagedDataError,
  DiskFullError,
  isDiskFull,
  StoreUnavailableError,
} from '../../storage/errors.js';
import { run } from '../support/processes.js';
import { becomes, countingTurns, eventually } from '../support/waiting.js';
import { temporaryDirectory } from '../support/folders.js';

/** The pauses requested; they take no time. */
const pauses = vi.hoisted(() => [] as (number | undefined)[]);
vi.mock('node:timers/promises', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  setTimeout: (ms: number | undefined) => Promise.resolve(pauses.push(ms)),
}));

/** The system call that fails, if any. */
const failing = vi.hoisted(() => ({ call: '' }));

/** Free blocks of 4 KiB that the disk reports; null: the real number. */
const free = vi.hoisted(() => ({ blocks: null as number | null }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<
    Record<'rename' | 'truncate', unknown> & { statfs: (name: string) => Promise<object> }
  >();
  const statfs = async (name: string): Promise<object> =>
    free.blocks === null ? real.statfs(name) : { bavail: free.blocks, bsize: 4096 };
  const orFails = (call: 'rename' | 'truncate') => (from: string, to: never) =>
    failing.call === call
      ? Promise.reject(new Error(`${call} failed`))
      : (real[call] as (a: string, b: never) => Promise<void>)(from, to);
  return { ...real, statfs, rename: orFails('rename'), truncate: orFails('truncate') };
});

const options = { memoryLimitMiB: 128, threads: 1 };
let directory: string;
let file: string;

beforeEach(() => {
  directory = temporaryDirectory();
  file = path.join(directory, "it's.duckdb");
});
afterEach(() => {
  free.blocks = null;
  failing.call = '';
});

describe('Database', () => {
  it('stores nothing if its file was removed or replaced, and continues once it is put back', async () => {
    const database = await Database.openFile(file, options);
    await database.run('CREATE TABLE things (id BIGINT)');
    await database.checkpoint();
    const add = (id: number) => database.run('INSERT INTO things VALUES (?)', [id]);
    const aside = `${file}.aside`;
    renameSync(file, aside);
    await expect(add(1)).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(() => database.checkFile()).toThrow('was removed or replaced');
    writeFileSync(file, 'another');
    await expect(database.transaction((tx) => tx.run('DELETE FROM things'))).rejects.toThrow(
      'nothing can be stored until it is put back',
    );
    expect(await database.rows('SELECT * FROM things')).toEqual([]);
    renameSync(aside, file);
    await add(2);
    expect(await database.rows('SELECT id FROM things')).toEqual([[2]]);
    await database.close();
  });

  it('does not retry a checkpoint that met a damaged block, and says so once its WAL is full', async () => {
    const database = await Database.openFile(file, options);
    const cause = new DuckDBError(
      new Error(
        'IO Error: Checkpoint failed for database "store". The database has been invalidated. Original error: Corrupt database file: computed checksum 1',
      ),
    );
    const checkpoint = vi
      .spyOn(database, 'checkpoint')
      .mockRejectedValue(new StoreUnavailableError(cause.reason, { cause }));
    const log = `${file}.wal`;
    writeFileSync(log, '');
    truncateSync(log, 20 * 2 ** 20);
    await expect(database.wal.shorten()).rejects.toThrow('Corrupt database file');
    await database.wal.shorten();
    expect(checkpoint).toHaveBeenCalledTimes(1);
    truncateSync(log, 200 * 2 ** 20);
    const full = database.wal.shorten();
    await expect(full).rejects.toBeInstanceOf(DamagedDataError);
    await expect(full).rejects.toThrow(
      /is full and cannot be written into .*, which has a damaged block: restore a backup$/,
    );
    rmSync(log);
    await database.close();
  });

  it('shortens a log that takes much of a small memory', async () => {
    const walBytes = async (memoryLimitMiB: number) => {
      const database = await Database.openFile(file, { ...options, memoryLimitMiB });
      const text = `repeat('x', ${6 * 2 ** 20})`;
      await database.run(`CREATE OR REPLACE TABLE things AS SELECT ${text} AS text`);
      await database.wal.shorten();
      const bytes = await database.wal.room.walBytes();
      await database.close();
      return bytes;
    };
    expect(await walBytes(128)).toBe(0);
    expect(await walBytes(384)).toBeGreaterThan(6 * 2 ** 20);
  });

  it('is unavailable for a statement that needs too much memory, and continues', async () => {
    const database = await Database.openFile(file, options);
    const large = database.rows('SELECT list(range) FROM range(50_000_000)');
    await expect(large).rejects.toThrow(/^the database is out of memory: /);
    await expect(large).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await database.rows('SELECT 1')).toEqual([[1]]);
    await database.close();
  });

  it('tries no checkpoint for a backup without room on the disk, and keeps serving', async () => {
    const onFault = vi.fn();
    const database = await Database.openFile(file, { ...options, onFault });
    await database.run('CREATE TABLE things (id BIGINT)');
    await database.checkpoint();
    const checkpoint = vi.spyOn(database, 'checkpoint');
    free.blocks = 100;
    // There would be nothing to write.
    await database.wal.writeIfRoom();
    await database.run('INSERT INTO things VALUES (1)');
    await expect(database.wal.writeIfRoom()).rejects.toBeInstanceOf(DiskFullError);
    expect(checkpoint).toHaveBeenCalledTimes(1);
    free.blocks = null;
    await database.wal.writeIfRoom();
    expect(checkpoint).toHaveBeenCalledTimes(2);
    expect(onFault).not.toHaveBeenCalled();
    await database.close();
  });

  it('names a new file only when it is whole, and removes the remains of killed processes', async () => {
    const name = path.basename(file);
    writeFileSync(`${file}.new-${randomUUID()}`, new Uint8Array(4096));
    const events: string[] = [];
    const watcher = watch(directory, (kind, named) => void events.push(`${kind} ${named}`));
    const database = await Database.openFile(file, options);
    await database.run('CREATE TABLE things (id BIGINT)');
    // The system reports a directory's events in order.
    await eventually('the last event is reported', () => events.includes(`rename ${name}.wal`));
    watcher.close();
    expect(events).toContain(`rename ${name}`);
    expect(events).not.toContain(`change ${name}`);
    expect(readdirSync(directory).filter((found) => found.startsWith(name))).toEqual([
      name,
      `${name}.wal`,
    ]);
    await database.close();
  });

  it('lets other work use the event loop while it appends', async () => {
    const database = await Database.openFile(file, options);
    await database.run(
      'CREATE TABLE things (id UINTEGER, name VARCHAR, data BLOB, is_new BOOLEAN)',
    );
    const values = Array.from({ length: 20_000 }, (_, i) => [
      i,
      i % 3 === 0 ? null : `thing ${i}`,
      new Uint8Array([i % 256, i >> 8]),
      i % 2 === 0,
    ]);
    /** The turns of the event loop in which rows were read. */
    const readIn = new Set<number>();
    await countingTurns((turn) => {
      const read = (id: number): number => {
        readIn.add(turn());
        return id;
      };
      const rows = values.map((row, id) =>
        Object.defineProperty([...row], 0, { get: () => read(id) }),
      );
      return database.transaction((tx) => tx.append('things', rows));
    });
    // On a busy machine DuckDB may ask for more before the turn ends, so their number is luck.
    expect(readIn.size).toBeGreaterThan(1);
    expect(await database.rows('SELECT * FROM things ORDER BY rowid')).toEqual(values);
    await database.close();
  });

  it('keeps nothing of rows that failed to append, not even once they are collected', async () => {
    const script = path.resolve('test/support/failed-append.mjs');
    const { stdout, stderr } = await run(process.execPath, ['--expose-gc', script, file]);
    expect([stdout, stderr]).toEqual(['failed\nrows: 0\n', '']);
  });

  it('is opened without a WAL that is no file, which is kept', async () => {
    await (await Database.openFile(file, options)).close();
    mkdirSync(`${file}.wal`);
    const database = await Database.openFile(file, options);
    expect(database.rejectedWal).toContain('wal');
    await database.close();
    expect(statSync(`${file}.wal.rejected`).isDirectory()).toBe(true);
  });

  it('serves more callers than it has connections, one statement each at a time', async () => {
    const database = await Database.openFile(file, options);
    const sums = await Promise.all(
      Array.from({ length: 40 }, (_, i) => database.rows('SELECT sum(range) FROM range(?)', [i])),
    );
    expect(sums.map((rows) => rows[0][0])).toEqual(
      Array.from({ length: 40 }, (_, i) => (i === 0 ? null : (i * (i - 1)) / 2)),
    );
    await database.close();
    await expect(database.rows('SELECT 1')).rejects.toThrow('closed');
  });

  it('cannot read files or change its settings once it is open', async () => {
    const database = await Database.openFile(file, options);
    await expect(database.rows("SELECT * FROM read_csv('/etc/hostname')")).rejects.toThrow();
    await expect(database.run('SET enable_external_access = true')).rejects.toThrow();
    await database.close();
  });
});

describe('A database that fails', () => {
  const fatal = new DuckDBError(new Error('FATAL Error: fsync failed'));
  let faults: unknown[];
  let lost: unknown[];
  let database: Database;

  beforeEach(async () => {
    pauses.length = 0;
    faults = [];
    lost = [];
    database = await Database.openFile(file, {
      ...options,
      onFault: (error) => faults.push(error),
      onLost: (error) => lost.push(error),
    });
    await database.run('CREATE TABLE meta (key VARCHAR, value VARCHAR)');
    await database.run('CREATE TABLE things (id INTEGER)');
    await database.countCommits(new Map());
    await add(1);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await database.close();
  });

  const add = (id: number) =>
    database.transaction((tx) => tx.run('INSERT INTO things VALUES (?)', [id]));
  const ids = async () => (await database.rows('SELECT id FROM things ORDER BY id')).flat();

  /** Makes one COMMIT fail, before or after it takes effect. */
  function failCommit(place: 'before' | 'behind'): void {
    const run = Reflect.get<Connection, 'run'>(Connection.prototype, 'run');
    const spy = vi.spyOn(Connection.prototype, 'run');
    spy.mockImplementation(async function (this: Connection, sql, values) {
      if (sql === 'COMMIT') spy.mockRestore();
      if (sql !== 'COMMIT' || place === 'behind') await run.call(this, sql, values);
      if (sql === 'COMMIT') throw fatal;
    });
  }

  async function untilReopened(): Promise<unknown[]> {
    let found: unknown[] = [];
    await eventually('the database is open again', async () => {
      try {
        found = await ids();
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnavailableError);
        return false;
      }
    });
    return found;
  }

  it('says why, refuses requests meanwhile, and is reopened with every commit', async () => {
    failCommit('before');
    const failed = add(2);
    await expect(failed).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(failed).rejects.toThrow(/being reopened: fsync failed$/);
    await expect(ids()).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(add(3)).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await untilReopened()).toEqual([1]);
    await add(4);
    expect(await ids()).toEqual([1, 4]);
    expect([faults, lost]).toEqual([[fatal], []]);
  });

  it('is lost to its process if the log has the failed commit', async () => {
    failCommit('behind');
    await expect(add(2)).rejects.toBeInstanceOf(StoreUnavailableError);
    await eventually('it is lost', () => lost.length === 1);
    expect(String(lost[0])).toContain(
      'holds commit 2, but the last one that succeeded in this process is 1',
    );
    await expect(ids()).rejects.toBeInstanceOf(StoreUnavailableError);
    await database.close();
    database = await Database.openFile(file, options);
    expect(await ids()).toEqual([1, 2]);
  });

  it('is lost after several tries with growing pauses, with the last one’s cause', async () => {
    failCommit('before');
    const failed = add(2);
    // The same file, no longer a database.
    writeFileSync(file, 'no database'.repeat(2000));
    await expect(failed).rejects.toBeInstanceOf(StoreUnavailableError);
    await eventually('it is lost', () => lost.length === 1);
    expect(String(lost[0])).toContain('not a valid DuckDB database file');
    expect(faults).toEqual([fatal]);
    expect(pauses).toEqual(Array.from({ length: MAX_REOPENINGS - 1 }, (_, i) => 250 * 2 ** i));
  });

  it('is lost if it fails as often without a write in between', async () => {
    for (let i = 0; i < MAX_REOPENINGS; i++) {
      failCommit('before');
      await expect(add(2)).rejects.toBeInstanceOf(StoreUnavailableError);
      expect(await untilReopened()).toEqual([1]);
    }
    failCommit('before');
    await expect(add(2)).rejects.toBeInstanceOf(StoreUnavailableError);
    await becomes(() => [faults, lost], [[fatal], [fatal]]);
  });
});

it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('%s of the system means a full disk', (code) => {
  expect(isDiskFull(Object.assign(new Error(code), { code }))).toBe(true);
  expect(isDiskFull(Object.assign(new Error(code), { code: 'EIO' }))).toBe(false);
});

it('a mutex refuses callers if too many already wait', async () => {
  const mutex = new Mutex();
  const held = await mutex.lend();
  const waiting = Array.from({ length: MAX_WAITING }, () => mutex.use(() => Promise.resolve(1)));
  await expect(mutex.lend()).rejects.toBeInstanceOf(StoreUnavailableError);
  held.giveBack();
  expect(await Promise.all(waiting)).toHaveLength(MAX_WAITING);
});
