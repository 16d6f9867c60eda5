/** Follows a token's depth over Server-Sent Events, which fetch can read in Node and in browsers. */
import { FathomError, quoted, type WaitKind } from './errors.js';
import type { ReplayPage } from './generated/api.js';
import { type Http, kindOf, requestIdOf, type RequestOptions } from './http.js';
import type { OpenReply } from './open-reply.js';
import { pathWith } from './methods.js';
import type { ReplayParameters } from './replay.js';
import { backoffMs, RETRY_LIMITS } from './retries.js';

/** The server sends a heartbeat after 5 s: a connection that is silent for longer than this is lost. */
const SILENCE_MS = 16_000;
/** The longest event. The server's messages have about 0.5 MB, unless a single snapshot is larger. */
const MAX_EVENT_CHARS = 32 * 1024 * 1024;

/** Parameters of a live subscription: those of `replay` that do not choose a window, and where to begin. */
export type FollowParameters = Omit<ReplayParameters, 'to' | 'step' | 'markets'> & {
  /** Continues after the message with this cursor; not together with `from`. */
  cursor?: string;
};

export interface FollowOptions extends RequestOptions {
  /** Whether to yield heartbeats too; default: false. */
  heartbeats?: boolean;
  /** Called with the `cursor` and `next_from` of each message that is not yielded; the next message waits for it. */
  onCursor?: (cursor: string, nextFrom: number) => void | Promise<void>;
}

interface Position {
  /** The time from which new snapshots follow, epoch seconds. */
  next_from: number;
  /** The subscription's progress after this message. */
  cursor: string;
}

/**
 * Snapshots that the caller does not have yet (`snapshots`), or that replace the caller's of the same `t` or came late
 * (`revised`).
 */
export interface LiveSnapshots
  extends Position, Pick<ReplayPage, 'markets' | 'groups' | 'snapshots'> {
  type: 'snapshots' | 'revised';
}

/** Times that no longer have a snapshot. */
export interface LiveDeleted extends Position {
  type: 'deleted';
  t: number[];
}

/**
 * `subscribed`, yielded only if history begins later than requested, or the token has no market of a requested venue;
 * `reset`: the server does not know which revisions followed the cursor; `lagged`: the caller read too slowly, and what it
 * missed follows; `heartbeat`: nothing has changed.
 */
export interface LiveNotice extends Position {
  type: 'subscribed' | 'reset' | 'lagged' | 'heartbeat';
  /** Of `subscribed`. */
  clamped?: true;
  /** Of `subscribed`: requested venues of which the token has no market so far. */
  venues_not_found?: string[];
  /** Of `reset`. */
  reason?: string;
  /** Of `heartbeat`: the server's time, epoch seconds. */
  t?: number;
}

export type LiveMessage = LiveSnapshots | LiveDeleted | LiveNotice;

/** Messages that are not yielded. */
type OtherMessage =
  | ({ type: 'closing'; retry_ms: number } & Position)
  | { type: 'error'; error?: unknown; message?: unknown; error_code?: unknown; retry_ms?: unknown }
  | { type: 'close'; code: number; reason: string };

/** The HTTP statuses that the server's close codes stand for. */
const STATUS_OF_CODE: Readonly<Partial<Record<number, number>>> = {
  4401: 401,
  4403: 403,
  4429: 429,
};
const RESTART = 1012;

/** The server ended the stream, and said when to reconnect. */
class Restart extends Error {
  constructor(readonly retryMs: number) {
    super('the server is stopping');
  }
}

export async function* follow(
  http: Http,
  address: string,
  { cursor, from, ...view }: FollowParameters,
  { heartbeats = false, onCursor, signal }: FollowOptions,
): AsyncGenerator<LiveMessage> {
  // The server refuses both together.
  let begin: Pick<FollowParameters, 'cursor' | 'from'> = { cursor, from };
  for (let failures = 0; ; failures++) {
    let open: OpenReply | null = null;
    try {
      const path = pathWith('/stream/{address}', { address, ...view, ...begin });
      open = await http.open(
        { method: 'GET', path, accept: 'text/event-stream', signal },
        SILENCE_MS,
      );
      const requestId = requestIdOf(open.headers);
      let retryMs = 0;
      for await (const message of messagesOf(open)) {
        if (message.type === 'close') throw ended(message, retryMs, requestId);
        if (message.type === 'error') throw failed(message, requestId);
        failures = 0;
        begin = { cursor: message.cursor };
        if (message.type === 'closing') retryMs = message.retry_ms;
        if (isYielded(message, heartbeats)) yield message;
        else await onCursor?.(message.cursor, message.next_from);
      }
      throw new Error('the connection was closed');
    } catch (error) {
      signal?.throwIfAborted();
      const failure =
        error instanceof FathomError
          ? error
          : http.noReply(error, `the stream from ${http.base} ended`);
      const kind = error instanceof Restart ? 'connection' : kindOfFailure(http, failure);
      if (kind === null) throw failure;
      const askedMs = error instanceof Restart ? error.retryMs : failure.retryAfterMs;
      // A quota that is used up until the next month.
      if (askedMs !== null && askedMs > RETRY_LIMITS[kind].maxWaitMs) throw failure;
      open?.close();
      await http.wait(kind, failure, backoffMs(askedMs, failures), signal);
    } finally {
      open?.close();
    }
  }
}

type Notice = Pick<LiveNotice, 'clamped' | 'venues_not_found'> & { type: string };

/** Whether the iterator yields a message. */
function isYielded(
  message: LiveMessage | Extract<OtherMessage, { type: 'closing' }>,
  heartbeats: boolean,
): message is LiveMessage {
  const { type, clamped, venues_not_found: missing } = message as Notice;
  if (type === 'closing') return false;
  if (type === 'subscribed') return clamped === true || missing !== undefined;
  return heartbeats || type !== 'heartbeat';
}

/** Why another try may succeed; null: it would not, or the client does not retry. */
const kindOfFailure = (http: Http, failure: FathomError): WaitKind | null =>
  http.retries
    ? failure.status === null && failure.code === null
      ? 'connection'
      : kindOf(failure)
    : null;

type Closed = Extract<OtherMessage, { type: 'close' }>;

function ended({ code, reason }: Closed, retryMs: number, requestId: string | null): Error {
  if (code === RESTART) return new Restart(retryMs);
  const message = `the server closed the stream (${code}): ${quoted(reason)}`;
  return new FathomError(message, { status: STATUS_OF_CODE[code] ?? null, requestId });
}

/** The codes of a server that asks its clients to come again. */
const UNAVAILABLE: ReadonlySet<unknown> = new Set(['replay_busy', 'archive_unavailable']);

type Failed = Extract<OtherMessage, { type: 'error' }>;

function failed(
  { error, message, error_code: given, retry_ms: asked }: Failed,
  requestId: string | null,
): Error {
  const reason = [message, error].find((one) => typeof one === 'string') ?? 'no reason given';
  const retryAfterMs = typeof asked === 'number' ? asked : null;
  const status = UNAVAILABLE.has(given) ? 503 : null;
  const code = typeof given === 'string' ? given : 'error';
  const details = { status, code, retryAfterMs, requestId };
  return new FathomError(`the server ended the subscription: ${quoted(reason)}`, details);
}

/** The messages of an event stream. @throws if it is cut off, silent or not an event stream */
async function* messagesOf(open: OpenReply): AsyncGenerator<LiveMessage | OtherMessage> {
  const decoder = new TextDecoder();
  let text = '';
  for (let chunk; (chunk = await open.next()) !== null;) {
    text += decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf('\n\n');
    if (end < 0) {
      if (text.length > MAX_EVENT_CHARS) throw new Error('an event that does not end');
      continue;
    }
    const events = text.slice(0, end).split('\n\n');
    text = text.slice(end + 2);
    for (const event of events) {
      const data = event.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) yield JSON.parse(data.slice('data: '.length)) as LiveMessage;
    }
  }
}
