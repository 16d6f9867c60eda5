/** The engine that uses Node's own HTTP, for HTTP/1.0 and for machines where uWebSockets.js does not load. */
import http, { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  type HttpEngine,
  listenFault,
  type Listener,
  type ListenOptions,
  requestHeadBytes,
} from './engine.js';
import { ApiError, NOT_STORED, reasonPhrase } from './errors.js';
import { ClientConnection, NodeExchange, readHead } from './node-exchange.js';
import { badRequest, framingFault, isHandshake, type RequestHead } from './request-head.js';

/** The longest time for a request to arrive, and between two requests; uWebSockets.js has the same. */
const IDLE_LIMIT_MS = 10_000;
const CHECK_INTERVAL_MS = 1_000;

export const nodeEngine: HttpEngine = { name: 'node', listen };

function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, exchanges, onRequest, connections: limit, socketPath } = options;
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
  const onIncoming = (
    req: IncomingMessage,
    res: ServerResponse,
    upgradeHead: Buffer | null = null,
  ) => {
    // Behind a request that ended the connection.
    if (!req.socket.writable) {
      stopParsing(req.socket);
      return;
    }
    const connection = connections.get(req.socket) as ClientConnection;
    const head = readHead(req);
    const fault = requestFault(head, req.httpVersion);
    if (!connection.isReady) connection.cut();
    else if (fault !== null) refuse(connection, fault);
    else onRequest(new NodeExchange(exchanges, head, { connection, req, res, upgradeHead }));
  };
  server.on('request', (req, res) => onIncoming(req, res));
  if (socketPath !== undefined) {
    server.on('upgrade', (req, socket, head) => {
      const asked = readHead(req);
      if (asked.path !== socketPath || !isHandshake(asked)) {
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

/**
 * Drops the requests that have arrived behind the one that ended the connection. Node would make objects of thousands
 * of them; it stops at the first for which this function of its parser does not return what it should.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming: () => number } | null };
  if (parser) parser.onIncoming = () => -1;
}

/** Replies to bytes that are not a valid request, unless another reply is being sent, and closes the connection. */
function refuse(connection: ClientConnection, fault: ApiError): void {
  const { socket, unread } = connection;
  if (!socket.writable || [...unread].some((exchange) => exchange.isAnswered)) {
    connection.cut();
    return;
  }
  // The bytes belong to the body of one of them.
  for (const exchange of unread) exchange.forget();
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
function requestFault(head: RequestHead, httpVersion: string): ApiError | null {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return wrongVersion();
  return framingFault(head, httpVersion === '1.1');
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
