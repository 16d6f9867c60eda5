/** Pools that all test files of a process share: their threads take longer to start than most tests. */
import { startPool, type ComputePool } from '../../compute/pool.js';

const pools = new Map<number, Promise<ComputePool>>();

/** The process's pool of so many threads; nobody closes it. A task's failure that nobody awaits is thrown. */
export function sharedPool(threads: number): Promise<ComputePool> {
  let pool = pools.get(threads);
  if (pool === undefined) {
    pool = startPool({
      threads,
      onError: (error) => {
        throw error;
      },
    });
    pools.set(threads, pool);
  }
  return pool;
}
