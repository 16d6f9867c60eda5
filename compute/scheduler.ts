/**
 * What begins next in the pool. Each class of work has slots of its own, so no class keeps another from the
 * threads. Where a class has no free slot its jobs wait, and the keys with waiting jobs get equal shares of time.
 */

/** Classes of work: replay pages; boards and other answers; commits to the store; fragments of segments. */
export type Work = 'page' | 'board' | 'commit' | 'fragments';

export interface WorkLimits {
  /** Jobs in work at one time, from their first read to their result. */
  inWork: number;
  /** Jobs that wait, of all keys. */
  maxWaiting: number;
  /** Jobs that wait, of one key. */
  maxWaitingPerKey: number;
  /** A job that would have to wait longer is refused as it comes. */
  maxExpectedWaitMs: number;
}

export const PAGE_QUEUE_LIMITS = {
  maxWaiting: 512,
  maxWaitingPerKey: 128,
  maxExpectedWaitMs: 5_000,
} as const;
/** Boards and other answers in work: the holder snapshots that one reads take some 20 MB. */
export const BOARDS_IN_WORK = 4;
/** Jobs of a class other than pages that wait. */
export const MAX_WAITING_JOBS = 10_000;
/** While the pool is busy, fragments wait this long, and then begin: they make later pages cheaper. */
const FRAGMENTS_WAIT_MS = 20;

/** How much the latest job moves the average of what jobs take. */
const LATEST_WEIGHT = 1 / 8;
/** A job counts as this much at least: jobs that cost nothing would have no order. */
const MIN_CHARGE_MS = 0.1;

/** The limits of each class in a pool of so many threads. */
export function workLimits(threads: number): Record<Work, WorkLimits> {
  const patient = {
    maxWaiting: MAX_WAITING_JOBS,
    maxWaitingPerKey: MAX_WAITING_JOBS,
    maxExpectedWaitMs: Infinity,
  };
  return {
    // One a thread, and half as many again that are read meanwhile.
    page: { inWork: threads + Math.ceil(threads / 2), ...PAGE_QUEUE_LIMITS },
    board: { inWork: BOARDS_IN_WORK, ...patient },
    // The next one lies ready when a thread has ended one.
    commit: { inWork: 2 * threads, ...patient },
    fragments: { inWork: 1, ...patient },
  };
}

/** Who waits for a job. */
export interface Client {
  readonly aborted: boolean;
  /** Calls the listener when the client goes. */
  onGone(listener: () => void): void;
}

/** Too many jobs wait, or the wait would be too long: come back later. */
export class PoolBusyError extends Error {
  override readonly name = 'PoolBusyError';
}

export class Scheduler {
  private readonly queues: Record<Work, JobQueue>;
  private onLull: (() => void) | null = null;

  constructor(
    private readonly threads: number,
    limits: Record<Work, WorkLimits> = workLimits(threads),
  ) {
    this.queues = {
      page: new JobQueue(limits.page),
      board: new JobQueue(limits.board),
      commit: new JobQueue(limits.commit),
      fragments: new JobQueue(limits.fragments),
    };
  }

  /** Jobs of a class that wait. */
  waiting(work: Work): number {
    return this.queues[work].waitingJobs;
  }

  /**
   * Begins a job when it is its key's turn, at once where its class has a free slot.
   *
   * @returns the job's result; null where the client went before it began
   * @throws PoolBusyError at once where the class's queue is full or the wait would be too long
   */
  async run<T>(
    work: Work,
    key: string,
    job: () => Promise<T>,
    client: Client | null,
  ): Promise<T | null> {
    try {
      return await this.queues[work].run(
        key,
        work === 'fragments' ? this.inLull(job) : job,
        client,
      );
    } finally {
      if (!this.isBusy()) this.onLull?.();
    }
  }

  /** The job, begun once a thread has nothing to do, or after FRAGMENTS_WAIT_MS. */
  private inLull<T>(job: () => Promise<T>): () => Promise<T> {
    return async () => {
      if (this.isBusy()) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, FRAGMENTS_WAIT_MS);
          this.onLull = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        this.onLull = null;
      }
      return job();
    };
  }

  private isBusy(): boolean {
    const { page, board, commit } = this.queues;
    return page.jobs + board.jobs + commit.jobs >= this.threads;
  }
}

/** A job in work. */
interface Begun {
  line: Line;
  beganMs: number;
  /** What its key has been charged for it so far. */
  chargedMs: number;
}

/** The jobs of one key. */
interface Line {
  /** In the order in which they came. */
  waiting: Set<(begun: Begun) => void>;
  inWork: number;
  /** Time in work that the key has had, on a scale that all keys share: the least one is next. */
  servedMs: number;
}

/** The jobs of one class of work. */
export class JobQueue {
  /** Keys with jobs that wait or are in work. */
  private readonly lines = new Map<string, Line>();
  /** Jobs wait only while every slot is taken. */
  private waiting = 0;
  private inWork = 0;
  /** How long jobs were in work of late; the first ones, in cold threads, are not to judge by. */
  private jobMs = 0;
  /** When the last job went into work. */
  private beganMs = 0;
  /** Where the key stood whose job went into work last: keys that come anew begin there. */
  private servedMs = 0;

  /** @param nowMs milliseconds that only grow */
  constructor(
    private readonly limits: WorkLimits,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  get waitingJobs(): number {
    return this.waiting;
  }

  get jobsInWork(): number {
    return this.inWork;
  }

  /** Jobs that wait or are in work. */
  get jobs(): number {
    return this.waiting + this.inWork;
  }

  /** As Scheduler.run(). */
  async run<T>(key: string, job: () => Promise<T>, client: Client | null): Promise<T | null> {
    if (client?.aborted) return null;
    const isFree = this.inWork < this.limits.inWork;
    const begun = isFree ? this.begin(this.join(key)) : await this.wait(key, client);
    if (begun === null) return null;
    try {
      return await job();
    } finally {
      this.end(key, begun);
    }
  }

  /** The wait that a job of the key would have if it came now, as far as can be known. */
  expectedWaitMs(key: string): number {
    if (this.inWork < this.limits.inWork) return 0;
    const own = this.lines.get(key)?.waiting.size ?? 0;
    let ahead = own;
    for (const [other, { waiting }] of this.lines) {
      // Another key has as many jobs done before this one as this key has waiting, and one more.
      if (other !== key) ahead += Math.min(waiting.size, own + 1);
    }
    const waitMs = ((ahead + 1) * this.jobMs) / this.limits.inWork;
    // Where not one in work has ended for long, the next may not either.
    return Math.max(waitMs, this.nowMs() - this.beganMs);
  }

  /** Resolves when the key's job may begin, to null where its client goes before. */
  private wait(key: string, client: Client | null): Promise<Begun | null> {
    const { maxWaiting, maxWaitingPerKey, maxExpectedWaitMs } = this.limits;
    const own = this.lines.get(key)?.waiting.size ?? 0;
    if (this.waiting >= maxWaiting || own >= maxWaitingPerKey) {
      throw new PoolBusyError(`${this.waiting} jobs wait, ${own} of them of this key`);
    }
    if (this.expectedWaitMs(key) > maxExpectedWaitMs) {
      throw new PoolBusyError(`a job would wait longer than ${maxExpectedWaitMs} ms`);
    }
    const line = this.join(key);
    return new Promise((resolve) => {
      line.waiting.add(resolve);
      this.waiting++;
      client?.onGone(() => {
        if (!line.waiting.delete(resolve)) return;
        this.waiting--;
        this.leave(key, line);
        resolve(null);
      });
    });
  }

  private join(key: string): Line {
    let line = this.lines.get(key);
    if (line === undefined) {
      line = { waiting: new Set(), inWork: 0, servedMs: 0 };
      this.lines.set(key, line);
    }
    // Time in which a key had nothing waiting is no credit.
    if (line.waiting.size === 0) line.servedMs = Math.max(line.servedMs, this.servedMs);
    return line;
  }

  private leave(key: string, line: Line): void {
    if (line.waiting.size === 0 && line.inWork === 0) this.lines.delete(key);
  }

  /** Charges what a job is expected to take, so that the key's next one waits. */
  private begin(line: Line): Begun {
    this.inWork++;
    line.inWork++;
    this.beganMs = this.nowMs();
    this.servedMs = line.servedMs;
    const chargedMs = Math.max(this.jobMs, MIN_CHARGE_MS);
    line.servedMs += chargedMs;
    return { line, beganMs: this.beganMs, chargedMs };
  }

  private end(key: string, { line, beganMs, chargedMs }: Begun): void {
    const tookMs = this.nowMs() - beganMs;
    line.servedMs += Math.max(tookMs, MIN_CHARGE_MS) - chargedMs;
    this.jobMs += LATEST_WEIGHT * (tookMs - this.jobMs);
    line.inWork--;
    this.inWork--;
    this.leave(key, line);
    this.beginNext();
  }

  /** Begins the oldest job of the key that has been served least. */
  private beginNext(): void {
    let next: Line | null = null;
    for (const line of this.lines.values()) {
      if (line.waiting.size > 0 && line.servedMs < (next?.servedMs ?? Infinity)) next = line;
    }
    if (next === null) return;
    const [begin] = next.waiting;
    next.waiting.delete(begin);
    this.waiting--;
    begin(this.begin(next));
  }
}
