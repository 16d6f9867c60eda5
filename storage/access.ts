/** How a command reaches a store: through the server that has it open, or by opening it itself. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, rmdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ComputePool } from '../compute/pool.js';
import { STAGING } from './bundle.js';
import { connectToServer, SOCKET_FILE } from './control.js';
import { DATABASE_FILE, holdsStore, refuseRemains } from './data-directory.js';
import type { Database } from './duckdb/database.js';
import { InputError, StoreBusyError, StoreUnavailableError } from './errors.js';
import { hasMissed } from './log/file-log.js';
import { markOf } from './log/mark.js';
import { readMeta } from './meta.js';
import type { StoreOperations } from './operations.js';
import type { StoreOptions } from './opening.js';
import type { Store } from './store.js';

/** Has a store rewrite segments and holder blocks in the pool. */
export function workIn(pool: Pick<ComputePool, 'run'>): StoreOptions {
  return {
    rewrite: (input) => pool.run('rewriteSegments', input),
    rewriteHolders: (input) => pool.run('rewriteHolderBlocks', input),
    sampleSegments: (segments) =>
      pool.run(
        'sampleSegments',
        segments,
        segments.map(({ block }) => block.buffer as ArrayBuffer),
      ),
    outlineBlock: (block) => pool.run('outlineOfBlock', block),
  };
}

/** How long a command waits for another to close the store. */
export const LOCK_WAIT_MS = 30_000;
const RETRY_EVERY_MS = 100;
/** DuckDB's limits when a database is opened only for reading. */
const READING = { memoryLimitMiB: 1024, threads: 2 };

/**
 * Runs `body` with the directory's store: through the socket of a server that has it open, otherwise by opening it.
 * While another command has the store open, it waits up to `waitMs`. It removes a new store in which `body` stores
 * nothing.
 * @param stop ends the wait or `body` by throwing its reason; the store is closed as usual
 * @throws StoreBusyError if another command still has the store open after `waitMs`
 */
export async function withStore<T>(
  directory: string,
  options: StoreOptions,
  body: (store: StoreOperations) => Promise<T>,
  waitMs: number = LOCK_WAIT_MS,
  stop?: AbortSignal,
): Promise<T> {
  const { store, end } = await untilOpen(
    directory,
    () => storeOfCommand(directory, options),
    waitMs,
    `${directory} is in use by another Fathom process that takes no commands; tried for ${waitMs / 1000} s`,
    stop,
  );
  return untilStopped(() => body(store), stop).finally(end);
}

/** Runs `body`; `stop` ends the wait for it by throwing its reason. */
async function untilStopped<T>(body: () => Promise<T>, stop?: AbortSignal): Promise<T> {
  stop?.throwIfAborted();
  let abort = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    abort = () => reject(stop?.reason as Error);
  });
  stop?.addEventListener('abort', abort, { once: true });
  // A command that follows a store opens it again and again under one signal.
  return Promise.race([body(), stopped]).finally(() => stop?.removeEventListener('abort', abort));
}

/** Opens the directory's store. Returns it with the function that closes it; null while another command has it open. */
async function storeOfCommand(
  directory: string,
  options: StoreOptions,
): Promise<{ store: StoreOperations; end: () => unknown } | null> {
  const remote = await connectToServer(directory);
  if (remote !== null) return { store: remote, end: () => remote.close() };
  const store = await openUnlessBusy(directory, options);
  return store && { store, end: () => store.leave() };
}

/** A store to read from: a server's, or the database itself. */
type Reading = { server: StoreOperations } | { database: Database };

/**
 * Runs `body` with the store of a server that has it open, otherwise with the directory's database, opened only for
 * reading. Waits for another command, as withStore() does.
 */
export async function withReading<T>(
  directory: string,
  body: (reading: Reading) => Promise<T>,
): Promise<T> {
  const { reading, end } = await untilOpen(
    directory,
    async () => {
      const remote = await connectToServer(directory);
      if (remote !== null)
        return { reading: { server: remote }, end: () => Promise.resolve(remote.close()) };
      const [{ Database }, { DatabaseDamagedError, DatabaseLockedError }] = await Promise.all([
        import('./duckdb/database.js'),
        import('./duckdb/opening.js'),
      ]);
      const file = path.join(directory, DATABASE_FILE);
      const database = await Database.openReadOnly(file, READING).catch((error: unknown) => {
        if (error instanceof DatabaseLockedError) return null;
        throw error instanceof DatabaseDamagedError ? new InputError(error.message) : error;
      });
      if (database === null) return null;
      await refuseUnapplied(directory, database).catch(async (error: unknown) => {
        await database.close();
        throw error;
      });
      return { reading: { database }, end: () => database.close() };
    },
    LOCK_WAIT_MS,
    `${directory} is in use by another Fathom process that takes no commands`,
  );
  return body(reading).finally(end);
}

/**
 * @throws StoreUnavailableError if the database lacks changes that are in the store's own log
 * @throws InputError if opening the store would refuse that log
 */
async function refuseUnapplied(directory: string, database: Database): Promise<void> {
  // A damaged or foreign database has no mark: the caller says what is wrong with it.
  const meta = await readMeta(database).catch(() => null);
  const mark = meta && markOf(meta);
  if (meta === null || mark?.isOwn === false || !(await hasMissed(directory, mark))) return;
  throw new StoreUnavailableError(
    `${directory} has changes in its log that its database lacks: start the server, or run any command that opens the store, which applies them`,
  );
}

/**
 * Opens the store for a server; like withStore(), waits for a command to close it.
 * @param stop ends the wait by throwing its reason
 * @throws StoreBusyError at once if another server has it open, or if a command still has it after
 *   `waitMs`
 */
export async function openForServer(
  directory: string,
  options: StoreOptions,
  waitMs: number = LOCK_WAIT_MS,
  stop?: AbortSignal,
): Promise<Store> {
  const open = async (): Promise<Store | null> => {
    const store = await openUnlessBusy(directory, options);
    if (store !== null) return store;
    const remote = await connectToServer(directory);
    if (remote === null) return null;
    remote.close();
    throw new StoreBusyError(`a Fathom server already runs on ${directory}`);
  };
  return untilOpen(
    directory,
    open,
    waitMs,
    `${directory} is in use by another Fathom process`,
    stop,
  );
}

/**
 * Runs `body` with a directory for a rehearsal: the given one if it holds a store, otherwise an empty one that is
 * removed afterwards. The given directory does not change.
 */
export async function withRehearsalDirectory<T>(
  directory: string,
  body: (directory: string) => Promise<T>,
): Promise<T> {
  await checkDirectory(directory);
  if (!(await holdsStore(directory))) {
    await refuseRemains(directory);
    const empty = await mkdtemp(path.join(tmpdir(), 'fathom-dry-run-'));
    return body(empty).finally(() => rm(empty, { recursive: true, force: true }));
  }
  const staging = path.join(directory, STAGING);
  if (existsSync(staging)) return body(directory);
  return body(directory).finally(() => rmdir(staging).catch(() => undefined));
}

/** Tries to open the store until `waitMs` have passed. @throws StoreBusyError with the message `busy` */
async function untilOpen<S>(
  directory: string,
  open: () => Promise<S | null>,
  waitMs: number,
  busy: string,
  stop?: AbortSignal,
): Promise<S> {
  await checkDirectory(directory);
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const store = await open();
    if (store !== null) return store;
    stop?.throwIfAborted();
    if (performance.now() >= deadlineMs) throw new StoreBusyError(busy);
    await sleep(RETRY_EVERY_MS);
  }
}

/** Begins to load what opening a store needs, which takes as long as opening it. A server has it loaded already. */
export function preloadStore(directory: string): void {
  if (existsSync(path.join(directory, SOCKET_FILE))) return;
  // Whoever opens the store gets the error.
  import('./store.js').catch(() => undefined);
}

/** Opens the store, or returns null while another process has it. */
async function openUnlessBusy(directory: string, options: StoreOptions): Promise<Store | null> {
  const { Store } = await import('./store.js');
  try {
    return await Store.open(directory, options);
  } catch (error) {
    if (error instanceof StoreBusyError) return null;
    throw error;
  }
}

/**
 * Accepts a directory, or a path where one can be created later.
 * @throws InputError if a file is in the way
 */
export async function checkDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    if (error.code === 'ENOTDIR') throw new InputError(`${directory}: its parent is a file`);
    throw error;
  });
  if (found?.isDirectory() === false) {
    throw new InputError(`${directory}: expected a directory, found a file`);
  }
}
