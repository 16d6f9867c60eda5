/** For work that must be done sooner or later, while readers fill the pool's queue. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  QueueFullError,
  type ComputePool,
  type TaskInput,
  type TaskName,
  type TaskResult,
} from './pool.js';

/** How long a task waits for a place in the queue, and how often it looks. */
const TURN_WAIT_MS = 60_000;
const TURN_RETRY_MS = 5;

/**
 * Runs a task as soon as the pool takes it: it waits where the queue is full, it does not fail.
 * `transfer` is moved as the pool takes it, not before.
 */
export async function runInTurn<K extends TaskName>(
  pool: Pick<ComputePool, 'run'>,
  name: K,
  input: TaskInput<K>,
  transfer: ArrayBuffer[] = [],
): Promise<TaskResult<K>> {
  for (const deadline = Date.now() + TURN_WAIT_MS; ;) {
    try {
      return await pool.run(name, input, transfer);
    } catch (error) {
      if (!(error instanceof QueueFullError) || Date.now() > deadline) throw error;
      await sleep(TURN_RETRY_MS);
    }
  }
}
