/** How V8 collects garbage in a server. */
import { setFlagsFromString } from 'node:v8';

/**
 * Leaves the marking of old objects to V8's own threads, and to short steps as memory is asked for. The steps that
 * V8 takes as tasks of the event loop last 30 to 50 ms each where some hundred thousand tokens are in memory.
 */
export function markOutsideLoop(): void {
  setFlagsFromString('--no-incremental-marking-task');
}
