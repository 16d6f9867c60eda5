/**
 * One request and its reply. The exchange owns uWebSockets.js' `res`: nothing else touches it, and
 * the exchange itself does not once the client has gone. What is needed of `req`, which is dead
 * after the handler returns, is copied as the exchange is made.
 */
import type { BytesInFlight } from './bytes-in-flight.js';
import { reasonPhrase, replayBusy, type ApiError } from './errors.js';
import { readBody } from './body.js';
import type { UwsRequest, UwsResponse } from './uws.js';

export type Headers = readonly (readonly [name: string, value: string])[];

/** Request headers that anything asks for; the others are not read. */
const REQUEST_HEADERS = [
  'x-api-key',
  'accept',
  'accept-encoding',
  'if-none-match',
  'want-repr-digest',
] as const;
/** Those that say what a body is. */
const BODY_HEADERS = ['content-type', 'content-encoding'] as const;
export type RequestHeader = (typeof REQUEST_HEADERS)[number] | (typeof BODY_HEADERS)[number];

/**
 * Told once how a request ended: its reply's status as the head is written, null where the client
 * has gone without a reply.
 * @returns headers for that reply
 */
export type Settle = (status: number | null) => Headers;

/**
 * uWebSockets.js cuts a connection 10 s after the kernel last took bytes, which a slow client with
 * large socket buffers reaches while it reads. So its timer is wound up this often, and the stall
 * limit decides.
 */
const REWIND_MS = 4_000;
/** Bodies up to this are not counted against the bytes in flight, so that errors always fit. */
const UNCOUNTED_BODY_BYTES = 16 * 1024;

/** What exchanges share: the server's bounds and its ear. */
export interface ExchangeHost {
  /** Bytes of replies that the kernel has not taken yet. */
  bytesInFlight: BytesInFlight;
  /** A reply of which the kernel takes no byte for so long is given up. */
  stallLimitMs: number;
  /** Whether the server closes: replies then tell clients not to reuse the connection. */
  closing(): boolean;
  /** The exchange is over: replied in full, or given up. */
  onEnd(exchange: Exchange): void;
}

export class Exchange {
  readonly id: string;
  readonly method: string;
  /** The path as sent, percent-encoded. */
  readonly path: string;
  /** The query string as sent, without its question mark. */
  readonly query: string;
  private readonly host: ExchangeHost;
  private readonly res: UwsResponse;
  private readonly requestHeaders: Partial<Record<RequestHeader, string>> = {};
  private readonly replyHeaders: (readonly [string, string])[];
  private state: 'open' | 'sending' | 'ended' = 'open';
  private ownAborted = false;
  private ownCancel: Int32Array | null = null;
  private settle: Settle | null = null;
  private keyId: string | null = null;
  private gone: (() => void) | null = null;
  private stopWatch: (() => void) | null = null;
  private countedBytes = 0;

  constructor(host: ExchangeHost, id: string, res: UwsResponse, req: UwsRequest) {
    this.host = host;
    this.id = id;
    this.res = res;
    this.method = req.getCaseSensitiveMethod();
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
    for (const name of REQUEST_HEADERS) this.requestHeaders[name] = req.getHeader(name);
    if (this.method === 'POST') {
      for (const name of BODY_HEADERS) this.requestHeaders[name] = req.getHeader(name);
    }
    this.replyHeaders = [['X-Request-Id', id]];
    res.onAborted(() => this.onAborted());
  }

  /** The client has gone, or was given up. */
  get aborted(): boolean {
    return this.ownAborted;
  }

  /** A reply has been handed over, or nobody waits for one any more. */
  get answered(): boolean {
    return this.state !== 'open';
  }

  /** A flag in shared memory for work in other threads: element 0 is 1 once the client has gone. */
  get cancel(): Int32Array {
    this.ownCancel ??= new Int32Array(new SharedArrayBuffer(4));
    if (this.ownAborted) Atomics.store(this.ownCancel, 0, 1);
    return this.ownCancel;
  }

  /** A request header's value, '' where it was not sent. */
  header(name: RequestHeader): string {
    return this.requestHeaders[name] ?? '';
  }

  /** Adds a header to the reply, whatever its status will be. */
  addHeader(name: string, value: string): void {
    this.replyHeaders.push([name, value]);
  }

  /** Says whose request it is: its reply's bytes count against that key's share. */
  belongsTo(keyId: string): void {
    this.keyId = keyId;
  }

  /** Has `settle` told how this request ends; there is one such listener. */
  settleWith(settle: Settle): void {
    this.settle = settle;
  }

  /** Calls `listener` where the client goes before its reply is complete; there is one at a time. */
  onGone(listener: () => void): void {
    this.gone = listener;
  }

  /**
   * The request's body. To be called before the handler first waits for anything.
   * @throws ApiError 413 as soon as it exceeds `maxBytes`
   */
  readBody(maxBytes: number): Promise<Uint8Array> {
    return readBody(this.res, maxBytes);
  }

  /** Replies with a JSON document. */
  replyJson(status: number, document: unknown, headers: Headers = []): void {
    const body = Buffer.from(JSON.stringify(document));
    this.reply(status, [['Content-Type', 'application/json'], ...headers], body);
  }

  /** Replies with what a failed request's client is told. */
  replyError({ status, body, headers }: ApiError): void {
    this.replyJson(status, body, headers);
  }

  /**
   * Replies, once; later calls and calls after the client has gone do nothing. The bytes of `body`
   * must not change any more. Where replies in flight leave no room for it, the client is told to come
   * back.
   *
   * @param body null where the status has none (304)
   */
  reply(status: number, headers: Headers, body: Uint8Array | null): void {
    if (this.answered) return;
    const sent = this.method === 'HEAD' || body === null ? 0 : body.byteLength;
    const counted = sent > UNCOUNTED_BODY_BYTES ? sent : 0;
    if (!this.host.bytesInFlight.take(this.keyId, counted)) {
      this.replyError(replayBusy());
      return;
    }
    this.countedBytes = counted;
    this.state = 'sending';
    let done = true;
    this.res.cork(() => {
      this.writeHead(status, headers);
      if (sent > 0) done = this.send(body as Uint8Array);
      else this.endWithoutBody(body);
    });
    if (done) this.end();
  }

  /** Gives the client up and cuts its connection. */
  abandon(): void {
    if (this.state !== 'ended') this.res.close();
  }

  private writeHead(status: number, headers: Headers): void {
    const res = this.res;
    res.writeStatus(`${status} ${reasonPhrase(status)}`);
    for (const [name, value] of this.replyHeaders) res.writeHeader(name, value);
    for (const [name, value] of headers) res.writeHeader(name, value);
    for (const [name, value] of this.settled(status)) res.writeHeader(name, value);
    if (this.host.closing()) res.writeHeader('Connection', 'close');
  }

  private settled(status: number | null): Headers {
    const settle = this.settle;
    this.settle = null;
    return settle === null ? [] : settle(status);
  }

  /** `body` is what a GET would have sent; only its length is told. */
  private endWithoutBody(body: Uint8Array | null): void {
    // Given the length as an argument, endWithoutBody would wait for that many bytes.
    if (body !== null) this.res.writeHeader('Content-Length', String(body.byteLength));
    this.res.endWithoutBody();
  }

  /** Starts to send; says whether the kernel took everything at once. */
  private send(body: Uint8Array): boolean {
    const res = this.res;
    const total = body.byteLength;
    // Not `end`, which copies what the kernel does not take, for clients who don't read too.
    if (res.tryEnd(body, total)[1]) return true;
    let progressAt = performance.now();
    res.onWritable((offset) => {
      progressAt = performance.now();
      const [ok, done] = res.tryEnd(body.subarray(offset), total);
      if (done) this.end();
      return ok;
    });
    const { stallLimitMs } = this.host;
    const timer = setInterval(
      () => {
        if (performance.now() - progressAt >= stallLimitMs) {
          this.abandon();
          return;
        }
        // Resuming sets uWebSockets.js' timer anew.
        res.pause();
        res.resume();
      },
      Math.min(REWIND_MS, stallLimitMs / 4),
    );
    this.stopWatch = () => clearInterval(timer);
    return false;
  }

  private onAborted(): void {
    this.ownAborted = true;
    if (this.ownCancel) Atomics.store(this.ownCancel, 0, 1);
    this.gone?.();
    this.end();
  }

  private end(): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.gone = null;
    this.stopWatch?.();
    this.settled(null);
    this.host.bytesInFlight.give(this.keyId, this.countedBytes);
    this.host.onEnd(this);
  }
}
