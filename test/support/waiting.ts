/** Waits for a state, and names it if it does not come. */
import { isDeepStrictEqual } from 'node:util';
import { type MockInstance, vi } from 'vitest';

/** Far longer than anything here takes on a busy machine, and less than a test may take. */
export const PATIENCE_MS = 300_000;

/** @throws if it never holds; `what` says what was waited for */
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

/** Asks until the answer is the expected one. @throws with the last answer */
export async function becomes<T>(ask: () => Promise<T> | T, expected: T): Promise<void> {
  let answer: T;
  const isThere = async (): Promise<boolean> => isDeepStrictEqual((answer = await ask()), expected);
  const what = () => `${JSON.stringify(expected)}, but ${JSON.stringify(answer)}`;
  await eventually(what, isThere, 20);
}

/** Counts the turns of the event loop while `work` runs, which can read the count. */
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

/** Moves the clock that measures durations, which a server in this process also reads, until it is restored. */
export function letPass(ms: number): MockInstance<() => number> {
  const now = performance.now.bind(performance);
  return vi.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}
