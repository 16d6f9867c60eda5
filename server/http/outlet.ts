/** Replies and sockets that the server writes to as long as they are open. */

/** A reply's body or a socket, which the client may read slowly. */
interface Outlet {
  /** An upper bound of the bytes that the kernel has not taken yet. */
  readonly waitingBytes: number;
  cut(): void;
}

/** A reply's body as it is being made. */
export interface ReplyStream extends Outlet {
  write(bytes: Uint8Array): void;
  end(): void;
}

export interface LiveSocket extends Outlet {
  /** Sends a whole message: a text, or bytes. */
  send(message: Uint8Array, isText: boolean): void;
  ping(): void;
  /** Ends the connection; the client gets all that was sent before. */
  close(code: number, reason: string): void;
}

/** Receives a socket's events. */
export interface SocketListener {
  /** The engine reuses the message's memory when the listener returns. */
  onMessage(message: Uint8Array, isText: boolean): void;
  /** The kernel has taken some of what waited. */
  onTaken(): void;
  /** The client has sent a ping, and the engine has queued a reply, or a pong. */
  onControlFrame(): void;
  /** The connection has ended; the socket must no longer be used. */
  onClose(): void;
}

export type OpenSocket = (socket: LiveSocket) => SocketListener;

/** Bounds of a socket. A longer message, a longer silence or more unread replies to pings close it. */
export const SOCKET_LIMITS = {
  maxMessageBytes: 64 * 1024,
  /** Parts of a message, and pieces in which a part arrives: Node's engine keeps each in an object of its own. */
  maxFragments: 64,
  maxPieces: 1_024,
  silenceS: 120,
  maxWaitingBytes: 1024 * 1024,
} as const;
