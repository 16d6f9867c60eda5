/** Fetches a page, with retries while the server is busy, limits the rate or is unreachable. */
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../../storage/errors.js';
import { wallMs } from '../../storage/wall-clock.js';
import { PageFault, parsePage, type RemotePage } from './page.js';
import { flagOf, ReplayError, repeated } from './request.js';

/** Statuses of a server, or a proxy in front of it, that is briefly unavailable. */
const PASSING_STATUSES = [500, 502, 503, 504];
const BAD_REQUEST = 400;
const TOO_MANY_REQUESTS = 429;
/** Maximum size of a decoded body; no full page reaches it. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;
/** A request is aborted when the server sends nothing for this long. */
const SILENCE_LIMIT_MS = 60_000;

/** Why a request is retried. */
export type RetryKind = 'busy' | 'limited' | 'connection';

export interface GetOptions {
  key: string;
  signal: AbortSignal;
}

interface FetchOptions extends GetOptions {
  /** Called before every wait. */
  onWait: (kind: RetryKind, text: string) => void;
}

/**
 * Retries after `replay_busy`, rate limits and lost connections, within bounds.
 * @throws ReplayError with the server's message if it refuses, or if a bound is reached
 * @throws UsageError if it refuses the value of a parameter
 * @throws the signal's reason once it is aborted
 */
export async function fetchPage(url: URL, options: FetchOptions): Promise<RemotePage> {
  const retries = new Retries();
  for (;;) {
    const outcome = await ask(url, options);
    if ('page' in outcome) return outcome.page;
    const waitMs = retries.next(outcome.kind, outcome.askedMs, outcome.message);
    options.onWait(outcome.kind, `${outcome.message}; trying again in ${seconds(waitMs)}`);
    await sleep(waitMs, undefined, { signal: options.signal });
  }
}

type Outcome = { page: RemotePage } | { kind: RetryKind; askedMs: number | null; message: string };

async function ask(url: URL, options: GetOptions): Promise<Outcome> {
  let reply: HttpReply;
  try {
    reply = await get(url, options);
  } catch (error) {
    options.signal.throwIfAborted();
    const message = `no reply from ${url.origin} (${repeated(reasonOf(error))})`;
    return { kind: 'connection', askedMs: null, message };
  }
  if (reply.status === 200) return { page: pageOf(url, reply) };
  const message = `${url.origin} answered ${reply.status}: ${wordsOf(reply)}`;
  const kind = retryKind(reply);
  if (kind === null) throw wrongFlag(reply) ?? new ReplayError(message);
  return { kind, askedMs: retryAfterMs(reply.headers, wallMs()), message };
}

interface HttpReply {
  status: number;
  headers: Headers;
  body: string;
}

/** One try: the whole reply, decoded. Does not follow redirects, which would send the key elsewhere. */
export async function get(url: URL, { key, signal }: GetOptions): Promise<HttpReply> {
  const silence = new AbortController();
  const timer = setTimeout(
    () => silence.abort(new Error(`no byte in ${SILENCE_LIMIT_MS / 1000} s`)),
    SILENCE_LIMIT_MS,
  );
  try {
    const reply = await fetch(url, {
      headers: { accept: 'application/json', 'x-api-key': key, 'accept-encoding': 'br, gzip' },
      redirect: 'manual',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of (reply.body ?? []) as AsyncIterable<Uint8Array>) {
      timer.refresh();
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) throw new Error(`a reply of more than ${MAX_BODY_BYTES} bytes`);
      chunks.push(chunk);
    }
    const { status, headers: received } = reply;
    return { status, headers: received, body: Buffer.concat(chunks).toString('utf8') };
  } finally {
    clearTimeout(timer);
  }
}

/** The reason behind fetch()'s 'fetch failed'; the first one if several addresses were tried. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const { message, code, cause } = error as NodeJS.ErrnoException & { cause?: unknown };
  return cause instanceof Error ? reasonOf(cause) : message || code || 'failed';
}

function pageOf(url: URL, { body }: HttpReply): RemotePage {
  try {
    return parsePage(body);
  } catch (error) {
    if (!(error instanceof PageFault)) throw error;
    throw new ReplayError(`${url.origin} answered with no replay page: ${error.message}`);
  }
}

function retryKind(reply: HttpReply): RetryKind | null {
  if (reply.status === TOO_MANY_REQUESTS) return 'limited';
  if (!PASSING_STATUSES.includes(reply.status)) return null;
  return errorBody(reply).error_code === 'replay_busy' ? 'busy' : 'connection';
}

/** The server's message. */
function wordsOf(reply: HttpReply): string {
  const { message, error } = errorBody(reply);
  const words = [message, error].find((text) => typeof text === 'string');
  const location = reply.headers.get('location');
  if (words === undefined && location !== null) return repeated(`redirected to ${location}`);
  return repeated(words ?? (reply.body || 'no reason given'));
}

/** The server's word that the value of a parameter is wrong, as one of the flag that it came from. */
function wrongFlag(reply: HttpReply): UsageError | null {
  const { parameter } = errorBody(reply);
  if (reply.status !== BAD_REQUEST || typeof parameter !== 'string') return null;
  const words = wordsOf(reply);
  const named = `${parameter}: `;
  return new UsageError(
    `${flagOf(repeated(parameter))}: ${words.startsWith(named) ? words.slice(named.length) : words}`,
  );
}

function errorBody({ body }: HttpReply): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

interface RetryLimit {
  /** Tries per page, including the first. */
  maxTries: number;
  /** Total wait per page. */
  maxWaitMs: number;
}

export const RETRY_LIMITS: Readonly<Record<RetryKind, RetryLimit>> = {
  busy: { maxTries: 120, maxWaitMs: 180_000 },
  limited: { maxTries: 20, maxWaitMs: 600_000 },
  connection: { maxTries: 9, maxWaitMs: 60_000 },
};

/** Waits without a Retry-After double from try to try, up to the maximum. */
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
/** Spreads the retries of clients that were refused together. */
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
   * @param askedMs the wait that the server asks for; null: none
   * @param message start of the error's message if it gives up
   * @throws ReplayError if tries or time are used up
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

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** Milliseconds of a Retry-After header (RFC 9110, 10.2.3): seconds, or a date; null without one. */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}
