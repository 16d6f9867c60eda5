/** WebSockets of uWebSockets.js. */
import type * as Uws from 'uWebSockets.js';
import { type LiveSocket, type OpenSocket, SOCKET_LIMITS, type SocketListener } from './outlet.js';

/** What the library keeps with a socket. */
export interface SocketData {
  open: OpenSocket;
  listener: SocketListener | null;
  socket: UwsSocket | null;
}

type LibrarySocket = Uws.WebSocket<SocketData>;

export const SOCKET_BEHAVIOR = {
  maxPayloadLength: SOCKET_LIMITS.maxMessageBytes,
  idleTimeout: SOCKET_LIMITS.silenceS,
  // The server sends nothing while this much waits, so the library drops only replies to pings.
  maxBackpressure: SOCKET_LIMITS.maxWaitingBytes,
  sendPingsAutomatically: false,
  open(ws: LibrarySocket) {
    const data = ws.getUserData();
    data.socket = new UwsSocket(ws);
    data.listener = data.open(data.socket);
  },
  message(ws: LibrarySocket, message: ArrayBuffer, isBinary: boolean) {
    ws.getUserData().listener?.onMessage(new Uint8Array(message), !isBinary);
  },
  drain(ws: LibrarySocket) {
    ws.getUserData().listener?.onTaken();
  },
  ping(ws: LibrarySocket) {
    ws.getUserData().listener?.onControlFrame();
  },
  pong(ws: LibrarySocket) {
    ws.getUserData().listener?.onControlFrame();
  },
  close(ws: LibrarySocket) {
    const data = ws.getUserData();
    if (data.socket !== null) data.socket.isOpen = false;
    data.listener?.onClose();
  },
} satisfies Uws.WebSocketBehavior<SocketData>;

/** Does not use the library's socket after it has closed. */
class UwsSocket implements LiveSocket {
  isOpen = true;

  constructor(private readonly ws: LibrarySocket) {}

  get waitingBytes(): number {
    return this.isOpen ? this.ws.getBufferedAmount() : 0;
  }

  send(message: Uint8Array, isText: boolean): void {
    if (this.isOpen) this.ws.send(message, !isText);
  }

  ping(): void {
    if (this.isOpen) this.ws.ping();
  }

  close(code: number, reason: string): void {
    if (this.isOpen) this.ws.end(code, reason);
  }

  cut(): void {
    if (this.isOpen) this.ws.close();
  }
}
