/** The pool and the store as commands use them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { QueueFullError, startPool, type ComputePool } from '../../compute/pool.js';
import type { RewriteInput, RewriteResult } from '../../compute/segment/task.js';
import { withStore } from '../../storage/access.js';
import type { UseStore } from '../../storage/ingest/ingest.js';
import type { StoreOptions } from '../../storage/store.js';
import { tell } from './output.js';

/** Tasks that an ingest may have waiting: it bounds itself, far below this. */
const INGEST_QUEUE_TASKS = 256;

/** How long a commit waits for a place in the queue, and how often it looks. */
const REWRITE_WAIT_MS = 60_000;
const REWRITE_RETRY_MS = 5;

/** A command's store, opened for as long as each call needs it. */
export function storeThrough(directory: string, pool: ComputePool): UseStore {
  return (body) => withStore(directory, storeOptions(pool), body);
}

/** How a store is opened: its segments are rewritten in the pool. */
export function storeOptions(pool: Pick<ComputePool, 'run'>): StoreOptions {
  return {
    rewrite: (input) => rewriteInTurn(pool, input),
    onBackgroundError: (error) =>
      tell(`joining small segments failed: ${error instanceof Error ? error.message : 'unknown'}`),
  };
}

/**
 * Rewrites segments as soon as the pool takes the task: a commit waits while readers fill the
 * queue, it does not fail.
 */
async function rewriteInTurn(
  pool: Pick<ComputePool, 'run'>,
  input: RewriteInput,
): Promise<RewriteResult> {
  for (const deadline = Date.now() + REWRITE_WAIT_MS; ;) {
    try {
      return await pool.run('rewriteSegments', input);
    } catch (error) {
      if (!(error instanceof QueueFullError) || Date.now() > deadline) throw error;
      await sleep(REWRITE_RETRY_MS);
    }
  }
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
