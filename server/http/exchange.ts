/**
 * One request and its reply, whatever the engine: `uws-exchange.ts` and `node-exchange.ts` receive its body and send its
 * reply. Nothing is sent after the client has disconnected.
 */
import type { BytesInFlight } from './budget.js';
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
import type { OpenSocket, ReplyStream } from './outlet.js';
import { checkSize, MAX_READ_AHEAD_BYTES, type OnChunk, wholeBody } from './request-body.js';
import { headerOf, isHandshake, offeredProtocols, type RequestHead } from './request-head.js';
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

export interface ReplyHead {
  status: number;
  reason: string;
  /** All but the length. */
  headers: Headers;
  /** Whether the connection ends with this reply. */
  isLast: boolean;
}

export interface ExchangeHost extends StallLimits {
  /** Makes an id for a request that has none. */
  nextId(): string;
  /** Bytes of replies that the kernel has not taken yet. */
  bytesInFlight: BytesInFlight;
  /** Cuts the slowest reader among the clients with a key, or among those without; false: none is slow. */
  cutSlowest(isKeyless: boolean): boolean;
  /** Whether the server is closing: replies then tell clients not to reuse the connection. */
  closing(): boolean;
  /** Called when the exchange is over: the reply was sent in full, or abandoned. */
  onEnd(exchange: Exchange): void;
}

export abstract class Exchange {
  readonly id: string;
  readonly method: string;
  /** The path as sent, percent-encoded. */
  readonly path: string;
  /** The query string as sent, without its question mark. */
  readonly query: string;
  /** The pattern of the matching route; null: none matches. */
  route: string | null = null;
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
  /** Of a reply that the kernel has not taken yet. */
  private stallWatch: StallWatch | null = null;
  /** Of a request whose handler is called later. */
  private keptOrigin: RequestOrigin | null = null;
  /** The request's body, read for a handler that is called later; null: it is not. */
  private bodyAhead: Promise<Uint8Array> | null = null;
  /** The reply's body, if it is freed once it has been sent. */
  private onceBody: Uint8Array | null = null;
  private countedBytes = 0;
  private readonly startedMs = performance.now();
  /** The reply's status; null before the reply, and if the client disconnected first. */
  status: number | null = null;
  /** Bytes of the reply's body that the kernel has taken. */
  bytes = 0;

  constructor(
    private readonly host: ExchangeHost,
    protected readonly head: RequestHead,
  ) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    const givenId = this.header(REQUEST_ID_HEADER);
    this.id = givenId !== '' && REQUEST_ID.test(givenId) ? givenId : host.nextId();
    this.replyHeaders = [['X-Request-Id', this.id]];
  }

  /** The address at the other end of the connection; until the handler first awaits anything. */
  protected abstract address(): string;

  /** Receives the request's body, once; until the handler first awaits anything. The engine drops a body that nobody reads. */
  protected abstract receive(onChunk: OnChunk): void;

  /**
   * Sends the reply. To HEAD it sends what a GET would get, without the body.
   * @param body must not change afterwards; null: the status has none
   * @returns whether the kernel took all at once; otherwise took() follows
   */
  protected abstract send(head: ReplyHead, body: Uint8Array | null): boolean;

  /**
   * Sends a reply whose end is not known yet.
   * @param filler bytes that the client ignores between any two writes
   * @param onTaken is called when the kernel has taken some of what waited
   */
  protected abstract sendStream(
    head: ReplyHead,
    filler: Uint8Array,
    onTaken: () => void,
  ): ReplyStream;

  /** Whether the engine can turn the connection into a WebSocket. */
  protected abstract readonly canUpgrade: boolean;

  /** Does so. @param protocol one of those that the client offers; null: none */
  protected abstract upgrade(headers: Headers, protocol: string | null, open: OpenSocket): void;

  /** Cuts the client's connection. */
  protected abstract cut(): void;

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
    return (
      this.keptOrigin ?? {
        address: this.address(),
        forwardedFor: this.header(FORWARDED_FOR_HEADER),
      }
    );
  }

  /** A request header's value, its lines joined by commas; '' if not sent. */
  header(name: RequestHeader): string {
    return headerOf(this.head, name);
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
    if (this.keptOrigin === null) return this.receiveWhole(maxBytes);
    return (
      this.bodyAhead?.then((body) => checkSize(body, maxBytes)) ?? Promise.reject(replayBusy())
    );
  }

  /**
   * Prepares for a handler that is called later: stores what the engine provides only now.
   * @param readsAhead whether to keep the body until then
   */
  postpone(readsAhead: boolean): void {
    this.keptOrigin = this.origin;
    if (!readsAhead) return;
    this.bodyAhead = this.receiveWhole(MAX_READ_AHEAD_BYTES);
    this.bodyAhead.catch(() => undefined);
  }

  private receiveWhole(maxBytes: number): Promise<Uint8Array> {
    return wholeBody((onChunk) => this.receive(onChunk), maxBytes);
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
    if (bodyUse === 'once') this.onceBody = body;
    if (this.send(head, body)) this.took(sent, true);
    else this.stallWatch = new StallWatch(this.host, () => this.abandon());
  }

  /** Called as the kernel takes more of the reply's body. @param bytes how much it has taken so far */
  protected took(bytes: number, isAll: boolean): void {
    this.bytes = bytes;
    if (!isAll) {
      this.stallWatch?.took(bytes);
      return;
    }
    this.end();
    if (this.onceBody !== null) freeMemory(this.onceBody);
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
    return this.canUpgrade && isHandshake(this.head) ? offeredProtocols(this.head) : null;
  }

  /** Turns the connection into a WebSocket, which ends the exchange. Call it instead of reply(). */
  openSocket(protocol: string | null, open: OpenSocket): void {
    if (this.answered) return;
    this.status = 101;
    const headers = [...this.replyHeaders, ...this.settled(101)];
    this.upgrade(headers, protocol, open);
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
    const stream = this.sendStream(head, filler, onTaken);
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
      cut: () => this.cut(),
    };
  }

  /** Cuts the client's connection. */
  abandon(): void {
    if (this.state !== 'ended') this.cut();
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

  /** Called when the connection ends before the reply is sent in full. Afterwards nothing is sent. */
  protected lost(): void {
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
