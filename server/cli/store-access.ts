/** The pool and the store as commands use them. */
import { runInTurn } from '../../compute/in-turn.js';
import { startPool, type ComputePool } from '../../compute/pool.js';
import { rewriteSegments, type RewriteInput } from '../../compute/segment/task.js';
import { withStore } from '../../storage/access.js';
import type { UseStore } from '../../storage/ingest/ingest.js';
import type { StoreOperations } from '../../storage/operations.js';
import type { StoreOptions } from '../../storage/store.js';
import { tell } from './output.js';
import { dataDirectory } from './settings.js';

/** Tasks that an ingest may have waiting: it bounds itself, far below this. */
const INGEST_QUEUE_TASKS = 256;

/** A command's store, opened for as long as each call needs it. */
export function storeThrough(directory: string, pool: ComputePool): UseStore {
  return (body) => withStore(directory, storeOptions(pool), body);
}

/** How a store is opened: its segments and holder blocks are rewritten in the pool. */
export function storeOptions(pool: Pick<ComputePool, 'run'>): StoreOptions {
  return {
    rewrite: (input) => runInTurn(pool, 'rewriteSegments', input),
    rewriteHolders: (input) => runInTurn(pool, 'rewriteHolderBlocks', input),
    onBackgroundError: (error) =>
      tell(`joining small segments failed: ${error instanceof Error ? error.message : 'unknown'}`),
    onUsageError: (error) =>
      tell(`writing counts of calls failed: ${error instanceof Error ? error.message : 'unknown'}`),
    onQueueError: (error) =>
      tell(`writing the queue failed: ${error instanceof Error ? error.message : 'unknown'}`),
  };
}

/**
 * A store for commands that need no pool: what it might rewrite while it is open is rewritten right
 * here.
 */
export function onStore<T>(
  data: string | undefined,
  body: (store: StoreOperations) => Promise<T>,
): Promise<T> {
  const rewrite = (input: RewriteInput) => Promise.resolve(rewriteSegments(input));
  return withStore(dataDirectory(data), { rewrite }, body);
}

/** Runs `body` with a pool of its own. */
export async function withPool<T>(body: (pool: ComputePool) => Promise<T>): Promise<T> {
  const pool = await startPool({
    maxQueueTasks: INGEST_QUEUE_TASKS,
    onError: (error) => tell(`compute pool: ${error.message}`),
  });
  try {
    return await body(pool);
  } finally {
    await pool.close();
  }
}
