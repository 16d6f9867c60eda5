/**
 * Loaded into the server's process beside it: tells over IPC how long its event loop was held up.
 * The server itself knows nothing of it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** Milliseconds; what the loop is late beyond the probe's own interval. */
export interface LoopDelay {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

const RESOLUTION_MS = 1;

if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const ms = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  process.on('message', (message) => {
    if (message === 'reset') delay.reset();
    if (message !== 'read') return;
    const read: LoopDelay = {
      p50Ms: ms(delay.percentile(50)),
      p99Ms: ms(delay.percentile(99)),
      maxMs: ms(delay.max),
    };
    process.send?.(read);
  });
  // The probe must not keep a server that has drained alive.
  process.channel?.unref();
}
