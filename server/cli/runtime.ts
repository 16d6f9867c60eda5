/** Opens the store and the pool for commands. Loads on demand what short commands do not need. */
import path from 'node:path';
import type { ComputePool, PoolOptions } from '../../compute/pool.js';
import type { RewriteInput } from '../../compute/segment/rewrite.js';
import {
  LOCK_WAIT_MS,
  preloadStore,
  withRehearsalDirectory,
  withStore,
  workIn,
} from '../../storage/access.js';
import { holdsStore, refuseRemains } from '../../storage/data-directory.js';
import { InputError, UsageError } from '../../storage/errors.js';
import type { StoreOperations, UseStore } from '../../storage/operations.js';
import type { StoreOptions } from '../../storage/opening.js';
import { shellWord } from '../../storage/shell-word.js';
import { readConfig } from './config-file.js';
import { printNote } from './output.js';
import { DATA, type StoreFlags } from './flags.js';
import { closingAtSignal } from './signals.js';

/** Opens the store for each call and closes it afterwards, so other commands can run in between. */
export function storeThrough(directory: string, pool: ComputePool): UseStore {
  const options = storeOptions(pool);
  preloadStore(directory);
  return (body) =>
    closingAtSignal((stop) => withStore(directory, options, body, LOCK_WAIT_MS, stop));
}

/** Runs `body` with the directory; a dry run leaves the directory unchanged. */
export function rehearsed<T>(
  dryRun: boolean,
  directory: string,
  body: (directory: string) => Promise<T>,
): Promise<T> {
  return dryRun ? withRehearsalDirectory(directory, body) : body(directory);
}

/** Options of a command's store. */
export function storeOptions(pool: Pick<ComputePool, 'run'>): StoreOptions {
  return { ...workIn(pool), ...NOTES };
}

/** Prints what a store has to say. */
const NOTES = {
  onBackgroundError: (error, work) =>
    printNote(`${work} failed: ${error instanceof Error ? error.message : 'unknown'}`),
  onNotice: printNote,
} satisfies Partial<StoreOptions>;

/** Options that only some commands need. */
type MoreOptions = Pick<StoreOptions, 'plans' | 'archive'>;

/**
 * Runs `body` on a store without a pool: this thread rewrites segments.
 * @param more options of a store that no server has open
 * @throws InputError if the directory holds no store, because its name may be mistyped
 */
export async function onStore<T>(
  flags: StoreFlags,
  body: (store: StoreOperations) => Promise<T>,
  more: MoreOptions = {},
): Promise<T> {
  return onAnyStore(await storeDirectory(flags.data), body, more);
}

/** A directory that holds a store, and a function that uses the store as onStore() does. */
export interface LocatedStore {
  directory: string;
  useStore: UseStore;
}

/** @throws InputError if the directory holds no store, or one without its database */
export async function storeOf(flags: StoreFlags): Promise<LocatedStore> {
  const directory = await storeDirectory(flags.data);
  return { directory, useStore: (body) => onStore({ ...flags, data: directory }, body) };
}

/** The data directory: `--data`, then FATHOM_DATA, then ./data, with a warning if `serve` would use another one. */
export function dataDirectory(flag: string | undefined): string {
  const given = flag ?? (process.env.FATHOM_DATA || null);
  const directory = path.resolve(given ?? 'data');
  const configured = given === null ? configuredData() : null;
  if (configured !== null && path.resolve(configured.data) !== directory) {
    const { from, data } = configured;
    printNote(
      `warning: this command uses ${directory}, but serve uses ${data} (${from}): add --data ${shellWord(data)} to use that`,
    );
  }
  return directory;
}

/** What the config file says of the data directory; null: nothing, or the file is for `serve` to refuse. */
function configuredData(): { data: string; from: string } | null {
  try {
    const { data } = readConfig({ data: DATA }).entries;
    return data === undefined ? null : { data: data.texts[0], from: data.from };
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** The data directory. @throws InputError if it holds no store, or one without its database */
export async function storeDirectory(data: string | undefined): Promise<string> {
  const directory = dataDirectory(data);
  if (await holdsStore(directory)) return directory;
  await refuseRemains(directory);
  throw new InputError(
    `${directory} holds no store; is --data right? (ingest, import, demo, keys create and serve create one)`,
  );
}

/** Like onStore(), but creates the store if there is none. */
export async function onNewStore<T>(
  flags: StoreFlags,
  body: (store: StoreOperations) => Promise<T>,
  more: MoreOptions = {},
): Promise<T> {
  const directory = dataDirectory(flags.data);
  const isNew = !(await holdsStore(directory));
  const result = await onAnyStore(directory, body, more);
  if (isNew) printNote(`${directory} held no store; created a new, empty one`);
  return result;
}

function onAnyStore<T>(
  directory: string,
  body: (store: StoreOperations) => Promise<T>,
  more: MoreOptions = {},
): Promise<T> {
  const rewrite = async (input: RewriteInput) => {
    const { rewriteSegments } = await import('../../compute/segment/rewrite.js');
    return rewriteSegments(input);
  };
  const options = { ...more, rewrite, ...NOTES };
  return closingAtSignal((stop) => withStore(directory, options, body, LOCK_WAIT_MS, stop));
}

/** Runs a function with a pool, whose threads may still be starting. Default: one thread at the start. */
type WithPool = <T>(
  body: (pool: ComputePool) => Promise<T>,
  options?: Pick<PoolOptions, 'threads' | 'threadsAtStart'>,
) => Promise<T>;

let pooled: WithPool = (body, options) => withOwnPool(body, options);

/** Lets all commands of this process share a pool; the caller closes it. */
export function sharePool(start: () => Promise<ComputePool>): void {
  pooled = async (body) => body(await start());
}

/** Runs `body` with a pool that ends with it, unless commands share one. */
export const withPool: WithPool = (body, options) => pooled(body, options);

/** Most commands keep one thread busy; further threads start when needed. */
const withOwnPool: WithPool = async (body, options) => {
  const { ComputePool } = await import('../../compute/pool.js');
  const pool = new ComputePool({
    onError: (error) => printNote(`compute pool: ${error.message}`),
    threadsAtStart: 1,
    ...options,
  });
  try {
    return await body(pool);
  } finally {
    await pool.close();
  }
};
