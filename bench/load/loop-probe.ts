/**
 * Loaded into the server's process beside it: tells over IPC how long its event loop was held up, and
 * how much of that was the loop's own work. The server itself knows nothing of it.
 */
import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import { mainThreadCpuUs } from '../processes.js';

/** Milliseconds; what the loop is late beyond the probe's own interval. */
export interface LoopDelay {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /**
   * CPU time of the loop's thread between two looks, RESOLUTION_MS or one turn apart: what held the
   * loop up but for waits for a core, collection included. null where this system does not tell.
   */
  busy: { p99Ms: number; maxMs: number } | null;
}

const RESOLUTION_MS = 1;

/** Looks at the thread's time as often as the loop lets it. */
function watchBusy() {
  const busyUs = createHistogram();
  const cpuUs = mainThreadCpuUs();
  if (cpuUs === null) return null;
  let beforeUs = cpuUs();
  setInterval(() => {
    const nowUs = cpuUs();
    busyUs.record(Math.max(1, Math.round(nowUs - beforeUs)));
    beforeUs = nowUs;
  }, RESOLUTION_MS).unref();
  return busyUs;
}

if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const busyUs = watchBusy();
  const ms = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  process.on('message', (message) => {
    if (message === 'reset') {
      delay.reset();
      busyUs?.reset();
    }
    if (message !== 'read') return;
    const read: LoopDelay = {
      p50Ms: ms(delay.percentile(50)),
      p99Ms: ms(delay.percentile(99)),
      maxMs: ms(delay.max),
      busy: busyUs && { p99Ms: busyUs.percentile(99) / 1000, maxMs: busyUs.max / 1000 },
    };
    process.send?.(read);
  });
  // The probe must not keep a server that has drained alive.
  process.channel?.unref();
}
