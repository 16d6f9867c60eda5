/** A page of a running server, however often it has to be asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReplayError, repeated } from './errors.js';
import { ConnectionError, get, type HttpReply } from './http.js';
import { PageFault, parsePage, type RemotePage } from './page.js';
import { Retries, retryAfterMs, seconds, type RetryKind } from './retry.js';

/** What a server, or a proxy in front of it, says when it is away or fails for a moment. */
const PASSING_STATUSES = [500, 502, 503, 504];
const TOO_MANY_REQUESTS = 429;

export interface FetchOptions {
  key: string;
  signal: AbortSignal;
  /** Told before every wait. */
  onWait: (kind: RetryKind, text: string) => void;
}

/**
 * Asks until the page is there: waits out `replay_busy`, rate limits and lost connections within
 * their bounds.
 * @throws ReplayError with the server's own words where it refuses, or where a bound is reached
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

async function ask(url: URL, { key, signal }: FetchOptions): Promise<Outcome> {
  let reply: HttpReply;
  try {
    reply = await get(url, { accept: 'application/json', 'x-api-key': key }, signal);
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    const message = `no reply from ${url.origin} (${repeated(error.message)})`;
    return { kind: 'connection', askedMs: null, message };
  }
  if (reply.status === 200) return { page: pageOf(url, reply) };
  const message = `${url.origin} answered ${reply.status}: ${wordsOf(reply)}`;
  const kind = retryKind(reply);
  if (kind === null) throw new ReplayError(message);
  return { kind, askedMs: retryAfterMs(reply.headers, Date.now()), message };
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

/** What the server says of its refusal. */
function wordsOf(reply: HttpReply): string {
  const { message, error } = errorBody(reply);
  const words = [message, error].find((text) => typeof text === 'string');
  const { location } = reply.headers;
  if (words === undefined && location !== undefined) return repeated(`redirected to ${location}`);
  return repeated(words ?? (reply.body || 'no reason given'));
}

function errorBody({ body }: HttpReply): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
