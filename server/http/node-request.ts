/** One request of Node's HTTP and the reply to it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  declaresLongBody,
  type EngineRequest,
  LIST_SEPARATOR,
  MAX_RECEIVED_BODY_BYTES,
  offeredProtocols,
  type OnTaken,
  type OpenSocket,
  type ReplyHead,
  type ReplyStream,
} from './engine.js';
import type { Headers } from './errors.js';
import { upgrade } from './node-socket.js';

/** How often the engine looks how much of a body waits for a slow client. */
const PROGRESS_MS = 1_000;
/** A stream is sent in pieces of this size, which show that its client reads. */
const STREAM_PIECE_BYTES = 256 * 1024;
/** A client that pipelines more requests while this much of their replies is unread is cut. */
const MAX_UNREAD_BYTES = 64 * 1024;

/** A connection of Node's HTTP server, whose requests arrive one after the other. */
export class ClientConnection {
  /** Replies that the kernel has not taken yet. */
  readonly unread = new Set<NodeRequest>();
  private latest: NodeRequest | null = null;

  constructor(readonly socket: Socket) {
    socket.once('close', () => this.cut());
  }

  /** Whether the client may send a further request. */
  get isReady(): boolean {
    if (this.socket.destroyed || this.latest?.isHandedOver === false) return false;
    let bytes = 0;
    for (const request of this.unread) bytes += request.replyBytes;
    return bytes <= MAX_UNREAD_BYTES;
  }

  /** Closes the connection, and calls the listeners of its requests before it returns. */
  cut(): void {
    this.socket.destroy();
    for (const request of this.unread) request.gone();
  }

  take(req: IncomingMessage, res: ServerResponse, upgradeHead: Buffer | null): NodeRequest {
    this.latest = new NodeRequest(this, req, res, upgradeHead);
    this.unread.add(this.latest);
    return this.latest;
  }
}

class NodeRequest implements EngineRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Whether Node has been given the whole reply. */
  isHandedOver = false;
  /** Bytes of the reply that Node has been given. */
  replyBytes = 0;
  private readonly headers = new Map<string, string>();
  private listener: (() => void) | null = null;
  private progress: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: ClientConnection,
    private readonly req: IncomingMessage,
    private readonly res: ServerResponse,
    /** The first bytes after a request for a WebSocket; null for any other request. */
    private readonly upgradeHead: Buffer | null,
  ) {
    this.method = req.method ?? '';
    const url = fromUtf8(req.url ?? '');
    const mark = url.indexOf('?');
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = mark < 0 ? '' : url.slice(mark + 1);
    const { rawHeaders } = req;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i].toLowerCase();
      const before = this.headers.get(name);
      const value = rawHeaders[i + 1];
      this.headers.set(name, before === undefined ? value : before + LIST_SEPARATOR + value);
    }
    if (this.headers.has('content-length') || this.headers.has('transfer-encoding'))
      this.boundBody();
  }

  address(): string {
    return this.req.socket.remoteAddress ?? '';
  }

  /** Receives the body to its end, also after the reply, and closes the connection if it is too long. */
  private boundBody(): void {
    let bytes = 0;
    this.req.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > MAX_RECEIVED_BODY_BYTES) this.cut();
    });
  }

  /** Whether its reply has begun. */
  get isAnswered(): boolean {
    return this.res.headersSent;
  }

  header(name: string): string {
    return fromUtf8(this.headers.get(name) ?? '');
  }

  onGone(listener: () => void): void {
    this.listener = listener;
  }

  onData(listener: (chunk: Uint8Array, isLast: boolean) => void): void {
    this.req.on('data', (chunk: Buffer) => listener(chunk, false));
    this.req.once('end', () => listener(new Uint8Array(), true));
  }

  reply(
    { status, reason, headers, isLast }: ReplyHead,
    body: Uint8Array | null,
    onTaken: OnTaken,
  ): boolean {
    const { req, res } = this;
    const fields = headers.flat();
    const closes = isLast || declaresLongBody(this) || !res.shouldKeepAlive;
    if (closes) fields.push('Connection', 'close');
    if (body !== null) fields.push('Content-Length', String(body.byteLength));
    // HTTP/1.1 keeps connections open by default, HTTP/1.0 does not.
    if (req.httpVersion === '1.1') res.removeHeader('Connection');
    res.writeHead(status, reason, fields);
    for (const field of fields) this.replyBytes += field.length;
    return this.end(body === null || this.method === 'HEAD' ? null : body, onTaken);
  }

  get socketProtocols(): readonly string[] | null {
    if (this.upgradeHead === null) return null;
    return offeredProtocols(this.header('sec-websocket-protocol'));
  }

  openSocket(headers: Headers, protocol: string | null, open: OpenSocket): void {
    const { req, res, connection, upgradeHead } = this;
    if (upgradeHead === null) throw new Error('the request does not ask for a WebSocket');
    connection.unread.delete(this);
    this.isHandedOver = true;
    const { socket } = connection;
    res.detachSocket(socket);
    upgrade({ req, socket, upgradeHead, headers, protocol }, open);
  }

  stream(head: ReplyHead, _filler: Uint8Array, onTaken: () => void): ReplyStream {
    const { res, connection } = this;
    if (this.req.httpVersion === '1.1') res.removeHeader('Connection');
    res.writeHead(head.status, head.reason, [...head.headers.flat(), 'Connection', 'close']);
    res.flushHeaders();
    const waiting: Uint8Array[] = [];
    let queuedBytes = 0;
    let isEnded = false;
    const end = () => {
      this.isHandedOver = true;
      res.end(() => connection.unread.delete(this));
    };
    const writeNext = () => {
      while (waiting.length > 0 && res.writableLength === 0) {
        const piece = waiting.shift() as Uint8Array;
        queuedBytes -= piece.byteLength;
        res.write(piece, (error) => {
          if (error) return;
          onTaken();
          writeNext();
        });
      }
      if (isEnded && waiting.length === 0 && !this.isHandedOver) end();
    };
    return {
      get waitingBytes() {
        return queuedBytes + res.writableLength;
      },
      write: (bytes) => {
        for (let from = 0; from < bytes.byteLength; from += STREAM_PIECE_BYTES) {
          waiting.push(bytes.subarray(from, from + STREAM_PIECE_BYTES));
        }
        queuedBytes += bytes.byteLength;
        writeNext();
      },
      end: () => {
        isEnded = true;
        writeNext();
      },
      cut: () => this.cut(),
    };
  }

  cut(): void {
    this.connection.cut();
  }

  gone(): void {
    // Node reports nothing of a reply that waited behind another one.
    clearInterval(this.progress);
    this.connection.unread.delete(this);
    this.listener?.();
  }

  private end(body: Uint8Array | null, onTaken: OnTaken): boolean {
    const { res, connection } = this;
    const bytes = body?.byteLength ?? 0;
    this.replyBytes += bytes;
    this.isHandedOver = true;
    if (body === null) res.end();
    else res.end(body);
    // A reply that waits behind another one of its connection has no socket yet.
    if (res.socket !== null && res.socket.writableLength === 0) {
      connection.unread.delete(this);
      return true;
    }
    this.progress = setInterval(
      () => onTaken(Math.max(0, bytes - waitingBytes(res.socket)), false),
      PROGRESS_MS,
    );
    res.once('finish', () => {
      clearInterval(this.progress);
      if (connection.unread.delete(this)) onTaken(bytes, true);
    });
    return false;
  }
}

/** Bytes of a socket's writes that the kernel has not taken; Infinity if it is gone. Node's own timeouts rest on them, too. */
function waitingBytes(socket: Socket | null): number {
  const { _handle: handle } = (socket ?? {}) as { _handle?: { writeQueueSize: number } | null };
  return handle?.writeQueueSize ?? Infinity;
}

/** Node decodes a request's head as Latin-1, but clients send UTF-8. */
function fromUtf8(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString() : text;
}
