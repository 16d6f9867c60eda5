/** A request of uWebSockets.js and the reply to it. */
import type * as Uws from 'uWebSockets.js';
import { wallMs } from '../../storage/wall-clock.js';
import {
  declaresLongBody,
  type EngineRequest,
  hasToken,
  isHandshake,
  LIST_SEPARATOR,
  MAX_RECEIVED_BODY_BYTES,
  offeredProtocols,
  type OnTaken,
  type OpenSocket,
  type ReplyHead,
  type ReplyStream,
} from './engine.js';
import { type ApiError, type Headers, NOT_STORED, reasonPhrase } from './errors.js';
import type { SocketData } from './uws-socket.js';

/**
 * uWebSockets.js cuts a connection 10 s after the kernel last took bytes, even if a slow client with
 * large socket buffers is still reading. Resetting its timer this often leaves the decision to the server.
 */
const REWIND_MS = 4_000;
/** A last reply up to this size is left to the library, which copies what the kernel does not take and then closes. */
const MAX_COPIED_BYTES = 16 * 1024;
const LINE_BREAK = '\r\n';

/** Only this class uses the library's `res`, which is invalid after the reply and once the client has disconnected. */
export class UwsRequest implements EngineRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Header names in lower case, in order. They are copied because the library frees them when the handler returns. */
  readonly names: string[] = [];
  readonly values: string[] = [];
  private gone: (() => void) | null = null;
  private rewind: NodeJS.Timeout | undefined;
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
    private readonly res: Uws.HttpResponse,
    req: Uws.HttpRequest,
    /** Of a request that asks for a WebSocket. */
    private readonly socketContext: Uws.us_socket_context_t | null = null,
  ) {
    this.method = req.getCaseSensitiveMethod();
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
    // One pass: every call into the library costs as much as copying a header.
    req.forEach((name, value) => {
      this.names.push(name);
      this.values.push(value);
    });
    this.hasOpenEndedBody = this.names.includes('transfer-encoding') || declaresLongBody(this);
    const connection = this.header('connection');
    this.libraryCloses = connection.toLowerCase() === 'close';
    const asksToClose = !this.libraryCloses && hasToken(connection, 'close');
    this.isLast = this.hasOpenEndedBody || asksToClose;
  }

  header(name: string): string {
    const { names, values } = this;
    const at = names.indexOf(name);
    if (at < 0) return '';
    if (names.indexOf(name, at + 1) < 0) return values[at];
    return values.filter((_, i) => names[i] === name).join(LIST_SEPARATOR);
  }

  address(): string {
    return Buffer.from(this.res.getRemoteAddressAsText()).toString('latin1');
  }

  onGone(listener: () => void): void {
    this.gone = listener;
  }

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
      this.gone?.();
    });
  }

  onData(listener: (chunk: Uint8Array, isLast: boolean) => void): void {
    this.isBodyReceived = true;
    let bytes = 0;
    this.res.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      if (bytes > MAX_RECEIVED_BODY_BYTES) {
        this.cut();
        return;
      }
      this.isBodyWhole = isLast;
      listener(new Uint8Array(chunk), isLast);
      if (isLast) this.onBodyEnd?.();
    });
  }

  /** Counts the bytes of a body that the handler does not read. */
  private countBody(): void {
    if (!this.isBodyReceived) this.onData(() => undefined);
  }

  reply(given: ReplyHead, body: Uint8Array | null, onTaken: OnTaken): boolean {
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
        if (this.send(head, body, onTaken)) onTaken(body.byteLength, true);
      };
      return false;
    }
    let isAll = true;
    this.res.cork(() => {
      if (isBodyless) this.sendHead(head, body);
      else isAll = this.send(head, body, onTaken);
    });
    return isAll;
  }

  get socketProtocols(): readonly string[] | null {
    if (this.socketContext === null || !isHandshake(this)) return null;
    return offeredProtocols(this.header('sec-websocket-protocol'));
  }

  openSocket(headers: Headers, protocol: string | null, open: OpenSocket): void {
    if (this.socketContext === null) throw new Error('the request does not ask for a WebSocket');
    this.isReplied = true;
    const { res, socketContext } = this;
    res.cork(() => {
      res.writeStatus('101 Switching Protocols');
      for (const [name, value] of headers) res.writeHeader(name, value);
      const data: SocketData = { open, listener: null, socket: null };
      const key = this.header('sec-websocket-key');
      res.upgrade(data, key, protocol ?? '', '', socketContext);
    });
  }

  stream(head: ReplyHead, filler: Uint8Array, onTaken: () => void): ReplyStream {
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

  cut(): void {
    this.res.close();
  }

  /** Replies to bytes that are not a valid request, and closes the connection. */
  refuse({ status, body }: ApiError): void {
    const text = JSON.stringify(body);
    const headers = [['Content-Type', 'application/json'], NOT_STORED] as const;
    const head = { status, reason: reasonPhrase(status), headers, isLast: true };
    this.sendLast(head, Buffer.byteLength(text) + LINE_BREAK.length, LINE_BREAK + text);
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
    if (head.isLast) {
      this.sendLast(head, body?.byteLength ?? null);
      return;
    }
    this.writeHead(head);
    // Given the length as an argument, endWithoutBody would wait for that many bytes.
    if (body !== null) this.res.writeHeader('Content-Length', String(body.byteLength));
    this.res.endWithoutBody();
  }

  /**
   * Replies and ends the connection. The library has no call for that: it gets the whole reply as the status of a
   * reply that never follows, and adds a line break.
   * @param text what follows the headers, except for that line break
   */
  private sendLast(head: ReplyHead, length: number | null, text = ''): void {
    const headers = [
      ...head.headers,
      ['Date', new Date(wallMs()).toUTCString()],
      ['Connection', 'close'],
    ];
    if (length !== null) headers.push(['Content-Length', String(length)]);
    const lines = headers.map(([name, value]) => `${name}: ${value}${LINE_BREAK}`);
    this.res.writeStatus(`${head.status} ${head.reason}${LINE_BREAK}${lines.join('')}${text}`);
    this.watch();
    const closing = setImmediate(() => this.res.close());
    this.gone = () => clearImmediate(closing);
  }

  private send(head: ReplyHead, body: Uint8Array, onTaken: OnTaken): boolean {
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
      onTaken(isAll ? total : offset, isAll);
      return ok;
    });
    this.rewindTimer();
    return false;
  }
}
