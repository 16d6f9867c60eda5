/** Gives the event loop priority over the other threads of the process. */
import { readdirSync } from 'node:fs';
import os from 'node:os';
import { THREAD_NICENESS } from '../compute/pool.js';

/** Linux lists the threads here; their ids work like process ids. */
const THREADS = '/proc/self/task';

/**
 * Lowers the priority of every existing thread except the event loop's (DuckDB's, libuv's, V8's) to
 * that of the pool's threads. A thread that starts later inherits the priority of the thread that
 * starts it. Linux only; needs no privileges.
 */
export function putLoopFirst(): void {
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

/** Empty if the directory cannot be read: the service works with equal priorities, too. */
function threadIds(): number[] {
  try {
    return readdirSync(THREADS).map(Number);
  } catch {
    return [];
  }
}
