/**
 * One request and its reply. The exchange owns the engine's request: nothing else touches it, and the
 * exchange does not reply to it after the client has disconnected.
 */
import { RequestBody } from './body.js';
import type { BytesInFlight } from './budget.js';
import type { EngineRequest, OpenSocket, ReplyStream } from './engine.js';
import {
  type ApiError,
  type Headers,
  namesTooLarge,
  NOT_STORED,
  reasonPhrase,
  replayBusy,
  replyTooLarge,
} from './errors.js';
import { freeMemory } from './free-memory.js';
import { type StallLimits, StallWatch } from './stall-watch.js';

const REQUEST_ID_HEADER = 'x-request-id';
const FORWARDED_FOR_HEADER = 'x-forwarded-for';
/** An id that a client or a proxy may give its request. The log and the reply repeat it. */
const REQUEST_ID = /^[\w.:+/=~-]{1,128}$/;
/** Request headers that the server reads. */
type RequestHeader =
  | 'x-api-key'
  | 'accept'
  | 'accept-encoding'
  | 'if-none-match'
  | 'want-repr-digest'
  | 'origin'
  | 'last-event-id'
  | typeof FORWARDED_FOR_HEADER
  | typeof REQUEST_ID_HEADER
  // Only of requests with a body.
  | 'content-type'
  | 'content-encoding'
  // It makes an OPTIONS request a preflight.
  | 'access-control-request-method';

/**
 * Called once when a request ends: with the status when the reply's head is written, or with null if
 * the client disconnected first.
 * @returns headers for that reply
 */
type Settle = (status: number | null) => Headers;

/** The advice of an endpoint that has none of its own. */
const ASK_FOR_LESS = 'ask for less';

/** Bodies up to this size do not count as bytes in flight, so errors always fit. */
const UNCOUNTED_BODY_BYTES = 16 * 1024;

/**
 * Who uses a reply's body. `once`: only this reply, and its memory is freed once it has been sent. `shared`: other
 * replies, too. `permanent`: all replies as long as the process runs, and it does not count as bytes in flight.
 */
type BodyUse = 'once' | 'shared' | 'permanent';

interface RequestOrigin {
  /** At the other end of the connection. */
  address: string;
  /** All lines of X-Forwarded-For: some proxies append to its line, others add a line. */
  forwardedFor: string;
}

export interface ExchangeHost extends StallLimits {
  /** Bytes of replies that the kernel has not taken yet. */
  bytesInFlight: BytesInFlight;
  /** Cuts the slowest reader among the clients with a key, or among those without; false: none is slow. */
  cutSlowest(isKeyless: boolean): boolean;
  /** Whether the server is closing: replies then tell clients not to reuse the connection. */
  closing(): boolean;
  /** Called when the exchange is over: the reply was sent in full, or abandoned. */
  onEnd(exchange: Exchange): void;
}

export class Exchange {
  readonly id: string;
  readonly method: string;
  /** The path as sent, percent-encoded. */
  readonly path: string;
  /** The query string as sent, without its question mark. */
  readonly query: string;
  /** The pattern of the matching route; null: none matches. */
  route: string | null = null;
  private readonly host: ExchangeHost;
  private readonly request: EngineRequest;
  private readonly replyHeaders: (readonly [string, string])[];
  private state: 'open' | 'sending' | 'ended' = 'open';
  /** Whether the client has disconnected or was cut off. */
  aborted = false;
  private cancelFlag: Int32Array | null = null;
  private settle: Settle | null = null;
  /** The id of the request's key; null: it has none, or none that is known yet. */
  keyId: string | null = null;
  /** What its client may ask for instead of a reply that is too large, beside a compressed one; null: nothing. */
  smaller: string | null = null;
  private gone: (() => void) | null = null;
  private readonly body: RequestBody;
  /** Of a reply that the kernel has not taken yet. */
  private stallWatch: StallWatch | null = null;
  private keptOrigin: RequestOrigin | null = null;
  private countedBytes = 0;
  private readonly startedMs = performance.now();
  /** The reply's status; null before the reply, and if the client disconnected first. */
  status: number | null = null;
  /** Bytes of the reply's body that the kernel has taken. */
  bytes = 0;

  /** @param nextId makes an id for a request that has none */
  constructor(host: ExchangeHost, nextId: () => string, request: EngineRequest) {
    this.host = host;
    this.request = request;
    this.body = new RequestBody(request);
    this.method = request.method;
    this.path = request.path;
    this.query = request.query;
    const givenId = this.header(REQUEST_ID_HEADER);
    this.id = givenId !== '' && REQUEST_ID.test(givenId) ? givenId : nextId();
    this.replyHeaders = [['X-Request-Id', this.id]];
    request.onGone(() => this.onAborted());
  }

  /** Milliseconds since the request arrived. */
  get ageMs(): number {
    return performance.now() - this.startedMs;
  }

  /** Whether the request has no key, or none that is known yet. */
  get isKeyless(): boolean {
    return this.keyId === null;
  }

  /** Whether its reply counts as bytes in flight. */
  get isCounted(): boolean {
    return this.countedBytes > 0;
  }

  /** How long the client has read below the minimum rate; 0 if nothing waits for it. */
  get stalledMs(): number {
    return this.stallWatch?.stalledMs ?? 0;
  }

  /** Whether a reply has been sent to the engine, or the client has disconnected. */
  get answered(): boolean {
    return this.state !== 'open';
  }

  /** Whether the reply was sent in full, or abandoned. */
  get isOver(): boolean {
    return this.state === 'ended';
  }

  /** A flag in shared memory for other threads: element 0 is 1 once the client has disconnected. */
  get cancel(): Int32Array {
    this.cancelFlag ??= new Int32Array(new SharedArrayBuffer(4));
    if (this.aborted) Atomics.store(this.cancelFlag, 0, 1);
    return this.cancelFlag;
  }

  /** Where the request came from. Only before the handler first awaits anything. */
  get origin(): RequestOrigin {
    const { request } = this;
    return (
      this.keptOrigin ?? {
        address: request.address(),
        forwardedFor: this.header(FORWARDED_FOR_HEADER),
      }
    );
  }

  /** A request header's value, its lines joined by commas; '' if not sent. */
  header(name: RequestHeader): string {
    return this.request.header(name);
  }

  /** Adds a header to the reply, whatever its status. */
  addHeader(name: string, value: string): void {
    this.replyHeaders.push([name, value]);
  }

  /** Sets the key of the request: the reply's bytes count against its limit. */
  belongsTo(keyId: string): void {
    this.keyId = keyId;
  }

  /** Sets the listener that is called once, when the request ends. */
  onSettled(settle: Settle): void {
    this.settle = settle;
  }

  /** Sets the listener that is called if the client disconnects before its reply is complete. */
  onGone(listener: () => void): void {
    this.gone = listener;
  }

  /**
   * Reads the request's body. Call this before the handler first awaits anything.
   * @throws ApiError 413 as soon as it exceeds `maxBytes`
   */
  readBody(maxBytes: number): Promise<Uint8Array> {
    return this.body.read(maxBytes);
  }

  /**
   * Prepares for a handler that is called later: stores what the engine provides only now.
   * @param readsAhead whether to keep the body until then
   */
  postpone(readsAhead: boolean): void {
    this.keptOrigin = this.origin;
    this.body.postpone(readsAhead);
  }

  replyJson(status: number, document: unknown, headers: Headers = []): void {
    const body = Buffer.from(JSON.stringify(document));
    this.reply(status, [['Content-Type', 'application/json'], ...headers], body);
  }

  replyError({ status, body, headers }: ApiError): void {
    this.replyJson(status, body, [NOT_STORED, ...headers]);
  }

  /**
   * Replies once; further calls, and calls after the client has disconnected, do nothing. If too many
   * bytes are in flight, cuts the slowest reader, or replies 503; 400 if the body alone is too large.
   *
   * @param body must not change afterwards; null if the status has none (304)
   */
  reply(
    status: number,
    headers: Headers,
    body: Uint8Array | null,
    bodyUse: BodyUse = 'shared',
  ): void {
    if (this.answered) return;
    const sent = this.method === 'HEAD' || body === null ? 0 : body.byteLength;
    const counted = sent > UNCOUNTED_BODY_BYTES && bodyUse !== 'permanent' ? sent : 0;
    const mostBytes = this.host.bytesInFlight.mostOf(this.keyId);
    if (counted > mostBytes) {
      this.replyError(replyTooLarge(counted, mostBytes, this.smallerThan(headers)));
      return;
    }
    if (!this.reserve(counted)) {
      this.replyError(replayBusy());
      return;
    }
    this.countedBytes = counted;
    this.state = 'sending';
    this.status = status;
    const head = {
      status,
      reason: reasonPhrase(status),
      headers: [...this.replyHeaders, ...headers, ...this.settled(status)],
      isLast: this.host.closing() || (sent === 0 && this.isUnlimited(status)),
    };
    const onSent = (): void => {
      this.end();
      if (bodyUse === 'once' && body !== null) freeMemory(body);
    };
    const isAllTaken = this.request.reply(head, body, (taken, isAll) => {
      this.bytes = taken;
      if (isAll) onSent();
      else this.stallWatch?.took(taken);
    });
    if (isAllTaken) {
      this.bytes = sent;
      onSent();
    } else this.stallWatch = new StallWatch(this.host, () => this.abandon());
  }

  /**
   * Call before names of markets are copied or encoded for the reply.
   * @param bytes of all that it lists
   * @throws ApiError 400 if there is never room for them
   */
  checkNames(bytes: number): void {
    const mostBytes = this.host.bytesInFlight.mostOf(this.keyId);
    if (bytes > mostBytes) throw namesTooLarge(bytes, mostBytes, this.smaller ?? ASK_FOR_LESS);
  }

  /** The protocols that the client offers for a WebSocket; null: it asks for none. */
  get socketProtocols(): readonly string[] | null {
    return this.request.socketProtocols;
  }

  /** Turns the connection into a WebSocket, which ends the exchange. Call it instead of reply(). */
  openSocket(protocol: string | null, open: OpenSocket): void {
    if (this.answered) return;
    this.status = 101;
    const headers = [...this.replyHeaders, ...this.settled(101)];
    this.request.openSocket(headers, protocol, open);
    this.end();
  }

  /**
   * Replies with a body whose end is not known yet. The caller bounds what waits for the client, and onGone() reports
   * when the client disconnects.
   * @param filler bytes that the client ignores between any two writes
   * @returns null if the client has already disconnected
   */
  stream(headers: Headers, filler: Uint8Array, onTaken: () => void): ReplyStream | null {
    if (this.answered) return null;
    this.state = 'sending';
    this.status = 200;
    const all = [...this.replyHeaders, ...headers, ...this.settled(200)];
    const head = { status: 200, reason: reasonPhrase(200), headers: all, isLast: true };
    const stream = this.request.stream(head, filler, onTaken);
    const { request } = this;
    return {
      get waitingBytes() {
        return stream.waitingBytes;
      },
      write: (bytes) => {
        if (this.state !== 'sending') return;
        this.bytes += bytes.byteLength;
        stream.write(bytes);
      },
      end: () => {
        if (this.state !== 'sending') return;
        stream.end();
        this.end();
      },
      cut: () => request.cut(),
    };
  }

  /** Cuts the client's connection. */
  abandon(): void {
    if (this.state !== 'ended') this.request.cut();
  }

  /** What to ask for instead of a reply with these headers. */
  private smallerThan(headers: Headers): string {
    const isPlain = headers.every(([name]) => name !== 'Content-Encoding');
    const advice = [isPlain ? 'send Accept-Encoding: gzip' : null, this.smaller];
    return advice.filter((one) => one !== null).join(', or ') || ASK_FOR_LESS;
  }

  /** Counts bytes as in flight. If there are too many, first cuts clients that read more slowly. */
  private reserve(bytes: number): boolean {
    for (;;) {
      const taken = this.host.bytesInFlight.take(this.keyId, bytes);
      if (taken === 'taken') return true;
      if (taken !== 'full' || !this.host.cutSlowest(this.isKeyless)) return false;
    }
  }

  /**
   * Whether no plan bounds how often the client may ask for this reply. uWebSockets.js buffers replies without a body
   * and does not report how many bytes wait: such a reply must then be the last of its connection.
   */
  private isUnlimited(status: number): boolean {
    return this.isKeyless || status === 403 || status === 429;
  }

  private settled(status: number | null): Headers {
    const settle = this.settle;
    this.settle = null;
    return settle === null ? [] : settle(status);
  }

  private onAborted(): void {
    this.aborted = true;
    if (this.cancelFlag) Atomics.store(this.cancelFlag, 0, 1);
    this.gone?.();
    this.end();
  }

  private end(): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.gone = null;
    this.stallWatch?.stop();
    this.stallWatch = null;
    this.settled(null);
    this.host.bytesInFlight.give(this.keyId, this.countedBytes);
    this.host.onEnd(this);
  }
}
