/**
 * Decides which job begins next in the pool. Each class of work has its own slots, so no class can keep the others
 * from the threads. Jobs wait while their class has no free slot; keys with waiting jobs get equal shares of time.
 */
import { runningMs } from './running-time.js';

/**
 * Classes of work: replay pages; boards and other answers; commits to the store; fragments that pages missed; work
 * that nobody waits for.
 */
export type Work = 'page' | 'board' | 'commit' | 'fragments' | 'idle';

export interface WorkLimits {
  /** Jobs in work at the same time, each from its first read to its result. */
  inWork: number;
  maxWaiting: number;
  maxWaitingPerKey: number;
  /** A job that is expected to wait longer is refused at once. */
  maxExpectedWaitMs: number;
}

const PAGE_QUEUE_LIMITS = {
  maxWaiting: 512,
  maxWaitingPerKey: 128,
  maxExpectedWaitMs: 5_000,
} as const;
/** Boards and other answers in work at the same time: each may read some 20 MB of holder snapshots. */
export const BOARDS_IN_WORK = 4;
/** Waiting jobs of each class except pages. */
const MAX_WAITING_JOBS = 10_000;
/** Fragments wait this long for a free thread, then begin anyway: they make later pages cheaper. */
const FRAGMENTS_WAIT_MS = 20;

/** Weight of the latest job in the average time of jobs. */
const LATEST_WEIGHT = 1 / 8;
/** The least time charged for a job: with free jobs, a key would never give up its place. */
const MIN_CHARGE_MS = 0.1;

/** The limits of each class, by the pool's number of threads. */
export function workLimits(threads: number): Record<Work, WorkLimits> {
  const longQueue = {
    maxWaiting: MAX_WAITING_JOBS,
    maxWaitingPerKey: MAX_WAITING_JOBS,
    maxExpectedWaitMs: Infinity,
  };
  return {
    // One per thread, and half as many again that read in the meantime.
    page: { inWork: threads + Math.ceil(threads / 2), ...PAGE_QUEUE_LIMITS },
    board: { inWork: BOARDS_IN_WORK, ...longQueue },
    // The next job is ready when a thread has finished one.
    commit: { inWork: 2 * threads, ...longQueue },
    fragments: { inWork: 1, ...longQueue },
    idle: { inWork: 1, ...longQueue },
  };
}

/** The client that waits for a job. */
export interface Client {
  readonly aborted: boolean;
  /** Calls the listener when the client disconnects. */
  onGone(listener: () => void): void;
}

/** The pool cannot do the work now; try again later. */
export class PoolUnavailableError extends Error {}

/** Too many jobs wait, or the wait would be too long. */
export class PoolBusyError extends PoolUnavailableError {
  override readonly name = 'PoolBusyError';
}

export class Scheduler {
  private readonly queues: Record<Work, JobQueue>;
  /** Checks of jobs that wait for a free thread: each is called whenever a job ends, and removed once its job begins. */
  private readonly freeThreadChecks = new Set<() => void>();

  constructor(
    private readonly threads: number,
    limits: Record<Work, WorkLimits> = workLimits(threads),
  ) {
    this.queues = {
      page: new JobQueue(limits.page),
      board: new JobQueue(limits.board),
      commit: new JobQueue(limits.commit),
      fragments: new JobQueue(limits.fragments),
      idle: new JobQueue(limits.idle),
    };
  }

  waiting(work: Work): number {
    return this.queues[work].waitingJobs;
  }

  /**
   * Runs a job: at once if its class has a free slot, otherwise when its key is next.
   *
   * @returns the job's result; null if the client disconnected before the job began
   * @throws PoolBusyError at once if the class's queue is full or the wait would be too long
   */
  async run<T>(
    work: Work,
    key: string,
    job: () => Promise<T>,
    client: Client | null,
  ): Promise<T | null> {
    try {
      return await this.queues[work].run(key, this.delayed(work, job), client);
    } finally {
      for (const check of [...this.freeThreadChecks]) check();
    }
  }

  /**
   * Delays fragments until a thread is free, at most FRAGMENTS_WAIT_MS; delays idle work until nothing else is in
   * work, however long that takes.
   */
  private delayed<T>(work: Work, job: () => Promise<T>): () => Promise<T> {
    if (work === 'fragments')
      return () => this.whenFewerJobs(this.threads, FRAGMENTS_WAIT_MS).then(job);
    if (work === 'idle') return () => this.whenFewerJobs(1, null).then(job);
    return job;
  }

  /** Resolves when fewer jobs than this are waiting or in work, or after `maxWaitMs`. */
  private async whenFewerJobs(jobs: number, maxWaitMs: number | null): Promise<void> {
    if (this.jobs < jobs) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.freeThreadChecks.delete(check);
        resolve();
      };
      const check = (): void => {
        if (this.jobs < jobs) end();
      };
      const timer = maxWaitMs === null ? undefined : setTimeout(end, maxWaitMs);
      this.freeThreadChecks.add(check);
    });
  }

  /** Jobs that somebody waits for. */
  private get jobs(): number {
    const { page, board, commit } = this.queues;
    return page.jobs + board.jobs + commit.jobs;
  }
}

/** A job in work. */
interface RunningJob {
  queue: KeyQueue;
  beganMs: number;
  /** What its key has been charged for it. */
  chargedMs: number;
}

/** The jobs of a key. */
interface KeyQueue {
  /** Oldest first. */
  waiting: Set<(running: RunningJob) => void>;
  inWork: number;
  /** The key's time in work, on a scale that all keys share; the key with the least time is next. */
  servedMs: number;
}

/** The jobs of a class of work. */
export class JobQueue {
  /** Keys with jobs that wait or are in work. */
  private readonly keys = new Map<string, KeyQueue>();
  /** Jobs wait only while every slot is taken. */
  waitingJobs = 0;
  jobsInWork = 0;
  /** Average time of recent jobs in work; starts at 0, so that the first jobs, in cold threads, weigh little. */
  private jobMs = 0;
  /** When a job last began. */
  private beganMs = 0;
  /** `servedMs` of the key whose job last began: new keys start with it. */
  private servedMs = 0;

  /** @param nowMs a clock that never goes back, in milliseconds */
  constructor(
    private readonly limits: WorkLimits,
    private readonly nowMs: () => number = runningMs,
  ) {}

  /** Jobs that wait or are in work. */
  get jobs(): number {
    return this.waitingJobs + this.jobsInWork;
  }

  /** Like Scheduler.run(). */
  async run<T>(key: string, job: () => Promise<T>, client: Client | null): Promise<T | null> {
    if (client?.aborted) return null;
    const isFree = this.jobsInWork < this.limits.inWork;
    const running = isFree ? this.begin(this.join(key)) : await this.wait(key, client);
    if (running === null) return null;
    try {
      return await job();
    } finally {
      this.end(key, running);
    }
  }

  /** Estimates how long a new job of the key would wait. */
  expectedWaitMs(key: string): number {
    if (this.jobsInWork < this.limits.inWork) return 0;
    const own = this.keys.get(key)?.waiting.size ?? 0;
    let ahead = own;
    for (const [other, { waiting }] of this.keys) {
      // Before this job, another key completes as many jobs as this key has waiting, plus one.
      if (other !== key) ahead += Math.min(waiting.size, own + 1);
    }
    const waitMs = ((ahead + 1) * this.jobMs) / this.limits.inWork;
    // If no job has begun for a long time, the next may not begin soon either.
    return Math.max(waitMs, this.nowMs() - this.beganMs);
  }

  /** Resolves when the key's job may begin; to null if its client disconnects first. */
  private wait(key: string, client: Client | null): Promise<RunningJob | null> {
    const { maxWaiting, maxWaitingPerKey, maxExpectedWaitMs } = this.limits;
    const own = this.keys.get(key)?.waiting.size ?? 0;
    if (this.waitingJobs >= maxWaiting || own >= maxWaitingPerKey) {
      throw new PoolBusyError(`${this.waitingJobs} jobs wait, ${own} of them of this key`);
    }
    if (this.expectedWaitMs(key) > maxExpectedWaitMs) {
      throw new PoolBusyError(`a job would wait longer than ${maxExpectedWaitMs} ms`);
    }
    const queue = this.join(key);
    return new Promise((resolve) => {
      queue.waiting.add(resolve);
      this.waitingJobs++;
      client?.onGone(() => {
        if (!queue.waiting.delete(resolve)) return;
        this.waitingJobs--;
        this.leave(key, queue);
        resolve(null);
      });
    });
  }

  private join(key: string): KeyQueue {
    let queue = this.keys.get(key);
    if (queue === undefined) {
      queue = { waiting: new Set(), inWork: 0, servedMs: 0 };
      this.keys.set(key, queue);
    }
    // A key earns no credit for time without waiting jobs.
    if (queue.waiting.size === 0) queue.servedMs = Math.max(queue.servedMs, this.servedMs);
    return queue;
  }

  private leave(key: string, queue: KeyQueue): void {
    if (queue.waiting.size === 0 && queue.inWork === 0) this.keys.delete(key);
  }

  /** Charges the key the expected time of a job in advance; end() corrects the charge. */
  private begin(queue: KeyQueue): RunningJob {
    this.jobsInWork++;
    queue.inWork++;
    this.beganMs = this.nowMs();
    this.servedMs = queue.servedMs;
    const chargedMs = Math.max(this.jobMs, MIN_CHARGE_MS);
    queue.servedMs += chargedMs;
    return { queue, beganMs: this.beganMs, chargedMs };
  }

  private end(key: string, { queue, beganMs, chargedMs }: RunningJob): void {
    const tookMs = this.nowMs() - beganMs;
    queue.servedMs += Math.max(tookMs, MIN_CHARGE_MS) - chargedMs;
    this.jobMs += LATEST_WEIGHT * (tookMs - this.jobMs);
    queue.inWork--;
    this.jobsInWork--;
    this.leave(key, queue);
    this.beginNext();
  }

  /** Begins the oldest job of the key with the least time in work. */
  private beginNext(): void {
    let next: KeyQueue | null = null;
    for (const queue of this.keys.values()) {
      if (queue.waiting.size > 0 && queue.servedMs < (next?.servedMs ?? Infinity)) next = queue;
    }
    if (next === null) return;
    const [begin] = next.waiting;
    next.waiting.delete(begin);
    this.waitingJobs--;
    begin(this.begin(next));
  }
}
