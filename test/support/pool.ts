/** Pools shared by all test files of a process: their threads take longer to start than most tests. */
import { startPool, type ComputePool } from '../../compute/pool.js';
import type { WorkLimits } from '../../compute/scheduler.js';

/** On a busy machine a page may take seconds; no test means to be refused for that. */
export const PATIENT: Partial<WorkLimits> = { maxExpectedWaitMs: Infinity };

const pools = new Map<number, Promise<ComputePool>>();

/** The process's pool with this many threads; nobody closes it. Throws a task's failure that nobody awaits. */
export function sharedPool(threads: number): Promise<ComputePool> {
  let pool = pools.get(threads);
  if (pool === undefined) {
    pool = startPool({
      threads,
      pageLimits: PATIENT,
      onError: (error) => {
        throw error;
      },
    });
    pools.set(threads, pool);
  }
  return pool;
}
