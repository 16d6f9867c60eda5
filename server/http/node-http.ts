/** The engine that uses Node's own HTTP, for HTTP/1.0 and for machines where uWebSockets.js does not load. */
import http, { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  badRequest,
  declaresLongBody,
  type EngineRequest,
  framingFault,
  type HttpEngine,
  isHandshake,
  LIST_SEPARATOR,
  listenFault,
  type Listener,
  type ListenOptions,
  MAX_RECEIVED_BODY_BYTES,
  offeredProtocols,
  type OnTaken,
  type OpenSocket,
  type ReplyHead,
  type ReplyStream,
  requestHeadBytes,
} from './engine.js';
import { ApiError, type Headers, NOT_STORED, reasonPhrase } from './errors.js';
import { upgrade } from './node-socket.js';

/** The longest time for a request to arrive, and between two requests; uWebSockets.js has the same. */
const IDLE_LIMIT_MS = 10_000;
const CHECK_INTERVAL_MS = 1_000;
/** How often the engine looks how much of a body waits for a slow client. */
const PROGRESS_MS = 1_000;
/** A stream is sent in pieces of this size, which show that its client reads. */
const STREAM_PIECE_BYTES = 256 * 1024;
/** A client that pipelines more requests while this much of their replies is unread is cut. */
const MAX_UNREAD_BYTES = 64 * 1024;

export const nodeEngine: HttpEngine = { name: 'node', listen };

function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, onRequest, connections: limit, socketPath } = options;
  const connections = new WeakMap<Socket, ClientConnection>();
  const server = http.createServer({
    maxHeaderSize: requestHeadBytes(),
    headersTimeout: IDLE_LIMIT_MS,
    requestTimeout: IDLE_LIMIT_MS,
    keepAliveTimeout: IDLE_LIMIT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    // requestFault() checks Host: its error has the form of all others.
    requireHostHeader: false,
  });
  server.maxHeadersCount = 0;
  server.on('connection', (socket: Socket) => {
    // parseAgain() has returned it to the server.
    if (connections.has(socket)) return;
    connections.set(socket, new ClientConnection(socket));
    // Node takes its own listener off the sockets of CONNECT and of requests to upgrade. 'close' follows.
    socket.on('error', () => undefined);
    socket.once('close', () => limit?.closed());
    if (limit?.opened() === false) socket.destroy();
  });
  const onIncoming = (req: IncomingMessage, res: ServerResponse, head: Buffer | null = null) => {
    // Behind a refused request, whose reply ends the connection.
    if (!req.socket.writable) return;
    const connection = connections.get(req.socket) as ClientConnection;
    const fault = requestFault(req);
    if (!connection.isReady) connection.cut();
    else if (fault !== null) refuse(connection, fault);
    else onRequest(connection.take(req, res, head));
  };
  server.on('request', (req, res) => onIncoming(req, res));
  if (socketPath !== undefined) {
    server.on('upgrade', (req, socket, head) => {
      const header = (name: string) => req.headers[name]?.toString() ?? '';
      const isSocket = isHandshake({ method: req.method ?? '', header });
      if (req.url?.split('?')[0] !== socketPath || !isSocket) {
        parseAgain(server, req, socket as Socket, head);
        return;
      }
      const res = new ServerResponse(req);
      res.assignSocket(socket as Socket);
      // Node reads no further request of the connection.
      res.shouldKeepAlive = false;
      // A client that never closes its side would keep the connection half-open.
      res.once('finish', () => (socket as Socket).destroySoon());
      onIncoming(req, res, head);
    });
  }
  // Expectations other than 100-continue are ignored.
  server.on('checkExpectation', (req, res) => onIncoming(req, res));
  server.on('connect', (_req, socket) => {
    refuse(
      connections.get(socket as Socket) as ClientConnection,
      badRequest('CONNECT is for proxies'),
    );
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const fault = parseFault(error.code ?? '');
    if (fault === null) socket.destroy();
    else refuse(connections.get(socket as Socket) as ClientConnection, fault);
  });
  return new Promise((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) =>
      reject(listenFault(host, port, code)),
    );
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      resolve({
        port: typeof address === 'object' ? (address?.port ?? port) : port,
        stopListening: () => server.close(),
        close() {
          server.close();
          server.closeAllConnections();
        },
      });
    });
  });
}

/**
 * Serves a request that offers another protocol like any other. Once a server listens for 'upgrade', Node separates
 * such a request from its body and from its connection: both go back to the server, without the offer.
 */
function parseAgain(
  server: http.Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Socket,
  rest: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i].toLowerCase() !== 'upgrade')
      lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  }
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  socket.unshift(Buffer.concat([head, rest]));
  server.emit('connection', socket);
}

class ClientConnection {
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
    const progress = setInterval(
      () => onTaken(Math.max(0, bytes - waitingBytes(res.socket)), false),
      PROGRESS_MS,
    );
    res.once('close', () => clearInterval(progress));
    res.once('finish', () => {
      clearInterval(progress);
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

/** Replies to bytes that are not a valid request, unless another reply is being sent, and closes the connection. */
function refuse(connection: ClientConnection, fault: ApiError): void {
  const { socket, unread } = connection;
  if (!socket.writable || [...unread].some((request) => request.isAnswered)) {
    connection.cut();
    return;
  }
  // The bytes belong to the body of one of them.
  for (const request of unread) request.gone();
  const body = JSON.stringify(fault.body);
  const head = [
    `HTTP/1.1 ${fault.status} ${reasonPhrase(fault.status)}`,
    'Connection: close',
    'Content-Type: application/json',
    NOT_STORED.join(': '),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** A fault that Node accepts. HTTP/1.0 needs no Host. */
function requestFault({ httpVersion, rawHeaders }: IncomingMessage): ApiError | null {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return wrongVersion();
  const names = rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const values = rawHeaders.filter((_, i) => i % 2 === 1);
  return framingFault(names, values, httpVersion === '1.1');
}

const wrongVersion = () =>
  new ApiError(505, 'version_not_supported', 'Expected HTTP/1.1 or HTTP/1.0');

/** The reply to a request that Node's parser refuses; null: no reply, because the client has gone or is too slow. */
function parseFault(code: string): ApiError | null {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError(
        431,
        'headers_too_large',
        `Request line and headers: expected at most ${requestHeadBytes()} bytes`,
      );
    case 'HPE_INVALID_VERSION':
      return wrongVersion();
    default:
      return code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE'
        ? badRequest('This is not a valid HTTP request')
        : null;
  }
}

/** Node decodes a request's head as Latin-1, but clients send UTF-8. */
function fromUtf8(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString() : text;
}
