/** Requests, with retries while the server is busy, limits the rate or is unreachable. */
import { FathomError, quoted, type WaitKind } from './errors.js';
import { OpenReply, Trial } from './open-reply.js';
import { Retries, retryAfterMs, secondsText } from './retries.js';
import { RateQueue } from './rate-queue.js';

/** Statuses of a server, or a proxy in front of it, that is briefly unavailable. */
const PASSING_STATUSES = [500, 502, 503, 504];
const TOO_MANY_REQUESTS = 429;
/** A key with the whitespace that headers trim; other characters may be illegal in a header. */
const KEY_FORM = /^[ \t\r\n]*[\x21-\x7e]*[ \t\r\n]*$/;
/** The path of the API on its server. */
const API_PATH = '/api/v1';
const NO_URL = { protocol: '', origin: '', pathname: '' };
/** A try fails when the server sends nothing for this long. */
const SILENCE_LIMIT_MS = 60_000;

/** A wait before the next try. */
export interface Wait {
  kind: WaitKind;
  /** Says what happened, and when the next try starts. */
  message: string;
  waitMs: number;
}

export interface ClientOptions {
  /** The server's address, possibly with a path: `http://127.0.0.1:8080`. */
  url: string;
  /** The API key. */
  key: string;
  /** Replaces the platform's fetch. */
  fetch?: typeof fetch;
  /** Whether to retry after 429, 500, 502 to 504 and lost connections; default: true. */
  retry?: boolean;
  /** Called before every wait. */
  onWait?: (wait: Wait) => void;
  /** Called with the headers of every reply: limits, quota, request id. */
  onReply?: (headers: Headers, status: number) => void;
}

export interface RequestOptions {
  /** Aborts the request, which then rejects with the signal's reason. */
  signal?: AbortSignal;
}

interface Request extends RequestOptions {
  method: 'GET' | 'POST';
  /** Including the query. */
  path: string;
  /** Default: JSON. */
  accept?: string;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

/** A reply of status 200, its content decoded. */
export interface Reply {
  headers: Headers;
  bytes: Uint8Array<ArrayBuffer>;
}

export class Http {
  readonly base: string;
  private readonly queue = new RateQueue();

  /** @throws TypeError if `url` is not an http or https URL of a server */
  constructor(private readonly options: ClientOptions) {
    this.base = baseOf(options.url);
  }

  /**
   * @throws FathomError
   * @throws the signal's reason once it is aborted
   */
  async request(request: Request): Promise<Reply> {
    const { key } = this.options;
    if (!KEY_FORM.test(key)) {
      // The server's status for a wrong key.
      throw new FathomError(
        'key: expected an API key; this text has characters that keys never have',
        { status: 401 },
      );
    }
    const retries = new Retries();
    const place = this.queue.place();
    for (;;) {
      await this.queue.begin(place, request.signal);
      let left = 0;
      let pausedUntilMs = 0;
      try {
        const outcome = await this.attempt(request);
        if ('reply' in outcome) {
          left = leftOf(outcome.reply.headers);
          return outcome.reply;
        }
        const { failure, kind, askedMs } = outcome;
        if (kind === null || !this.retries) throw failure;
        const waitMs = retries.next(kind, askedMs, failure);
        this.tell(kind, failure, waitMs);
        if (kind === 'limited') this.queue.limit(waitMs);
        else pausedUntilMs = performance.now() + waitMs;
      } finally {
        this.queue.end(place, left);
      }
      await sleepUntil(pausedUntilMs, request.signal);
    }
  }

  /** The document of a JSON reply. @throws FathomError */
  async json<T>(request: Request): Promise<T> {
    const { bytes, headers } = await this.request(request);
    try {
      return JSON.parse(new TextDecoder().decode(bytes)) as T;
    } catch (cause) {
      const details = { status: 200, requestId: requestIdOf(headers), cause };
      throw new FathomError(`${this.base} did not answer with JSON`, details);
    }
  }

  private async attempt(request: Request): Promise<Outcome> {
    let got: Reply & { status: number };
    try {
      got = await this.get(request);
    } catch (cause) {
      request.signal?.throwIfAborted();
      return { failure: this.noReply(cause), kind: 'connection', askedMs: null };
    }
    const { status } = got;
    this.options.onReply?.(got.headers, status);
    if (status === 200) return { reply: got };
    const failure = failureOf(this.base, got);
    return { failure, kind: kindOf(failure), askedMs: failure.retryAfterMs };
  }

  get retries(): boolean {
    return this.options.retry ?? true;
  }

  /**
   * One try of a request whose reply is read as it comes.
   * @param silenceMs a read fails when the server sends nothing for this long
   * @throws FathomError; the signal's reason once it is aborted
   */
  async open(request: Request, silenceMs: number): Promise<OpenReply> {
    let open: OpenReply | null = null;
    try {
      open = await this.begin(request, silenceMs);
      if (open.status === 200) return open;
      const reply = { ...open, bytes: await open.rest() };
      open.close();
      throw failureOf(this.base, reply);
    } catch (cause) {
      open?.close();
      request.signal?.throwIfAborted();
      throw cause instanceof FathomError ? cause : this.noReply(cause);
    }
  }

  /** The error of a try without a reply, or without the rest of it. */
  noReply(cause: unknown, what = `no reply from ${this.base}`): FathomError {
    return new FathomError(`${what} (${quoted(reasonOf(cause))})`, { status: null, cause });
  }

  /** Waits until a time on the clock of performance.now(), and calls `onWait`. */
  async wait(
    kind: WaitKind,
    failure: FathomError,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<void> {
    this.tell(kind, failure, waitMs);
    await sleepUntil(performance.now() + waitMs, signal);
  }

  private tell(kind: WaitKind, failure: FathomError, waitMs: number): void {
    const message = `${failure.message}; trying again in ${secondsText(waitMs)}`;
    this.options.onWait?.({ kind, message, waitMs });
  }

  /** One try: the whole reply, decoded. */
  private async get(request: Request): Promise<Reply & { status: number }> {
    const open = await this.begin(request, SILENCE_LIMIT_MS);
    try {
      const { status, headers } = open;
      return { status, headers, bytes: await open.rest() };
    } finally {
      open.close();
    }
  }

  /** Sends a request. Does not follow redirects, which would send the key elsewhere. */
  private async begin(request: Request, silenceMs: number): Promise<OpenReply> {
    const { method, path, accept = 'application/json', body, headers, signal } = request;
    const trial = new Trial(signal, silenceMs);
    const send = this.options.fetch ?? fetch;
    try {
      const response = send(`${this.base}${API_PATH}${path}`, {
        method,
        headers: {
          accept,
          // Browsers ignore this, and send the codings that they can decode.
          'accept-encoding': 'br, gzip',
          'x-api-key': this.options.key,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        redirect: 'manual',
        signal: trial.signal,
      });
      return new OpenReply(await trial.unlessEnded(response), trial);
    } catch (error) {
      trial.close();
      throw error;
    }
  }
}

function baseOf(url: string): string {
  const { protocol, origin, pathname } = URL.canParse(url) ? new URL(url) : NO_URL;
  if (!['http:', 'https:'].includes(protocol)) {
    throw new TypeError(
      `url: expected an address such as http://127.0.0.1:8080; was '${quoted(url)}'`,
    );
  }
  const base = `${origin}${pathname}`.replace(/\/+$/, '');
  if (base.endsWith(API_PATH)) {
    throw new TypeError(`url: expected the server's address without ${API_PATH}`);
  }
  return base;
}

type Outcome =
  | { reply: Reply }
  /** `kind` is null if another try would not help. */
  | { failure: FathomError; kind: WaitKind | null; askedMs: number | null };

/** How many more requests the key's limit leaves room for; infinite if the reply does not say. */
function leftOf(headers: Headers): number {
  return Number(headers.get('x-ratelimit-remaining') ?? Infinity);
}

/** The reason behind fetch()'s 'fetch failed'; the first one if several addresses were tried. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const { message, code, cause } = error as Error & { code?: string; cause?: unknown };
  if (cause instanceof Error) return reasonOf(cause);
  const reason = message || code || 'failed';
  return code === 'ECONNREFUSED' ? `${reason}; is a server running there?` : reason;
}

function failureOf(
  base: string,
  { status, headers, bytes }: Reply & { status: number },
): FathomError {
  const text = new TextDecoder().decode(bytes);
  const { message, error, error_code: code, parameter, ...fields } = errorBody(text);
  const given = [message, error].find((one) => typeof one === 'string');
  const location = headers.get('location');
  const reason =
    given ?? (location === null ? text || 'no reason given' : `redirected to ${location}`);
  return new FathomError(`${base} answered ${status}: ${quoted(reason)}`, {
    status,
    code: typeof code === 'string' ? code : null,
    parameter: typeof parameter === 'string' ? quoted(parameter) : null,
    retryAfterMs: retryAfterMs(headers, Date.now()),
    fields,
    requestId: requestIdOf(headers),
    cause: quoted(reason),
  });
}

export function requestIdOf(headers: Headers): string | null {
  const id = headers.get('x-request-id');
  return id === null ? null : quoted(id);
}

function errorBody(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Why another try may succeed; null: it would not. */
export function kindOf({ status, code, retryAfterMs, requestId }: FathomError): WaitKind | null {
  if (status === TOO_MANY_REQUESTS) {
    // Fathom asks for no wait where none helps: the request costs more than the quota. A proxy may just not say.
    return retryAfterMs === null && requestId !== null ? null : 'limited';
  }
  if (code === 'damaged_data') return null;
  if (status === null || !PASSING_STATUSES.includes(status)) return null;
  return code === 'replay_busy' ? 'busy' : 'connection';
}

/** @param untilMs on the clock of performance.now() */
async function sleepUntil(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const waitMs = untilMs - performance.now();
  if (waitMs <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, waitMs);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
