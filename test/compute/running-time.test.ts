import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  DeadlineError,
  RunningClock,
  runningMs,
  withDeadline,
} from '../../compute/running-time.js';

it('the clock of the running process follows the steady clock, and stops while nobody can read it', () => {
  let steadyMs = 5000;
  const clock = new RunningClock(() => steadyMs);
  const startMs = clock.nowMs();
  for (let i = 0; i < 40; i++) {
    steadyMs += 500;
    clock.nowMs();
  }
  expect(clock.nowMs() - startMs).toBe(20_000);
  steadyMs += 65_000;
  expect(clock.nowMs() - startMs).toBeLessThanOrEqual(21_000);
  steadyMs += 300;
  expect(clock.nowMs() - startMs).toBeLessThanOrEqual(21_300);
});

describe('a deadline', () => {
  let looking: NodeJS.Timeout | undefined;
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
    runningMs();
  });
  afterEach(() => {
    clearInterval(looking);
    vi.useRealTimers();
  });

  /** The outcome of withDeadline() for a promise that never settles. */
  function outcomeOf(deadlineMs: number): { error?: unknown } {
    const outcome: { error?: unknown } = {};
    withDeadline(new Promise(() => {}), deadlineMs, 'a task').catch((error: unknown) => {
      outcome.error = error;
    });
    return outcome;
  }

  it('passes if the process runs all the time', async () => {
    looking = setInterval(runningMs, 500);
    const outcome = outcomeOf(60_000);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(outcome).toEqual({});
    await vi.advanceTimersByTimeAsync(2_000);
    expect(outcome.error).toBeInstanceOf(DeadlineError);
    expect(String(outcome.error)).toContain('a task: no answer within 60000 ms');
  });

  it('is extended by the time for which the process is paused', async () => {
    const outcome = outcomeOf(60_000);
    // As after SIGSTOP and SIGCONT: 65 s have passed, and no timer has fired.
    await vi.advanceTimersByTimeAsync(65_000);
    looking = setInterval(runningMs, 500);
    await vi.advanceTimersByTimeAsync(55_000);
    expect(outcome).toEqual({});
    await vi.advanceTimersByTimeAsync(6_000);
    expect(outcome.error).toBeInstanceOf(DeadlineError);
  });
});
