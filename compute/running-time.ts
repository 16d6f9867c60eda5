/**
 * Time during which this process ran. While the process is paused (SIGSTOP, a paused container), no deadline passes
 * and no measured time grows.
 */

/** Interval at which the clock is read while nobody asks for the time. */
const TICK_MS = 500;
/** Two readings further apart than this show that the process was paused between them. */
const PAUSE_MS = 4 * TICK_MS;

/** A clock that stops while nobody reads it. */
export class RunningClock {
  private lookedMs: number;
  private pausedMs = 0;

  /** @param steadyMs a clock that never goes back, in milliseconds */
  constructor(private readonly steadyMs: () => number) {
    this.lookedMs = steadyMs();
  }

  nowMs(): number {
    const nowMs = this.steadyMs();
    const sinceMs = nowMs - this.lookedMs;
    if (sinceMs > PAUSE_MS) this.pausedMs += sinceMs - TICK_MS;
    this.lookedMs = nowMs;
    return nowMs - this.pausedMs;
  }
}

const clock = new RunningClock(() => performance.now());
setInterval(() => clock.nowMs(), TICK_MS).unref();

/** Milliseconds during which this process ran; only differences are meaningful. */
export function runningMs(): number {
  return clock.nowMs();
}

/** Thrown if work takes longer than its deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/**
 * The promise's result, if it settles before the process has run for `deadlineMs`.
 * @param what names the work in the error
 * @throws DeadlineError
 */
export async function withDeadline<T>(
  promise: Promise<T>,
  deadlineMs: number,
  what: string,
): Promise<T> {
  const endMs = runningMs() + deadlineMs;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const wait = (): void => {
      const restMs = endMs - runningMs();
      if (restMs > 0) timer = setTimeout(wait, Math.ceil(restMs));
      else reject(new DeadlineError(`${what}: no answer within ${deadlineMs} ms`));
    };
    wait();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
