/** Runs a pool's tasks in this thread: a process that will soon be killed need not start others. */
import { valueSymbol } from 'piscina';
import { type Outcome, valueOf } from '../../compute/outcome.js';
import type { ComputePool, TaskInput, TaskName, TaskResult } from '../../compute/pool.js';
import * as worker from '../../compute/worker.js';

export const ONE_THREAD: ComputePool = Object.assign(Object.create(null) as ComputePool, {
  threads: 1,
  run<K extends TaskName>(name: K, input: TaskInput<K>): Promise<TaskResult<K>> {
    const task = worker[name] as (input: TaskInput<K>) => Outcome<TaskResult<K>>;
    const outcome = task(input) as Outcome<TaskResult<K>> & {
      [valueSymbol]?: Outcome<TaskResult<K>>;
    };
    // Tasks wrap results that a thread would move to its caller.
    return Promise.resolve(outcome[valueSymbol] ?? outcome).then(valueOf);
  },
});
