import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withReading, withStore } from '../../storage/access.js';
import { backupStore } from '../../storage/backup.js';
import { DATABASE_FILE, WAL_FILE } from '../../storage/data-directory.js';
import type { CheckCursor, StoreOperations } from '../../storage/operations.js';
import { Database } from '../../storage/duckdb/database.js';
import { DuckDBError } from '../../storage/duckdb/duckdb-error.js';
import { StoreBusyError, StoreUnavailableError } from '../../storage/errors.js';
import type { Store } from '../../storage/store.js';
import { fathomProcess } from '../support/cli.js';
import { FREE, HELD, LOCK_FILE, LockProbe } from '../support/lock-probe.js';
import {
  commitRows,
  DataDirectory,
  MINT,
  openStore,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const OPTIONS = { memoryLimitMiB: 128, threads: 1 };

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Runs the garbage collector and lets finalizers close their files. */
async function collected(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

let probe: LockProbe;
let directory: DataDirectory;
let store: Store | null;

beforeAll(() => (probe = new LockProbe()));
afterAll(() => probe.close());
beforeEach(() => {
  directory = new DataDirectory();
  store = null;
});
afterEach(() => store?.close());

const at = (name: string) => path.join(directory.path, name);

/** What another process finds of the store once all garbage is collected. */
async function seen(): Promise<string[]> {
  await collected();
  return probe.lookAtStore(directory.path);
}

/** A directory as left by a process that was killed after an acknowledged commit. */
async function killed(): Promise<void> {
  const origin = new DataDirectory();
  const opened = await openStore(origin.path);
  await commitRows(opened, [snapshot(1)]);
  cpSync(origin.path, directory.path, { recursive: true });
  await opened.close();
  expect(existsSync(at(WAL_FILE))).toBe(true);
}

async function times(opened: Store): Promise<number[]> {
  return (await storedSnapshots(opened, tokenOf(opened, MINT))).map(({ t }) => t);
}

describe('Another process finds a store held', () => {
  it('that is new, and free once it is closed', async () => {
    store = await openStore(directory.path);
    expect(await seen()).toEqual(HELD);
    await commitRows(store, [snapshot(1)]);
    expect(await seen()).toEqual(HELD);
    await store.close();
    expect(await seen()).toEqual(FREE);
  });

  it('that was closed before', async () => {
    await (await openStore(directory.path)).close();
    store = await openStore(directory.path);
    expect(await seen()).toEqual(HELD);
  });

  it('whose WAL was taken over', async () => {
    await killed();
    store = await openStore(directory.path);
    expect(await seen()).toEqual(HELD);
    expect(await times(store)).toEqual([1]);
  });

  it.each([
    ['torn', (wal: Buffer) => Buffer.concat([wal, Buffer.alloc(100, 7)])],
    ['blank', (wal: Buffer) => Buffer.alloc(wal.length)],
  ])('whose WAL is %s', async (_, damage) => {
    await killed();
    writeFileSync(at(WAL_FILE), damage(readFileSync(at(WAL_FILE))));
    store = await openStore(directory.path);
    expect(await seen()).toEqual(HELD);
    expect(await times(store)).toEqual([1]);
  });

  it('that was opened again after DuckDB failed', async () => {
    const database = await Database.openFile(at(DATABASE_FILE), OPTIONS).catch(async () => {
      mkdirSync(directory.path, { recursive: true });
      return Database.openFile(at(DATABASE_FILE), OPTIONS);
    });
    await database.run('CREATE TABLE things (id INTEGER)');
    const fatal = new DuckDBError(new Error('FATAL Error: made up'));
    const failing = database.transaction(() => Promise.reject(fatal));
    await expect(failing).rejects.toThrow('being reopened: made up');
    for (;;) {
      const isOpen = await database.rows('SELECT count(*) FROM things').then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(StoreUnavailableError);
          return false;
        },
      );
      if (isOpen) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await seen()).toEqual(HELD);
    await database.close();
  });

  it('during a backup, and after it, a check, a shrink and a retention step', async () => {
    store = await openStore(directory.path);
    const opened = store;
    await commitRows(opened, [snapshot(1), snapshot(2)]);
    const copy = new DataDirectory();
    const during: Promise<string>[] = [];
    const gone = new AbortController();
    await backupStore({
      directory: directory.path,
      out: copy.path,
      useStore: (body) =>
        body({
          archiveStatus: () => opened.archiveStatus(),
          holdFile: () => opened.holdFile(gone.signal),
        } as unknown as StoreOperations),
      onProgress: () => void during.push(probe.look(at(LOCK_FILE))),
    });
    gone.abort();
    expect(new Set(await Promise.all(during))).toEqual(new Set(['held']));
    expect(readdirSync(copy.path)).not.toContain(LOCK_FILE);
    expect((await seen())[0]).toBe('held');
    let cursor: CheckCursor | null = null;
    do cursor = (await opened.checkStep(cursor)).next;
    while (cursor !== null);
    expect((await seen())[0]).toBe('held');
    while (!(await opened.shrink()).isDone);
    expect((await seen())[0]).toBe('held');
    await opened.retire({ chain: 'mainchain', address: MINT }, { raw: 2, '15m': 0, '1h': 0 }, []);
    expect((await seen())[0]).toBe('held');
    expect(await times(opened)).toEqual([2]);
  });

  it('by a command that runs without a server, until it has ended', async () => {
    await withStore(
      directory.path,
      { rewrite: () => Promise.reject(new Error()) },
      async (held) => {
        expect(await seen()).toEqual(HELD);
        await held.createKey({ tier: 'premium' });
      },
    );
    expect(await seen()).toEqual(FREE);
  });
});

it('A store is closed by whoever opened it even if a result was not read to its end', async () => {
  mkdirSync(directory.path, { recursive: true });
  const database = await Database.openFile(at(DATABASE_FILE), OPTIONS);
  await database.run('CREATE TABLE many AS SELECT range AS id FROM range(1000000)');
  for await (const chunk of database.streamChunks('SELECT id FROM many')) {
    expect(chunk.rowCount).toBeGreaterThan(0);
    break;
  }
  expect(await database.rows('SELECT 1')).toEqual([[1]]);
  await database.close();
  const open = readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      return [];
    }
  });
  expect(open.filter((name) => name.startsWith(directory.path))).toEqual([]);
});

it('A store that is read keeps writers out, not readers', async () => {
  await (await openStore(directory.path)).close();
  await withReading(directory.path, async () => {
    expect(await probe.look(at(LOCK_FILE))).toBe('free');
    await expect(openStore(directory.path)).rejects.toBeInstanceOf(StoreBusyError);
    const check = await fathomProcess(['check', '--data', directory.path]);
    expect(check.status).toBe(0);
  });
  store = await openStore(directory.path);
});

describe('A process that no longer holds its store', () => {
  /** Makes POSIX drop the lock, as a forgotten descriptor would. */
  const dropLock = () => closeSync(openSync(at(LOCK_FILE), 'r'));

  it('keeps others out by the lock of its database', async () => {
    store = await openStore(directory.path);
    await commitRows(store, [snapshot(1)]);
    dropLock();
    expect((await seen())[1]).toBe('held');
    await commitRows(store, [snapshot(2)]);
    expect(await times(store)).toEqual([1, 2]);
  });

  it('stops writing and says so if the lock file was removed', async () => {
    const lost: string[] = [];
    store = await openStore(directory.path, { onLost: (error) => lost.push(String(error)) });
    rmSync(at(LOCK_FILE));
    await expect(commitRows(store, [snapshot(1)])).rejects.toThrow(
      'fathom.lock was removed or replaced',
    );
    expect(lost).toHaveLength(1);
  });
});
