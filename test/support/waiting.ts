/** Waiting for a state: whatever comes at all comes in time, and what does not is named. */
import { isDeepStrictEqual } from 'node:util';
import { type MockInstance, vi } from 'vitest';

/** Far longer than anything here takes on a busy machine, and less than a test may take. */
export const PATIENCE_MS = 120_000;

/** @throws where it holds at no time; `what` says what was waited for */
export async function eventually(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  pauseMs = 5,
): Promise<void> {
  const startMs = performance.now();
  while (!(await condition())) {
    if (performance.now() - startMs > PATIENCE_MS) {
      throw new Error(`still not: ${typeof what === 'string' ? what : what()}`);
    }
    // Not node:timers/promises, which some tests replace.
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Asks until it is answered as expected. @throws with the last answer if it never is */
export async function becomes<T>(ask: () => Promise<T> | T, expected: T): Promise<void> {
  let answer: T;
  const isThere = async (): Promise<boolean> => isDeepStrictEqual((answer = await ask()), expected);
  const what = () => `${JSON.stringify(expected)}, but ${JSON.stringify(answer)}`;
  await eventually(what, isThere, 20);
}

/** How many turns the event loop takes while work goes on, which is told the number of the current one. */
export async function countingTurns(
  work: (turn: () => number) => Promise<unknown>,
): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    if (isDone) return;
    turns++;
    setImmediate(count);
  };
  setImmediate(count);
  await work(() => turns).finally(() => (isDone = true));
  return turns;
}

/** Moves the clock that measures durations, which a server in this process reads too, until it is restored. */
export function letPass(ms: number): MockInstance<() => number> {
  const now = performance.now.bind(performance);
  return vi.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}
