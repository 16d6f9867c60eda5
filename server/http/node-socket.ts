/** WebSockets of Node's own HTTP, with the library ws. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { type LiveSocket, type OpenSocket, SOCKET_LIMITS } from './engine.js';
import type { Headers } from './errors.js';

/** How long a client may take to answer a close frame. */
const CLOSE_LIMIT_MS = 2_000;

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
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: SOCKET_LIMITS.maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols: () => protocol ?? false,
  });
  server.on('headers', (lines) =>
    lines.push(...headers.map(([name, value]) => `${name}: ${value}`)),
  );
  server.handleUpgrade(req, socket, upgradeHead, (ws) => openNodeSocket(ws, socket, open));
}

function openNodeSocket(ws: WebSocket, connection: Socket, open: OpenSocket): void {
  let silence: NodeJS.Timeout | undefined;
  const restartSilenceTimer = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => ws.terminate(), SOCKET_LIMITS.silenceS * 1000).unref();
  };
  const socket: LiveSocket = {
    get waitingBytes() {
      return ws.bufferedAmount;
    },
    send: (message, isText) => ws.send(message, { binary: !isText }),
    ping: () => ws.ping(),
    close: (code, reason) => {
      ws.close(code, reason);
      setTimeout(() => ws.terminate(), CLOSE_LIMIT_MS).unref();
    },
    cut: () => ws.terminate(),
  };
  // An error is followed by 'close'.
  ws.on('error', () => undefined);
  const listener = open(socket);
  restartSilenceTimer();
  ws.on('message', (data: Buffer, isBinary) => {
    restartSilenceTimer();
    listener.onMessage(data, !isBinary);
  });
  ws.on('pong', restartSilenceTimer);
  ws.on('ping', () => {
    restartSilenceTimer();
    // The library has queued a reply to it.
    if (ws.bufferedAmount > SOCKET_LIMITS.maxWaitingBytes) ws.terminate();
    else listener.onPong();
  });
  connection.on('drain', () => listener.onTaken());
  ws.once('close', () => {
    clearTimeout(silence);
    listener.onClose();
  });
}
