/** Receives and sends by uWebSockets.js. */
import type * as Uws from 'uWebSockets.js';
import { wallMs } from '../../storage/wall-clock.js';
import { type ApiError, type Headers, NOT_STORED, reasonPhrase } from './errors.js';
import { Exchange, type ExchangeHost, type ReplyHead } from './exchange.js';
import type { OpenSocket, ReplyStream } from './outlet.js';
import type { OnChunk } from './request-body.js';
import {
  declaresLongBody,
  hasToken,
  headerOf,
  MAX_RECEIVED_BODY_BYTES,
  type RequestHead,
} from './request-head.js';
import type { SocketData } from './uws-socket.js';

/**
 * uWebSockets.js cuts a connection 10 s after the kernel last took bytes, even if a slow client with
 * large socket buffers is still reading. Resetting its timer this often leaves the decision to the server.
 */
const REWIND_MS = 4_000;
/** A last reply up to this size is left to the library, which copies what the kernel does not take and then closes. */
const MAX_COPIED_BYTES = 16 * 1024;
const LINE_BREAK = '\r\n';

/** The head of a request, copied because the library frees it when its handler returns. */
export function readHead(req: Uws.HttpRequest): RequestHead {
  const names: string[] = [];
  const values: string[] = [];
  // One pass: every call into the library costs as much as copying a header.
  req.forEach((name, value) => {
    names.push(name);
    values.push(value);
  });
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: req.getQuery() ?? '',
    names,
    values,
  };
}

/** Replies to bytes that are not a valid request, and closes the connection. */
export function refuse(res: Uws.HttpResponse, { status, body }: ApiError): void {
  const text = JSON.stringify(body);
  const headers = [['Content-Type', 'application/json'], NOT_STORED] as const;
  const head = { status, reason: reasonPhrase(status), headers, isLast: true };
  const closing = sendLast(
    res,
    head,
    Buffer.byteLength(text) + LINE_BREAK.length,
    LINE_BREAK + text,
  );
  res.onAborted(() => clearImmediate(closing));
}

/**
 * Replies and ends the connection. The library has no call for that: it gets the whole reply as the status of a
 * reply that never follows, and adds a line break.
 * @param length of the body; null: the status has none
 * @param text what follows the headers, except for that line break
 * @returns the end of the connection, to be cleared if the client ends it first
 */
function sendLast(
  res: Uws.HttpResponse,
  head: ReplyHead,
  length: number | null,
  text = '',
): NodeJS.Immediate {
  const headers = [
    ...head.headers,
    ['Date', new Date(wallMs()).toUTCString()],
    ['Connection', 'close'],
  ];
  if (length !== null) headers.push(['Content-Length', String(length)]);
  const lines = headers.map(([name, value]) => `${name}: ${value}${LINE_BREAK}`);
  res.writeStatus(`${head.status} ${head.reason}${LINE_BREAK}${lines.join('')}${text}`);
  return setImmediate(() => res.close());
}

/** Only this module uses the library's `res`, which is invalid after the reply and once the client has disconnected. */
export class UwsExchange extends Exchange {
  private rewind: NodeJS.Timeout | undefined;
  /** The end of the connection after a last reply. */
  private closing: NodeJS.Immediate | undefined;
  private isReplied = false;
  private isWatched = false;
  /** Whether the body is chunked, or declared longer than the server receives. */
  private readonly hasOpenEndedBody: boolean;
  /** Whether the library ends the connection with the reply. It then adds no header, and reads no lists of options. */
  private readonly libraryCloses: boolean;
  /** Whether this class ends the connection with the reply. */
  private readonly isLast: boolean;
  private isBodyReceived = false;
  private isBodyWhole = false;
  /** Sends a large reply that waits for the end of the body. */
  private onBodyEnd: (() => void) | null = null;

  constructor(
    host: ExchangeHost,
    head: RequestHead,
    private readonly res: Uws.HttpResponse,
    /** Of a request that asks for a WebSocket. */
    private readonly socketContext: Uws.us_socket_context_t | null = null,
  ) {
    super(host, head);
    this.hasOpenEndedBody = head.names.includes('transfer-encoding') || declaresLongBody(head);
    const connection = headerOf(head, 'connection');
    this.libraryCloses = connection.toLowerCase() === 'close';
    const asksToClose = !this.libraryCloses && hasToken(connection, 'close');
    this.isLast = this.hasOpenEndedBody || asksToClose;
  }

  protected address(): string {
    return Buffer.from(this.res.getRemoteAddressAsText()).toString('latin1');
  }

  /** Call it when the request's handler has returned or first awaits something. */
  handlerReturned(): void {
    if (this.isReplied) return;
    this.watch();
    if (this.hasOpenEndedBody) this.countBody();
  }

  /** Listens for the end of the connection. A reply that is sent in full while the handler runs does not need it. */
  private watch(): void {
    if (this.isWatched) return;
    this.isWatched = true;
    this.res.onAborted(() => {
      clearInterval(this.rewind);
      clearImmediate(this.closing);
      this.lost();
    });
  }

  protected receive(onChunk: OnChunk): void {
    this.isBodyReceived = true;
    let bytes = 0;
    this.res.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      if (bytes > MAX_RECEIVED_BODY_BYTES) {
        this.cut();
        return;
      }
      this.isBodyWhole = isLast;
      onChunk(new Uint8Array(chunk), isLast);
      if (isLast) this.onBodyEnd?.();
    });
  }

  /** Counts the bytes of a body that the handler does not read. */
  private countBody(): void {
    if (!this.isBodyReceived) this.receive(() => undefined);
  }

  protected send(given: ReplyHead, body: Uint8Array | null): boolean {
    // After a reply the library would drop the rest of a body uncounted, and treat trailers of a chunked body as the
    // next request. A last reply prevents both.
    const head = this.isLast ? { ...given, isLast: true } : given;
    this.isReplied = true;
    const isBodyless = body === null || body.byteLength === 0 || this.method === 'HEAD';
    if (!isBodyless && body.byteLength > MAX_COPIED_BYTES && this.expectsMoreBody) {
      // The library does not close the connection after a reply of this size.
      this.countBody();
      this.watch();
      this.onBodyEnd = () => {
        if (this.sendBody(head, body)) this.took(body.byteLength, true);
      };
      return false;
    }
    let isAll = true;
    this.res.cork(() => {
      if (isBodyless) this.sendHead(head, body);
      else isAll = this.sendBody(head, body);
    });
    return isAll;
  }

  protected get canUpgrade(): boolean {
    return this.socketContext !== null;
  }

  protected upgrade(headers: Headers, protocol: string | null, open: OpenSocket): void {
    if (this.socketContext === null) throw new Error('the request does not ask for a WebSocket');
    this.isReplied = true;
    const { res, socketContext } = this;
    res.cork(() => {
      res.writeStatus('101 Switching Protocols');
      for (const [name, value] of headers) res.writeHeader(name, value);
      const data: SocketData = { open, listener: null, socket: null };
      const key = headerOf(this.head, 'sec-websocket-key');
      res.upgrade(data, key, protocol ?? '', '', socketContext);
    });
  }

  protected sendStream(head: ReplyHead, filler: Uint8Array, onTaken: () => void): ReplyStream {
    const { res } = this;
    this.isReplied = true;
    this.watch();
    let waitingBytes = 0;
    const write = (bytes: Uint8Array): boolean => {
      let isTaken = false;
      res.cork(() => (isTaken = res.write(bytes)));
      return isTaken;
    };
    res.onWritable(() => {
      // The library sends what waits only before what is written next.
      if (write(filler)) {
        waitingBytes = 0;
        clearInterval(this.rewind);
        this.rewind = undefined;
      }
      onTaken();
      return true;
    });
    res.cork(() => this.writeHead({ ...head, isLast: true }));
    return {
      get waitingBytes() {
        return waitingBytes;
      },
      write: (bytes) => {
        if (!write(bytes) || waitingBytes > 0) waitingBytes += bytes.byteLength;
        // The library closes a connection 10 s after the last write, and nothing is written while bytes wait for the client.
        if (waitingBytes > 0) this.rewindTimer();
      },
      end: () => {
        clearInterval(this.rewind);
        if (this.expectsMoreBody) this.cut();
        // Not with `closeConnection`: the library would write that header into the body. The client closes the connection,
        // or the library after 10 s of silence.
        else res.cork(() => res.end());
      },
      cut: () => this.cut(),
    };
  }

  private rewindTimer(): void {
    this.rewind ??= setInterval(() => {
      // Resuming resets the timer of uWebSockets.js.
      this.res.pause();
      this.res.resume();
    }, REWIND_MS);
  }

  private get expectsMoreBody(): boolean {
    return this.hasOpenEndedBody && !this.isBodyWhole;
  }

  protected cut(): void {
    this.res.close();
  }

  /** Writes status and headers in one call: the library gets the whole text as the status, and adds a line break. */
  private writeHead({ status, reason, headers, isLast }: ReplyHead): void {
    let head = `${status} ${reason}`;
    for (const [name, value] of headers) head += `${LINE_BREAK}${name}: ${value}`;
    if (isLast || this.libraryCloses) head += `${LINE_BREAK}Connection: close`;
    this.res.writeStatus(head);
  }

  /** Sends only the head, with the length of `body`. */
  private sendHead(head: ReplyHead, body: Uint8Array | null): void {
    const length = body?.byteLength ?? null;
    if (head.isLast) {
      this.closing = sendLast(this.res, head, length);
      this.watch();
      return;
    }
    this.writeHead(head);
    // Given the length as an argument, endWithoutBody would wait for that many bytes.
    if (length !== null) this.res.writeHeader('Content-Length', String(length));
    this.res.endWithoutBody();
  }

  private sendBody(head: ReplyHead, body: Uint8Array): boolean {
    const { res } = this;
    const total = body.byteLength;
    if (head.isLast && total <= MAX_COPIED_BYTES) {
      // The library adds `Connection: close`.
      this.writeHead({ ...head, isLast: false });
      res.end(body, true);
      return true;
    }
    this.writeHead(head);
    // `end` would copy what the kernel does not take, even for clients that do not read.
    if (res.tryEnd(body, total)[1]) return true;
    this.watch();
    res.onWritable((offset) => {
      const [ok, isAll] = res.tryEnd(body.subarray(offset), total);
      if (isAll) clearInterval(this.rewind);
      this.took(isAll ? total : offset, isAll);
      return ok;
    });
    this.rewindTimer();
    return false;
  }
}
