/** Work that follows changes: at once after a quiet time, a bounded share of the time otherwise. */

/** Between two runs lies at least so many times what the last one cost. */
const PAUSE_FACTOR = 10;
const MIN_PAUSE_MS = 100;
/** The longest that a change waits for work of its own, unless told otherwise. */
const MAX_PAUSE_MS = 15_000;
/** A run costs as much as the cheapest of the last ones: what it takes longer, it waits for others. */
const RECENT_RUNS = 4;
/** Runs that may follow each other without a pause, after a quiet time. */
const BURST = 3;

export interface DutyCycleOptions {
  /** Must not reject. May resolve to the milliseconds of it that count, in place of all it took. */
  work: () => Promise<number | void>;
  /** The longest that a change waits for work of its own. */
  maxPauseMs?: number;
  /** Milliseconds that only grow. */
  nowMs?: () => number;
}

export class DutyCycle {
  private readonly work: () => Promise<number | void>;
  private readonly maxPauseMs: number;
  private readonly nowMs: () => number;
  /** When the last runs ended, the latest first: BURST of them at the most. */
  private readonly endsMs: number[] = [];
  private pauseMs = MIN_PAUSE_MS;
  /** Of the last runs, the latest first. */
  private readonly costsMs: number[] = [];
  private wanted = false;
  private running: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(options: DutyCycleOptions) {
    const { work, maxPauseMs = MAX_PAUSE_MS, nowMs = () => performance.now() } = options;
    this.work = work;
    this.maxPauseMs = maxPauseMs;
    this.nowMs = nowMs;
  }

  /** Has the work done that a change from before this call calls for; soon, but not in this turn. */
  request(): void {
    if (this.closed) return;
    this.wanted = true;
    if (this.running !== null || this.timer !== null) return;
    const waitMs = this.nextMs() - this.nowMs();
    if (waitMs <= 0) this.start();
    else {
      this.timer = setTimeout(() => this.start(), waitMs);
      this.timer.unref();
    }
  }

  /** Does at once what is asked for, and resolves when it is done. */
  async settled(): Promise<void> {
    while (this.wanted || this.running !== null) {
      if (this.running === null) this.start();
      await this.running;
    }
  }

  /** Takes no more requests, drops what waits, and waits for what runs. */
  async close(): Promise<void> {
    this.closed = true;
    this.wanted = false;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    await this.running;
  }

  /** When the next run may start: a pause after the last one, or as one of a burst. */
  private nextMs(): number {
    const { endsMs, pauseMs } = this;
    if (endsMs.length < BURST) return -Infinity;
    return Math.min(endsMs[0] + pauseMs, endsMs[BURST - 1] + BURST * pauseMs);
  }

  private start(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.running = this.run().finally(() => {
      this.running = null;
      // What was asked for while it ran may have come too late for it.
      if (this.wanted) this.request();
    });
  }

  private async run(): Promise<void> {
    // Changes come in quick succession: those of one turn are one piece of work.
    await Promise.resolve();
    this.wanted = false;
    const startMs = this.nowMs();
    const costMs = await this.work();
    const endMs = this.nowMs();
    this.costsMs.unshift(costMs ?? endMs - startMs);
    this.costsMs.length = Math.min(this.costsMs.length, RECENT_RUNS);
    const pauseMs = PAUSE_FACTOR * Math.min(...this.costsMs);
    this.pauseMs = Math.min(Math.max(pauseMs, MIN_PAUSE_MS), this.maxPauseMs);
    this.endsMs.unshift(endMs);
    this.endsMs.length = Math.min(this.endsMs.length, BURST);
  }
}
