/** The pool and the store as commands use them. */
import { startPool, type ComputePool } from '../../compute/pool.js';
import { withStore } from '../../storage/access.js';
import type { UseStore } from '../../storage/ingest/ingest.js';
import type { StoreOptions } from '../../storage/store.js';
import { tell } from './output.js';

/** Tasks that an ingest may have waiting: it bounds itself, far below this. */
const INGEST_QUEUE_TASKS = 256;

/** A command's store, opened for as long as each call needs it. */
export function storeThrough(directory: string, pool: ComputePool): UseStore {
  return (body) => withStore(directory, storeOptions(pool), body);
}

/** How a store is opened: its segments are rewritten in the pool. */
export function storeOptions(pool: Pick<ComputePool, 'run'>): StoreOptions {
  return {
    rewrite: (input) => pool.run('rewriteSegments', input),
    onBackgroundError: (error) =>
      tell(`joining small segments failed: ${error instanceof Error ? error.message : 'unknown'}`),
  };
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
