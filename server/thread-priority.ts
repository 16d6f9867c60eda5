/** The event loop before all other threads of the process, where cores are short. */
import { readdirSync } from 'node:fs';
import os from 'node:os';
import { THREAD_NICENESS } from '../compute/pool.js';

/** Linux has a directory here for each thread, named by an id that stands for it where one of a process does. */
const THREADS = '/proc/self/task';

/**
 * Puts every thread that there is now, except the event loop's, as far back as the pool's threads
 * are: DuckDB's, those that run its calls, and V8's helpers. One that starts later has the priority
 * of the thread that starts it. On Linux alone; it needs no privileges.
 */
export function putLoopFirst(): void {
  if (process.platform !== 'linux') return;
  const back = Math.min(os.getPriority() + THREAD_NICENESS, os.constants.priority.PRIORITY_LOW);
  for (const id of threadIds()) {
    if (id === process.pid) continue;
    try {
      if (os.getPriority(id) < back) os.setPriority(id, back);
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** None where the directory cannot be read: everything works with equal priorities, too. */
function threadIds(): number[] {
  try {
    return readdirSync(THREADS).map(Number);
  } catch {
    return [];
  }
}
