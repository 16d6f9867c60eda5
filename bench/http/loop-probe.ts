/**
 * Preloaded into the server's process: reports over IPC how long its event loop was blocked, how much of that was its own
 * work, and how much it waited for a core. The server does not know about it.
 */
import {
  createHistogram,
  monitorEventLoopDelay,
  PerformanceObserver,
  type RecordableHistogram,
} from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import { mainThreadTimes } from '../processes.js';

/** Times between two readings, which are RESOLUTION_MS or one turn of the loop apart, milliseconds. */
interface ThreadTime {
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
  /** Since the measurement began. */
  totalMs: number;
}

/** How late the loop is beyond the probe's interval, milliseconds. */
export interface LoopDelay {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Duration of the measurement. */
  elapsedMs: number;
  /**
   * CPU time of the loop's thread, including garbage collection: what blocked the loop except waits for a core. Null without
   * /proc.
   */
  busy: ThreadTime | null;
  /** How long the loop's thread was ready to run without a core. Null without /proc. */
  waiting: ThreadTime | null;
  /** Pauses for garbage collection in the loop's thread, part of `busy`. */
  collector: { maxMs: number; totalMs: number };
}

const RESOLUTION_MS = 1;

/** One of the two times, from readings. */
class ReadTimes {
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

  read(): ThreadTime {
    const ms = (us: number): number => us / 1000;
    return {
      p99Ms: ms(this.histogram.percentile(99)),
      p999Ms: ms(this.histogram.percentile(99.9)),
      maxMs: ms(this.histogram.max),
      totalMs: this.totalNs / 1e6,
    };
  }
}

/** Reads the thread's times as often as the loop allows. */
function watchThread() {
  const read = mainThreadTimes();
  if (read === null) return null;
  const busy = new ReadTimes();
  const waiting = new ReadTimes();
  let [busyNs, waitingNs] = read();
  setInterval(() => {
    const now = read();
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
  // The probe must not keep a drained server alive.
  process.channel?.unref();
}
