/** What a page's request waits for and tries again, and where it gives up. */
import type { IncomingHttpHeaders } from 'node:http';
import { ReplayError } from './errors.js';

/** Why a request is to be sent again. */
export type RetryKind = 'busy' | 'limited' | 'connection';

interface RetryLimit {
  /** Tries of one page, the first one included. */
  maxTries: number;
  /** All waits for one page together. */
  maxWaitMs: number;
}

/** The bounds that every page has to itself. */
export const RETRY_LIMITS: Readonly<Record<RetryKind, RetryLimit>> = {
  busy: { maxTries: 120, maxWaitMs: 180_000 },
  limited: { maxTries: 20, maxWaitMs: 600_000 },
  connection: { maxTries: 9, maxWaitMs: 60_000 },
};

/** Waits where the server names none: doubled from try to try up to the greatest. */
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
/** Spreads clients that were turned away together. */
const JITTER_MS = 100;

/** Counts the tries of one page. */
export class Retries {
  private readonly spent: Record<RetryKind, { tries: number; waitedMs: number }> = {
    busy: { tries: 1, waitedMs: 0 },
    limited: { tries: 1, waitedMs: 0 },
    connection: { tries: 1, waitedMs: 0 },
  };

  /**
   * How long to wait before the next try, in milliseconds.
   *
   * @param askedMs what the server asks to be waited; null where it asks nothing
   * @param message what is said when it gives up
   * @throws ReplayError where tries or time are used up
   */
  next(kind: RetryKind, askedMs: number | null, message: string): number {
    const { maxTries, maxWaitMs } = RETRY_LIMITS[kind];
    const spent = this.spent[kind];
    const backoffMs = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (spent.tries - 1));
    const waitMs = (askedMs ?? backoffMs) + Math.random() * JITTER_MS;
    if (spent.tries >= maxTries)
      throw new ReplayError(`${message}; gave up after ${maxTries} tries`);
    if (spent.waitedMs + waitMs > maxWaitMs + JITTER_MS) {
      const waited = spent.waitedMs === 0 ? '' : `having waited ${seconds(spent.waitedMs)}, `;
      throw new ReplayError(
        `${message}; gave up: ${waited}it asks for ${seconds(waitMs)} more, and the limit is ${seconds(maxWaitMs)}`,
      );
    }
    spent.tries++;
    spent.waitedMs += waitMs;
    return waitMs;
  }
}

/** Seconds as people read them. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** Milliseconds of a Retry-After header (RFC 9110, 10.2.3): seconds, or a date; null without one. */
export function retryAfterMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const text = headers['retry-after']?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}
