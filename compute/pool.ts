/** A fixed set of worker threads that run the tasks of worker.ts. Only this module and outcome.ts use Piscina. */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { builtPath } from './built.js';
import { type Outcome, valueOf } from './outcome.js';
import { DeadlineError, withDeadline } from './running-time.js';
import {
  type Client,
  PoolUnavailableError,
  Scheduler,
  type Work,
  workLimits,
  type WorkLimits,
} from './scheduler.js';
import type * as worker from './worker.js';

/** The tasks by name; a new task takes one line in worker.ts. */
type Tasks = typeof worker;
export type TaskName = keyof Tasks;
export type TaskInput<K extends TaskName> = Parameters<Tasks[K]>[0];
export type TaskResult<K extends TaskName> =
  ReturnType<Tasks[K]> extends Outcome<infer R> ? R : never;

/** Runs one task of a job; `transfer` as in ComputePool.run(). */
export type RunTask = <K extends TaskName>(
  name: K,
  input: TaskInput<K>,
  transfer?: ArrayBuffer[],
) => Promise<TaskResult<K>>;

/** A task of another top folder: the file of the build that exports it, and its name there. */
export interface OtherTask {
  file: string;
  name: string;
}

/** The class of tasks that are jobs by themselves; other tasks have the class 'board'. */
const WORK_OF_TASK: Partial<Record<TaskName, Work>> = {
  renderPage: 'page',
  makeFragments: 'fragments',
  binChunk: 'commit',
  headsOfChunk: 'commit',
  columnsOfLines: 'commit',
  sortLevels: 'commit',
  encodeRuns: 'commit',
  rewriteSegments: 'commit',
  sampleSegments: 'commit',
  rewriteHolderBlocks: 'commit',
};

/**
 * Added to the threads' nice value: the event loop gets a core first when cores are short. Only on Linux, where
 * each thread has its own nice value; elsewhere the whole process may share one. Needs no privileges.
 */
export const THREAD_NICENESS = process.platform === 'linux' ? 10 : 0;
/** A thread that works on one task for longer is taken to hang, and is replaced. */
const TASK_DEADLINE_MS = 60_000;
/** A thread ends within this time, unless it hangs in code that is not JavaScript. */
const THREAD_END_MS = 5_000;
/** Every thread must answer its first task within this time: a starved one took 30 s where 26 processes shared two cores. */
const READY_DEADLINE_MS = 120_000;
/** Closing waits this long for unfinished jobs. */
const CLOSE_DEADLINE_MS = 30_000;

export interface PoolOptions {
  /** Worker threads; default: one per core. */
  threads?: number;
  /** Threads that start at once; the others start when a task has to wait. Default: all. */
  threadsAtStart?: number;
  /** Replaces the default limits of pages. */
  pageLimits?: Partial<WorkLimits>;
  /** Receives faults that belong to no task, such as the death of an idle thread. */
  onError: (error: Error) => void;
  /** Called with the time that a page waited before it began. */
  onPageBegan?: (waitedMs: number) => void;
  /** Bounds of each thread's heap, in MiB. */
  heaps?: { maxYoungGenerationSizeMb: number; maxOldGenerationSizeMb: number };
  /** Replaces the default deadline of a task. */
  taskDeadlineMs?: number;
}

/** The thread of a task died, or hung and was ended. */
export class TaskLostError extends PoolUnavailableError {
  override readonly name = 'TaskLostError';
}

/** A task hangs and its thread cannot be ended: it may still write to shared memory. */
export class TaskStuckError extends PoolUnavailableError {
  override readonly name = 'TaskStuckError';
}

export class PoolClosedError extends PoolUnavailableError {
  override readonly name = 'PoolClosedError';
}

/**
 * Starts the threads (all, or `threadsAtStart`) and waits until each has run a task.
 * @throws Error if a thread does not start
 */
export async function startPool(options: PoolOptions): Promise<ComputePool> {
  const pool = new ComputePool(options);
  try {
    await pool.ready();
  } catch (error) {
    await pool.close();
    throw error;
  }
  return pool;
}

/** Starts its threads when it is made; tasks wait until they run. */
export class ComputePool {
  readonly threads: number;
  private readonly threadsAtStart: number;
  private readonly piscina: Piscina;
  private readonly scheduler: Scheduler;
  /** Jobs that wait or are in work. */
  pendingJobs = 0;
  /** Tasks given to the threads since the start. */
  postedTasks = 0;
  /** Idle threads, and callers that wait for one. */
  private freeThreads: number;
  private readonly waiters: (() => void)[] = [];
  private lost = false;
  private closed: Promise<void> | null = null;
  private ended = false;
  private whenIdle: (() => void) | null = null;
  private started: Promise<void> | null = null;

  constructor(private readonly options: PoolOptions) {
    const { threads = availableParallelism(), pageLimits, onError } = options;
    this.threads = threads;
    this.threadsAtStart = Math.min(options.threadsAtStart ?? threads, threads);
    this.freeThreads = threads;
    const limits = workLimits(threads);
    this.scheduler = new Scheduler(threads, { ...limits, page: { ...limits.page, ...pageLimits } });
    this.piscina = new Piscina({
      filename: builtPath('compute/worker.js'),
      name: 'ping' satisfies TaskName,
      // Threads never end while idle.
      minThreads: this.threadsAtStart,
      maxThreads: threads,
      idleTimeout: Infinity,
      // Tasks are synchronous, so a thread may block while it waits: this wakes it fastest.
      atomics: 'sync',
      niceIncrement: THREAD_NICENESS,
      ...(options.heaps === undefined ? {} : { resourceLimits: options.heaps }),
    });
    this.piscina.on('error', onError);
  }

  waiting(work: Work): number {
    return this.scheduler.waiting(work);
  }

  get busyThreads(): number {
    return this.threads - this.freeThreads;
  }

  /**
   * Runs a task as soon as its class of work has a free slot; once more if its thread dies or hangs, unless
   * its input was moved. A flag in shared memory can cancel a running task.
   *
   * @param transfer ArrayBuffers of the input that are moved, not copied, when the task begins
   * @throws PoolUnavailableError, or the task's error
   */
  run<K extends TaskName>(
    name: K,
    input: TaskInput<K>,
    transfer: ArrayBuffer[] = [],
  ): Promise<TaskResult<K>> {
    const work = WORK_OF_TASK[name] ?? 'board';
    const task = () => this.post(name, input, transfer);
    const job = transfer.length === 0 ? () => retryIfLost(task) : task;
    return this.enqueue(work, name, job, null) as Promise<TaskResult<K>>;
  }

  /**
   * Like run(), for a task that the threads load from a file outside compute.
   * @throws PoolUnavailableError, or the task's error
   */
  runOther<I, O>(work: Work, task: OtherTask, input: I): Promise<O> {
    const post = () => this.postTo(builtPath(task.file), task.name, input, []);
    return this.enqueue(work, task.name, () => retryIfLost(post), null) as Promise<O>;
  }

  /**
   * Runs a job (reads and tasks that belong together) as soon as its class has a free slot. Keys of a class
   * with waiting jobs get equal shares of time.
   *
   * @param job runs its tasks with the function that it receives; they wait only for a thread. It must not
   *   change anything else: it runs once more if the thread of a task dies or hangs
   * @param client if it disconnects before the job begins, the result is null
   * @throws PoolBusyError at once if too many jobs wait or the wait would be too long; TaskLostError,
   *   TaskStuckError, PoolClosedError; what the job throws
   */
  schedule<T>(work: Work, key: string, job: (run: RunTask) => Promise<T>): Promise<T>;
  schedule<T>(
    work: Work,
    key: string,
    job: (run: RunTask) => Promise<T>,
    client: Client,
  ): Promise<T | null>;
  schedule<T>(
    work: Work,
    key: string,
    job: (run: RunTask) => Promise<T>,
    client: Client | null = null,
  ): Promise<T | null> {
    return this.enqueue(work, key, () => retryIfLost(() => job(this.post)), client);
  }

  private async enqueue<T>(
    work: Work,
    key: string,
    job: () => Promise<T>,
    client: Client | null,
  ): Promise<T | null> {
    if (this.closed !== null) throw new PoolClosedError('the compute pool is closed');
    this.pendingJobs++;
    const askedMs = performance.now();
    const begin = (): Promise<T> => {
      if (work === 'page') this.options.onPageBegan?.(performance.now() - askedMs);
      return job();
    };
    try {
      return await this.scheduler.run(work, key, begin, client);
    } finally {
      this.pendingJobs--;
      if (this.pendingJobs === 0) this.whenIdle?.();
    }
  }

  private readonly post: RunTask = (name, input, transfer = []) =>
    this.postTo(undefined, name, input, transfer) as Promise<never>;

  /** @param filename the task's file, if the task is not in worker.ts */
  private async postTo(
    filename: string | undefined,
    name: string,
    input: unknown,
    transfer: ArrayBuffer[],
  ): Promise<unknown> {
    const { taskDeadlineMs = TASK_DEADLINE_MS, onError } = this.options;
    // The start of a thread is no part of a task's time.
    await this.ready();
    // Piscina has a queue too, but does not report when a task leaves it.
    if (this.freeThreads > 0) this.freeThreads--;
    else await new Promise<void>((resolve) => this.waiters.push(resolve));
    if (this.ended) throw new PoolClosedError('the compute pool has ended');
    this.postedTasks++;
    const ending = new AbortController();
    const { signal } = ending;
    const run = this.piscina.run(input, { filename, name, transferList: transfer, signal });
    let outcome: Outcome<unknown>;
    try {
      outcome = (await withDeadline(run, taskDeadlineMs, `task ${name}`)) as typeof outcome;
      this.lost = false;
    } catch (error) {
      // An error of the task itself would be in its outcome: this one is Piscina's.
      if (error instanceof DeadlineError) await this.endThread(ending);
      else if (!isThreadEnd(error)) throw error;
      this.lost = true;
      const lost = new TaskLostError(`task ${name} lost its thread: ${messageOf(error)}`);
      onError(lost);
      throw lost;
    } finally {
      const next = this.waiters.shift();
      if (next === undefined) this.freeThreads++;
      else next();
    }
    return valueOf(outcome);
  }

  /**
   * Replaces the thread of a task, and waits until the thread has ended.
   * @throws TaskStuckError if it does not end
   */
  private async endThread(ending: AbortController): Promise<void> {
    const before = this.piscina.threads;
    ending.abort();
    const after = new Set(this.piscina.threads);
    const ended = before
      .filter((thread) => !after.has(thread))
      .map((thread) => once(thread, 'exit'));
    await withDeadline(Promise.all(ended), THREAD_END_MS, 'end of a thread').catch(
      (error: unknown) => {
        this.options.onError(error as Error);
        throw new TaskStuckError(messageOf(error));
      },
    );
  }

  /**
   * Resolves if the last task was answered, or a new one is.
   * @throws TaskLostError | TaskStuckError
   */
  async probe(): Promise<void> {
    if (this.lost) await this.post('ping', null);
  }

  /**
   * Resolves once every thread that starts at once has run a task.
   * @throws Error if a thread does not answer in time
   */
  ready(): Promise<void> {
    this.started ??= this.pingThreads().catch((error: unknown) => {
      throw new Error(`compute pool: ${messageOf(error)}`, { cause: error });
    });
    return this.started;
  }

  private async pingThreads(): Promise<void> {
    // Piscina gives each ping to an idle thread, and no thread is idle again before it has handed out all pings.
    const pings = Array.from({ length: this.threadsAtStart }, () => this.piscina.run(null));
    const outcomes = (await withDeadline(
      Promise.all(pings),
      READY_DEADLINE_MS,
      'start of the threads',
    )) as Outcome<number>[];
    const answered = new Set(outcomes.map(valueOf));
    if (answered.size !== this.threadsAtStart) {
      throw new Error(`${answered.size} of ${this.threadsAtStart} threads answered`);
    }
  }

  /** Refuses new jobs, waits for the pending ones, then ends the threads. Idempotent. */
  close(): Promise<void> {
    this.closed ??= this.drain();
    return this.closed;
  }

  private async drain(): Promise<void> {
    if (this.pendingJobs > 0) {
      const idle = new Promise<void>((resolve) => (this.whenIdle = resolve));
      await withDeadline(idle, CLOSE_DEADLINE_MS, 'drain').catch(() => undefined);
    }
    this.ended = true;
    for (const wake of this.waiters.splice(0)) wake();
    await this.piscina.destroy();
  }
}

/** Runs work without side effects, and runs it again if it lost its thread. */
function retryIfLost<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    if (error instanceof TaskLostError) return work();
    throw error;
  });
}

/** Whether Piscina failed a task because its thread ended. */
function isThreadEnd(error: unknown): boolean {
  const { message = '', code = '' } = error as { message?: string; code?: string };
  return message.startsWith('worker exited with code') || code.startsWith('ERR_WORKER_');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
