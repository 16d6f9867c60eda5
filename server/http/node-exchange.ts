/** Receives and sends by Node's HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Headers } from './errors.js';
import { Exchange, type ExchangeHost, type ReplyHead } from './exchange.js';
import { upgrade } from './node-socket.js';
import type { OpenSocket, ReplyStream } from './outlet.js';
import type { OnChunk } from './request-body.js';
import { declaresLongBody, MAX_RECEIVED_BODY_BYTES, type RequestHead } from './request-head.js';

/** How often the engine looks how much of a body waits for a slow client. */
const PROGRESS_MS = 1_000;
/** A stream is sent in pieces of this size, which show that its client reads. */
const STREAM_PIECE_BYTES = 256 * 1024;
/** A client that pipelines more requests while this much of their replies is unread is cut. */
const MAX_UNREAD_BYTES = 64 * 1024;

/** A connection of Node's HTTP server, whose requests arrive one after the other. */
export class ClientConnection {
  /** Replies that the kernel has not taken yet. */
  readonly unread = new Set<NodeExchange>();
  private latest: NodeExchange | null = null;

  constructor(readonly socket: Socket) {
    socket.once('close', () => this.cut());
  }

  /** Whether the client may send a further request. */
  get isReady(): boolean {
    if (this.socket.destroyed || this.latest?.isHandedOver === false) return false;
    let bytes = 0;
    for (const exchange of this.unread) bytes += exchange.replyBytes;
    return bytes <= MAX_UNREAD_BYTES;
  }

  /** Closes the connection, and calls the listeners of its requests before it returns. */
  cut(): void {
    this.socket.destroy();
    for (const exchange of this.unread) exchange.forget();
  }

  begin(exchange: NodeExchange): void {
    this.latest = exchange;
    this.unread.add(exchange);
  }
}

export function readHead({ method = '', url = '', rawHeaders }: IncomingMessage): RequestHead {
  const target = fromUtf8(url);
  const mark = target.indexOf('?');
  const names: string[] = [];
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    names.push(rawHeaders[i].toLowerCase());
    values.push(fromUtf8(rawHeaders[i + 1]));
  }
  return {
    method,
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
    names,
    values,
  };
}

/** What Node has of a request. */
interface NodeParts {
  connection: ClientConnection;
  req: IncomingMessage;
  res: ServerResponse;
  /** The first bytes after a request for a WebSocket; null for any other request. */
  upgradeHead: Buffer | null;
}

export class NodeExchange extends Exchange {
  /** Whether Node has been given the whole reply. */
  isHandedOver = false;
  /** Bytes of the reply that Node has been given. */
  replyBytes = 0;
  private progress: NodeJS.Timeout | undefined;

  constructor(
    host: ExchangeHost,
    head: RequestHead,
    private readonly node: NodeParts,
  ) {
    super(host, head);
    node.connection.begin(this);
    const { names } = head;
    if (names.includes('content-length') || names.includes('transfer-encoding')) this.boundBody();
  }

  protected address(): string {
    return this.node.req.socket.remoteAddress ?? '';
  }

  /** Receives the body to its end, also after the reply, and closes the connection if it is too long. */
  private boundBody(): void {
    let bytes = 0;
    this.node.req.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > MAX_RECEIVED_BODY_BYTES) this.cut();
    });
  }

  /** Whether its reply has begun. */
  get isAnswered(): boolean {
    return this.node.res.headersSent;
  }

  protected receive(onChunk: OnChunk): void {
    const { req } = this.node;
    req.on('data', (chunk: Buffer) => onChunk(chunk, false));
    req.once('end', () => onChunk(new Uint8Array(), true));
  }

  protected send({ status, reason, headers, isLast }: ReplyHead, body: Uint8Array | null): boolean {
    const { req, res } = this.node;
    const fields = headers.flat();
    const closes = isLast || declaresLongBody(this.head) || !res.shouldKeepAlive;
    if (closes) fields.push('Connection', 'close');
    if (body !== null) fields.push('Content-Length', String(body.byteLength));
    // HTTP/1.1 keeps connections open by default, HTTP/1.0 does not.
    if (req.httpVersion === '1.1') res.removeHeader('Connection');
    res.writeHead(status, reason, fields);
    for (const field of fields) this.replyBytes += field.length;
    return this.sendBody(body === null || this.method === 'HEAD' ? null : body);
  }

  protected get canUpgrade(): boolean {
    return this.node.upgradeHead !== null;
  }

  protected upgrade(headers: Headers, protocol: string | null, open: OpenSocket): void {
    const { req, res, connection, upgradeHead } = this.node;
    if (upgradeHead === null) throw new Error('the request does not ask for a WebSocket');
    connection.unread.delete(this);
    this.isHandedOver = true;
    const { socket } = connection;
    res.detachSocket(socket);
    upgrade({ req, socket, upgradeHead, headers, protocol }, open);
  }

  protected sendStream(head: ReplyHead, _filler: Uint8Array, onTaken: () => void): ReplyStream {
    const { req, res, connection } = this.node;
    if (req.httpVersion === '1.1') res.removeHeader('Connection');
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

  protected cut(): void {
    this.node.connection.cut();
  }

  /** Ends it with its connection: Node reports nothing of a reply that waited behind another one. */
  forget(): void {
    clearInterval(this.progress);
    this.node.connection.unread.delete(this);
    this.lost();
  }

  private sendBody(body: Uint8Array | null): boolean {
    const { res, connection } = this.node;
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
      () => this.took(Math.max(0, bytes - waitingBytes(res.socket)), false),
      PROGRESS_MS,
    );
    res.once('finish', () => {
      clearInterval(this.progress);
      if (connection.unread.delete(this)) this.took(bytes, true);
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
