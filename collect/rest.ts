/** Requests for books by REST: one at a time to a host, spaced, and silent for as long as the host asks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../storage/errors.js';
import { JsonFields } from '../storage/import/fields.js';
import { boundedText } from './bounded-text.js';
import { parseMessage } from './capture-lines.js';
import { retryAfterMs } from './retry-after.js';
import { withTimeout } from './timeout.js';

/** Between two requests to a host. */
const GAP_MS = 300;
const TIMEOUT_MS = 10_000;
/** A longer reply is refused; Coinbase's whole book has 4 MB. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;
/** How long a host is left alone that says 429 or 418 without a time, and at most. */
const BAN_MS = 10_000;
const MAX_BAN_MS = 600_000;

interface RestLimits {
  gapMs?: number;
  timeoutMs?: number;
}

export class RestClient {
  /** By host: the end of the last request and of the pause after it. */
  private readonly turns = new Map<string, Promise<unknown>>();

  constructor(private readonly limits: RestLimits = {}) {}

  /** The JSON object of a reply. @throws Error if there is none, or `stop` aborts */
  fetch(url: string, stop: AbortSignal, method: 'GET' | 'POST' = 'GET'): Promise<JsonFields> {
    const { host } = new URL(url);
    const before = this.turns.get(host) ?? Promise.resolve();
    let pauseMs = 0;
    const reply = before.then(async () => {
      stop.throwIfAborted();
      pauseMs = this.limits.gapMs ?? GAP_MS;
      return withTimeout(stop, this.limits.timeoutMs ?? TIMEOUT_MS, async (signal) => {
        const response = await fetch(url, { method, signal });
        if (response.status === 429 || response.status === 418) pauseMs = banMs(response.headers);
        if (!response.ok) {
          await response.body?.cancel();
          throw new Error(`${host} replies ${response.status}`);
        }
        const tooLong = (): Error => new Error('the reply is longer than 64 MiB');
        const text = await boundedText(response, MAX_REPLY_BYTES, tooLong);
        return new JsonFields(host, parseMessage(text, host));
      });
    });
    // The host's pause outlasts the request that led to it, and keeps no process alive.
    this.turns.set(
      host,
      reply
        .catch(() => undefined)
        .then(() => sleep(pauseMs, undefined, { ref: false }))
        .catch(() => undefined),
    );
    return reply.catch((error: unknown) => {
      throw new Error(
        error instanceof Error && error.name === 'TimeoutError'
          ? `${host} is silent`
          : messageOf(causeOf(error)),
      );
    });
  }
}

/** fetch() hides why it failed. */
const causeOf = (error: unknown): unknown =>
  error instanceof TypeError && error.cause !== undefined ? error.cause : error;

function banMs(headers: Headers): number {
  return Math.min(retryAfterMs(headers) || BAN_MS, MAX_BAN_MS);
}
