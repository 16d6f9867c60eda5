/** A fixed set of worker threads that run the tasks of worker.ts; no other module knows Piscina. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { Scheduler, workLimits, type Client, type Work, type WorkLimits } from './scheduler.js';
import type * as worker from './worker.js';

/** The tasks by name; a new one is one line in worker.ts. */
type Tasks = typeof worker;
export type TaskName = keyof Tasks;
export type TaskInput<K extends TaskName> = Parameters<Tasks[K]>[0];
export type TaskResult<K extends TaskName> = Awaited<ReturnType<Tasks[K]>>;

/** Runs a task within a job: `transfer` is as for ComputePool.run(). */
export type RunTask = <K extends TaskName>(
  name: K,
  input: TaskInput<K>,
  transfer?: ArrayBuffer[],
) => Promise<TaskResult<K>>;

/** The class of work that a task by itself belongs to; of all others it is 'board'. */
const WORK_OF_TASK: Partial<Record<TaskName, Work>> = {
  renderPage: 'page',
  makeFragments: 'fragments',
  binSnapshotLines: 'commit',
  binSnapshotRows: 'commit',
  packCellLines: 'commit',
  packCellColumns: 'commit',
  simulateDemo: 'commit',
  encodeRuns: 'commit',
  rewriteSegments: 'commit',
  rewriteHolderBlocks: 'commit',
};

/**
 * Added to the threads' nice value: where cores are short, the event loop, which works in short bits,
 * has one as soon as it has something to do. On Linux alone: there each thread has a nice value of its
 * own, elsewhere the whole process may have one. It needs no privileges.
 */
export const THREAD_NICENESS = process.platform === 'linux' ? 10 : 0;
/** A task that has not answered after this is given up: its thread hangs or is gone for good. */
const TASK_DEADLINE_MS = 60_000;
/** Every thread has to answer a first task within this. */
const READY_DEADLINE_MS = 30_000;
/** Closing waits this long for jobs that are not done. */
const CLOSE_DEADLINE_MS = 30_000;

export interface PoolOptions {
  /** Worker threads; default: one a core. */
  threads?: number;
  /** In place of the usual limits of pages. */
  pageLimits?: Partial<WorkLimits>;
  /** Told of faults that no task's promise carries, such as a thread that died idle. */
  onError: (error: Error) => void;
}

/** A task has not answered in time. Whether it still runs is not known. */
export class TaskOverdueError extends Error {
  override readonly name = 'TaskOverdueError';
}

/** The pool has been closed, or is closing. */
export class PoolClosedError extends Error {
  override readonly name = 'PoolClosedError';
}

/**
 * Starts the threads and waits until each has run a task.
 * @throws Error where a thread does not start
 */
export async function startPool(options: PoolOptions): Promise<ComputePool> {
  const pool = new ComputePool(options);
  try {
    await pool.ready();
  } catch (error) {
    await pool.close();
    throw new Error(`compute pool: ${messageOf(error)}`, { cause: error });
  }
  return pool;
}

export class ComputePool {
  readonly threads: number;
  private readonly piscina: Piscina;
  private readonly scheduler: Scheduler;
  private pending = 0;
  private posted = 0;
  private closed: Promise<void> | null = null;
  private whenIdle: (() => void) | null = null;

  constructor({ threads = availableParallelism(), pageLimits, onError }: PoolOptions) {
    this.threads = threads;
    const limits = workLimits(threads);
    this.scheduler = new Scheduler(threads, { ...limits, page: { ...limits.page, ...pageLimits } });
    this.piscina = new Piscina({
      filename: workerFile(),
      name: 'ping' satisfies TaskName,
      // All threads from the start and for good: none is started while a client waits.
      minThreads: threads,
      maxThreads: threads,
      idleTimeout: Infinity,
      // Tasks are synchronous, so a thread may block while it waits: the shortest way to wake it.
      atomics: 'sync',
      niceIncrement: THREAD_NICENESS,
    });
    this.piscina.on('error', onError);
  }

  /** Jobs that wait or are in work. */
  get pendingJobs(): number {
    return this.pending;
  }

  /** Jobs of a class that wait. */
  waiting(work: Work): number {
    return this.scheduler.waiting(work);
  }

  /** Tasks that the threads were given since the start. */
  get postedTasks(): number {
    return this.posted;
  }

  /**
   * Runs a task in a worker as soon as its class of work has a free slot. To give a running one up, use
   * a flag of the task's own in shared memory: Piscina's abort signal would kill the thread.
   *
   * @param transfer ArrayBuffers of the input that are moved as the task begins, not copied
   * @throws PoolBusyError, PoolClosedError, TaskOverdueError, or the task's error
   */
  run<K extends TaskName>(
    name: K,
    input: TaskInput<K>,
    transfer?: ArrayBuffer[],
  ): Promise<TaskResult<K>> {
    const work = WORK_OF_TASK[name] ?? 'board';
    return this.schedule(work, name, (run) => run(name, input, transfer));
  }

  /**
   * Begins a job, reads and tasks that belong together, as soon as its class has a free slot. The keys of
   * a class with waiting jobs get equal shares of time.
   *
   * @param job runs its tasks with the function that it is given; they wait for nothing but a thread
   * @param client a job of a client that goes before it begins resolves to null
   * @throws PoolBusyError at once where too many wait or the wait would be too long; PoolClosedError;
   *   what the job throws
   */
  schedule<T>(work: Work, key: string, job: (run: RunTask) => Promise<T>): Promise<T>;
  schedule<T>(
    work: Work,
    key: string,
    job: (run: RunTask) => Promise<T>,
    client: Client,
  ): Promise<T | null>;
  async schedule<T>(
    work: Work,
    key: string,
    job: (run: RunTask) => Promise<T>,
    client: Client | null = null,
  ): Promise<T | null> {
    if (this.closed !== null) throw new PoolClosedError('the compute pool is closed');
    this.pending++;
    try {
      return await this.scheduler.run(work, key, () => job(this.post), client);
    } finally {
      this.pending--;
      if (this.pending === 0) this.whenIdle?.();
    }
  }

  private readonly post = async <K extends TaskName>(
    name: K,
    input: TaskInput<K>,
    transfer: ArrayBuffer[] = [],
  ): Promise<TaskResult<K>> => {
    this.posted++;
    const run = this.piscina.run(input, { name, transferList: transfer });
    return (await withDeadline(run, TASK_DEADLINE_MS, `task ${name}`)) as TaskResult<K>;
  };

  /**
   * Runs a task on every thread.
   * @throws Error where a thread does not answer in time
   */
  async ready(): Promise<void> {
    // Piscina gives each to an idle thread, and none is idle again before all have been given.
    const pings = Array.from({ length: this.threads }, () => this.piscina.run(null));
    const answered = new Set(
      await withDeadline(Promise.all(pings), READY_DEADLINE_MS, 'start of the threads'),
    );
    if (answered.size !== this.threads) {
      throw new Error(`${answered.size} of ${this.threads} threads answered`);
    }
  }

  /** Takes no more jobs, waits for those that wait or are in work, ends the threads. Idempotent. */
  close(): Promise<void> {
    this.closed ??= this.drain();
    return this.closed;
  }

  private async drain(): Promise<void> {
    if (this.pending > 0) {
      const idle = new Promise<void>((resolve) => (this.whenIdle = resolve));
      await withDeadline(idle, CLOSE_DEADLINE_MS, 'drain').catch(() => undefined);
    }
    await this.piscina.destroy();
  }
}

/** The built worker, also where this module itself runs from its TypeScript source. */
function workerFile(): string {
  const fromSource = import.meta.url.endsWith('.ts');
  const path = fromSource ? '../dist/compute/worker.js' : './worker.js';
  return fileURLToPath(new URL(path, import.meta.url));
}

async function withDeadline<T>(promise: Promise<T>, deadlineMs: number, phase: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TaskOverdueError(`${phase}: no answer within ${deadlineMs} ms`));
    }, deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
