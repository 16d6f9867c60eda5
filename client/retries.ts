/** How often, and for how long, a request is retried. */
import { FathomError, type WaitKind } from './errors.js';

interface RetryLimit {
  /** Tries of a request, including the first. */
  maxTries: number;
  /** All waits of a request together. */
  maxWaitMs: number;
}

export const RETRY_LIMITS: Readonly<Record<WaitKind, RetryLimit>> = {
  busy: { maxTries: 120, maxWaitMs: 180_000 },
  limited: { maxTries: 20, maxWaitMs: 600_000 },
  connection: { maxTries: 9, maxWaitMs: 60_000 },
};

/** Where the server asks for no wait, waits double from the first to the longest, and half as much again at random. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** Spreads the retries of clients of which the server asked the same wait. */
const JITTER_MS = 100;

/**
 * How long to wait before another try, at random, so that clients that failed together do not return together.
 * @param askedMs the wait that the server asks for; null: none, and waits double from try to try
 * @param failures failed tries in a row before the one that failed last
 */
export function backoffMs(askedMs: number | null, failures: number): number {
  if (askedMs !== null) return askedMs + Math.random() * JITTER_MS;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (1 + Math.random() / 2);
}

/** Counts the tries of one request. */
export class Retries {
  private readonly spent: Record<WaitKind, { tries: number; waitedMs: number }> = {
    busy: { tries: 1, waitedMs: 0 },
    limited: { tries: 1, waitedMs: 0 },
    connection: { tries: 1, waitedMs: 0 },
  };

  /**
   * How long to wait before the next try, in milliseconds.
   *
   * @param askedMs the wait that the server asks for; null: none
   * @param failure thrown, with the reason for giving up, once tries or time are used up
   * @throws FathomError
   */
  next(kind: WaitKind, askedMs: number | null, failure: FathomError): number {
    const { maxTries, maxWaitMs } = RETRY_LIMITS[kind];
    const spent = this.spent[kind];
    const waitMs = backoffMs(askedMs, spent.tries - 1);
    if (spent.tries >= maxTries) throw ended(failure, `gave up after ${maxTries} tries`);
    if (spent.waitedMs + waitMs > maxWaitMs + JITTER_MS) {
      const waited = spent.waitedMs === 0 ? '' : `having waited ${secondsText(spent.waitedMs)}, `;
      throw ended(
        failure,
        `gave up: ${waited}the next wait would be ${secondsText(waitMs)}, and the limit is ${secondsText(maxWaitMs)}`,
      );
    }
    spent.tries++;
    spent.waitedMs += waitMs;
    return waitMs;
  }
}

function ended(failure: FathomError, words: string): FathomError {
  return new FathomError(`${failure.message}; ${words}`, failure);
}

export function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** Milliseconds of a Retry-After header (RFC 9110, 10.2.3): seconds, or a date; null without one. */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}
