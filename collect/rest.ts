/** Requests for books by REST: one at a time to a host, spaced, and silent for as long as the host asks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../storage/errors.js';
import { JsonFields } from '../storage/import/fields.js';
import { boundedText } from './bounded-text.js';
import { parseMessage } from './capture-lines.js';
import { retryAfterMs } from './retry-after.js';
import { withTimeout } from './timeout.js';

/** Between two requests to a host, or two connections; OKX takes three connections a second. */
const GAP_MS = 350;
const TIMEOUT_MS = 10_000;
/** A longer reply is refused; Coinbase's whole book has 4 MB. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024;
/** How long a host is left alone that says 429 or 418 without a time, and at most. */
const BAN_MS = 10_000;
const MAX_BAN_MS = 600_000;

interface RestLimits {
  /** Instead of every other gap. */
  gapMs?: number;
  timeoutMs?: number;
}

interface RestRequest {
  method?: 'GET' | 'POST';
  /** Until the next request to the host. */
  gapMs?: number | undefined;
}

export class RestClient {
  /** By host: the end of the last request or connection, and of the gap after it. */
  private readonly turns = new Map<string, Promise<unknown>>();
  /** By host: until when it is left alone, in the time of performance.now(). */
  private readonly bans = new Map<string, number>();

  constructor(private readonly limits: RestLimits = {}) {}

  /** The JSON object of a reply. @throws Error if there is none, or `stop` aborts */
  fetch(url: string, stop: AbortSignal, request: RestRequest = {}): Promise<JsonFields> {
    const { method = 'GET', gapMs } = request;
    const { host } = new URL(url);
    const reply = this.inTurn(host, stop, gapMs, () =>
      withTimeout(stop, this.limits.timeoutMs ?? TIMEOUT_MS, async (signal) => {
        const response = await fetch(url, { method, signal });
        if (!response.ok) {
          this.refused(host, response.status, response.headers);
          await response.body?.cancel();
          throw new Error(`${host} replies ${response.status}`);
        }
        const tooLong = (): Error => new Error('the reply is longer than 16 MiB');
        const text = await boundedText(response, MAX_REPLY_BYTES, tooLong);
        return new JsonFields(host, parseMessage(text, host));
      }),
    );
    return reply.catch((error: unknown) => {
      throw new Error(
        error instanceof Error && error.name === 'TimeoutError'
          ? `${host} is silent`
          : messageOf(causeOf(error)),
      );
    });
  }

  /** Waits until a connection to a host may begin. @throws if `stop` aborts */
  turn(host: string, stop: AbortSignal): Promise<void> {
    return this.inTurn(host, stop, undefined, () => Promise.resolve());
  }

  /** Leaves a host alone if its refusal, of a request or a connection, asks for it. */
  refused(host: string, status: number, headers: Headers): void {
    const isBan = status === 429 || status === 418;
    if (!isBan && status !== 503) return;
    const askedMs = retryAfterMs(headers) ?? (isBan ? BAN_MS : 0);
    const until = performance.now() + Math.min(askedMs, MAX_BAN_MS);
    this.bans.set(host, Math.max(until, this.bans.get(host) ?? 0));
  }

  /** Does what is to be done at a host when what came before is over, the gap too, and no ban holds. */
  private inTurn<T>(
    host: string,
    stop: AbortSignal,
    gapMs: number | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const before = this.turns.get(host) ?? Promise.resolve();
    let isDone = false;
    const result = before.then(async () => {
      for (;;) {
        stop.throwIfAborted();
        const leftMs = (this.bans.get(host) ?? 0) - performance.now();
        if (leftMs <= 0) break;
        await sleep(leftMs, undefined, { signal: stop, ref: false });
      }
      isDone = true;
      return work();
    });
    const over = result.catch(() => undefined);
    const pauseMs = this.limits.gapMs ?? gapMs ?? GAP_MS;
    this.turns.set(
      host,
      // The gap keeps no process alive. Who has stopped before its turn needs none.
      over.then(() => (isDone ? sleep(pauseMs, undefined, { ref: false }) : undefined)),
    );
    return result;
  }
}

/** fetch() hides why it failed. */
const causeOf = (error: unknown): unknown =>
  error instanceof TypeError && error.cause !== undefined ? error.cause : error;
