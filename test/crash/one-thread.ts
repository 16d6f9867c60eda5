/** A pool's tasks in this thread: a process that is to be killed soon need not start another one. */
import { valueSymbol } from 'piscina';
import type { ComputePool, TaskInput, TaskName, TaskResult } from '../../compute/pool.js';
import * as worker from '../../compute/worker.js';

export const ONE_THREAD = {
  threads: 1,
  run: async <K extends TaskName>(name: K, input: TaskInput<K>): Promise<TaskResult<K>> => {
    const task = worker[name] as (input: TaskInput<K>) => TaskResult<K>;
    const result = task(input);
    // What a thread moves to its caller, it wraps.
    const moved = result as { [valueSymbol]?: TaskResult<K> } | null;
    return Promise.resolve(moved?.[valueSymbol] ?? result);
  },
} as unknown as ComputePool;
