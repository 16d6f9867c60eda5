/**
 * Loaded into the server's process beside it: tells over IPC how long its event loop was held up, how
 * much of that was the loop's own work, and how much a wait for a core. The server itself knows nothing
 * of it.
 */
import {
  createHistogram,
  monitorEventLoopDelay,
  PerformanceObserver,
  type RecordableHistogram,
} from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import { mainThreadTimes } from '../processes.js';

/** Of times between two looks, RESOLUTION_MS or one turn apart, milliseconds. */
export interface Share {
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
  /** Since the measurement began. */
  totalMs: number;
}

/** Milliseconds; what the loop is late beyond the probe's own interval. */
export interface LoopDelay {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** How long was measured. */
  elapsedMs: number;
  /**
   * CPU time of the loop's thread, collection included: what held the loop up but for waits for a core.
   * null where this system does not tell.
   */
  busy: Share | null;
  /** Time that the loop's thread was ready to run and had no core. null likewise. */
  waiting: Share | null;
  /** Pauses of V8's collector in the loop's thread, part of `busy`. */
  collector: { maxMs: number; totalMs: number };
}

const RESOLUTION_MS = 1;

/** One of the two times, look by look. */
class SharedTime {
  private readonly histogram: RecordableHistogram = createHistogram();
  private totalNs = 0;

  add(ns: number): void {
    this.totalNs += ns;
    this.histogram.record(Math.max(1, Math.round(ns / 1000)));
  }

  reset(): void {
    this.totalNs = 0;
    this.histogram.reset();
  }

  read(): Share {
    const ms = (us: number): number => us / 1000;
    return {
      p99Ms: ms(this.histogram.percentile(99)),
      p999Ms: ms(this.histogram.percentile(99.9)),
      maxMs: ms(this.histogram.max),
      totalMs: this.totalNs / 1e6,
    };
  }
}

/** Looks at the thread's times as often as the loop lets it. */
function watchThread() {
  const look = mainThreadTimes();
  if (look === null) return null;
  const busy = new SharedTime();
  const waiting = new SharedTime();
  let [busyNs, waitingNs] = look();
  setInterval(() => {
    const now = look();
    busy.add(now[0] - busyNs);
    waiting.add(now[1] - waitingNs);
    [busyNs, waitingNs] = now;
  }, RESOLUTION_MS).unref();
  return { busy, waiting };
}

function watchCollector() {
  const pauses = { maxMs: 0, totalMs: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      pauses.maxMs = Math.max(pauses.maxMs, duration);
      pauses.totalMs += duration;
    }
  }).observe({ entryTypes: ['gc'] });
  return pauses;
}

if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const thread = watchThread();
  const collector = watchCollector();
  let beganMs = performance.now();
  const ms = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  process.on('message', (message) => {
    if (message === 'reset') {
      delay.reset();
      thread?.busy.reset();
      thread?.waiting.reset();
      Object.assign(collector, { maxMs: 0, totalMs: 0 });
      beganMs = performance.now();
    }
    if (message !== 'read') return;
    const read: LoopDelay = {
      p50Ms: ms(delay.percentile(50)),
      p99Ms: ms(delay.percentile(99)),
      maxMs: ms(delay.max),
      elapsedMs: performance.now() - beganMs,
      busy: thread && thread.busy.read(),
      waiting: thread && thread.waiting.read(),
      collector: { ...collector },
    };
    process.send?.(read);
  });
  // The probe must not keep a server that has drained alive.
  process.channel?.unref();
}
