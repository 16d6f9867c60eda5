/** WebSockets of Node's own HTTP, with the library ws. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type ServerOptions, WebSocket, WebSocketServer } from 'ws';
import type { Headers } from './errors.js';
import { type LiveSocket, type OpenSocket, SOCKET_LIMITS } from './outlet.js';

/** The types of ws lack the last one. */
const SOCKET_OPTIONS: ServerOptions & { closeTimeout: number } = {
  noServer: true,
  maxPayload: SOCKET_LIMITS.maxMessageBytes,
  perMessageDeflate: false,
  maxFragments: SOCKET_LIMITS.maxFragments,
  maxBufferedChunks: SOCKET_LIMITS.maxPieces,
  /** How long a client may take to answer a close frame, also one that the library sends for an invalid frame. */
  closeTimeout: 2_000,
};

const PROTOCOL_HEADER = 'Sec-WebSocket-Protocol';

interface Upgrade {
  req: IncomingMessage;
  socket: Socket;
  /** The first bytes after the request. */
  upgradeHead: Buffer;
  headers: Headers;
  /** One of those that the client offers; null: none. */
  protocol: string | null;
}

/** Upgrades the connection of a request that is a handshake; ws would answer any other itself. */
export function upgrade(
  { req, socket, upgradeHead, headers, protocol }: Upgrade,
  open: OpenSocket,
): void {
  const server = new WebSocketServer(SOCKET_OPTIONS);
  // The library would itself refuse offers that are repeated or no tokens.
  delete req.headers[PROTOCOL_HEADER.toLowerCase()];
  const all = protocol === null ? headers : [...headers, [PROTOCOL_HEADER, protocol]];
  server.on('headers', (lines) => lines.push(...all.map(([name, value]) => `${name}: ${value}`)));
  server.handleUpgrade(req, socket, upgradeHead, (ws) => openNodeSocket(ws, socket, open));
}

function openNodeSocket(ws: WebSocket, connection: Socket, open: OpenSocket): void {
  const socket: LiveSocket = {
    get waitingBytes() {
      return ws.bufferedAmount - takenBytes(connection);
    },
    send: (message, isText) => ws.send(message, { binary: !isText }),
    ping: () => ws.ping(),
    close: (code, reason) => ws.close(code, reason),
    cut: () => ws.terminate(),
  };
  // An error is followed by 'close'.
  ws.on('error', () => undefined);
  const listener = open(socket);
  const silence = setTimeout(() => ws.terminate(), SOCKET_LIMITS.silenceS * 1000).unref();
  /** @returns whether a frame counts; from a client that goes on although it was closed, no more is read */
  const isHeard = (): boolean => {
    if (ws.readyState !== WebSocket.OPEN) ws.pause();
    else silence.refresh();
    return ws.readyState === WebSocket.OPEN;
  };
  ws.on('message', (data: Buffer, isBinary) => {
    if (isHeard()) listener.onMessage(data, !isBinary);
  });
  ws.on('pong', () => {
    if (isHeard()) listener.onControlFrame();
  });
  ws.on('ping', () => {
    if (!isHeard()) return;
    // The library has queued a reply to it.
    if (ws.bufferedAmount > SOCKET_LIMITS.maxWaitingBytes) ws.terminate();
    else listener.onControlFrame();
  });
  connection.on('drain', () => listener.onTaken());
  ws.once('close', () => {
    clearTimeout(silence);
    listener.onClose();
  });
}

/** What the kernel has taken of the write in progress: Node counts that as waiting until all of it is taken. */
function takenBytes(socket: Socket): number {
  const { _handle: handle, _writableState: state } = socket as unknown as {
    _handle: { writeQueueSize: number } | null;
    _writableState: { writelen: number };
  };
  return handle === null ? 0 : Math.max(0, state.writelen - handle.writeQueueSize);
}
