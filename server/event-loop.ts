/** Keeps the event loop responsive: its priority over other threads, and when V8 collects garbage. */
import { readdirSync } from 'node:fs';
import os from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { THREAD_NICENESS } from '../compute/pool.js';

/** Linux lists the threads here; their ids work like process ids. */
const THREADS = '/proc/self/task';

/**
 * Lowers the priority of every existing thread except the event loop's (DuckDB's, libuv's, V8's) to
 * that of the pool's threads. A thread that starts later inherits the priority of the thread that
 * starts it. Linux only; needs no privileges.
 */
export function prioritizeEventLoop(): void {
  if (process.platform !== 'linux') return;
  const niceness = Math.min(os.getPriority() + THREAD_NICENESS, os.constants.priority.PRIORITY_LOW);
  for (const id of threadIds()) {
    if (id === process.pid) continue;
    try {
      if (os.getPriority(id) < niceness) os.setPriority(id, niceness);
    } catch {
      // The thread has ended.
    }
  }
}

/** Empty if the directory cannot be read: the server also works with equal priorities. */
function threadIds(): number[] {
  try {
    return readdirSync(THREADS).map(Number);
  } catch {
    return [];
  }
}

/**
 * Keeps V8's garbage collector from holding up the loop. Old objects are marked by V8's own threads, and in short steps
 * as memory is allocated: the steps that V8 takes as tasks of the loop last 30 to 50 ms each if some hundred thousand
 * tokens are in memory. The loop collects young objects alone: with the help of V8's threads, which have the priority of
 * the pool's, it waits for them while the pool keeps the cores busy.
 */
export function tuneCollector(): void {
  setFlagsFromString('--no-incremental-marking-task');
  setFlagsFromString('--no-parallel-scavenge');
}
