/**
 * The interface of HTTP engines. An engine speaks HTTP/1.1 on a port, hands over
 * a connection's requests one at a time, and reports how much of a reply the kernel has taken. It cuts a client that
 * sends a request while an earlier one of its connection is in progress.
 */
import type { ConnectionLimit } from './connection-limit.js';
import { ApiError, type Headers } from './errors.js';

export const ENGINE_NAMES = ['uws', 'node'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

export interface HttpEngine {
  readonly name: EngineName;
  /** @throws Error that says why it cannot listen on the address */
  listen(options: ListenOptions): Promise<Listener>;
}

export interface ListenOptions {
  /** An address or name of this machine. */
  host: string;
  /** 0: any free port. */
  port: number;
  /** Gets every request. Before it returns, it replies or calls the request's onGone(). */
  onRequest: (request: EngineRequest) => void;
  /** Counts every connection, and may refuse it. */
  connections?: ConnectionLimit;
  /** The path on which a request may ask for a WebSocket; on other paths the engine ignores such requests. */
  socketPath?: string;
}

export interface Listener {
  /** The port, even if 0 was requested. */
  port: number;
  /** Accepts no more connections; open ones continue. Idempotent. */
  stopListening(): void;
  /** Cuts every connection and stops listening. Idempotent. */
  close(): void;
}

export interface ReplyHead {
  status: number;
  reason: string;
  /** All but the length. */
  headers: Headers;
  /** Whether the connection ends with this reply. */
  isLast: boolean;
}

/** Called as the kernel takes more of a reply's body, with how much it has taken so far. */
export type OnTaken = (bytes: number, isAll: boolean) => void;

/** A request and the way back to its client. */
export interface EngineRequest {
  /** As sent: methods are case-sensitive. */
  readonly method: string;
  /** The path as sent, percent-encoded. */
  readonly path: string;
  /** The query string as sent, without its question mark. */
  readonly query: string;
  /**
   * The value of the header of a name in lower case, '' if there is none. Several lines are one list, with
   * commas between (RFC 9110, 5.3): a header that is not a list gets an invalid value if it is repeated.
   */
  header(name: string): string;
  /** The address at the other end of the connection; until onRequest returns. */
  address(): string;
  /** Sets the listener that is called if the connection ends before the reply is sent in full. */
  onGone(listener: () => void): void;
  /**
   * Reads the body. Call it before onRequest returns. The engine reuses a chunk's memory when the listener returns, and
   * drops a body that nobody reads.
   */
  onData(listener: (chunk: Uint8Array, isLast: boolean) => void): void;
  /**
   * Replies, once. To HEAD it sends what a GET would get, without the body.
   * @param body must not change afterwards; null: the status has none
   * @param onTaken is called if the kernel does not take all at once
   * @returns whether it took all at once
   */
  reply(head: ReplyHead, body: Uint8Array | null, onTaken: OnTaken): boolean;
  /**
   * Replies with a body whose end is not known yet.
   * @param filler bytes that the client ignores between any two writes
   * @param onTaken is called when the kernel has taken some of what waited
   */
  stream(head: ReplyHead, filler: Uint8Array, onTaken: () => void): ReplyStream;
  /** The protocols that the client offers for a WebSocket; null: it asks for none. */
  readonly socketProtocols: readonly string[] | null;
  /**
   * Turns the connection into a WebSocket instead of replying.
   * @param protocol one of those that the client offers; null: none
   * @param open is called with the open socket, unless the client has gone
   */
  openSocket(headers: Headers, protocol: string | null, open: OpenSocket): void;
  cut(): void;
}

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

/** Members of a header's list, and parameters of one, that are read; further ones are ignored. */
export const MAX_LIST_MEMBERS = 100;

/** The members of a header's list, as sent. */
export const membersOf = (header: string): string[] => header.split(',', MAX_LIST_MEMBERS);

export const offeredProtocols = (header: string): string[] =>
  header === '' ? [] : membersOf(header).map((name) => name.trim());

/**
 * The most bytes of a request's body that the server receives, whether it reads or drops them. If more arrive, the
 * engine closes the connection. Every route reads less.
 */
export const MAX_RECEIVED_BODY_BYTES = 1024 * 1024;

/** Whether the declared length of the body exceeds MAX_RECEIVED_BODY_BYTES. */
export function declaresLongBody(request: Pick<EngineRequest, 'header'>): boolean {
  const length = request.header('content-length');
  return length !== '' && Number(length) > MAX_RECEIVED_BODY_BYTES;
}

/** Whether a header's list has an option, in lower case. */
export const hasToken = (header: string, token: string): boolean =>
  header !== '' && membersOf(header.toLowerCase()).some((one) => one.trim() === token);

export const WEBSOCKET_VERSION = '13';

/** Whether a request opens a WebSocket (RFC 6455, 4.2.1). */
export function isHandshake(request: Pick<EngineRequest, 'method' | 'header'>): boolean {
  return (
    request.method === 'GET' &&
    request.header('upgrade').toLowerCase() === 'websocket' &&
    hasToken(request.header('connection'), 'upgrade') &&
    /^[+/0-9A-Za-z]{22}==$/.test(request.header('sec-websocket-key')) &&
    request.header('sec-websocket-version') === WEBSOCKET_VERSION
  );
}

/** Joins the lines of a repeated header. */
export const LIST_SEPARATOR = ', ';

/** Request line and headers. */
const MAX_REQUEST_HEAD_BYTES = 16 * 1024;
/** uWebSockets.js reads this variable when it is loaded. */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(MAX_REQUEST_HEAD_BYTES);
export const requestHeadBytes = () => Number(process.env.UWS_HTTP_MAX_HEADERS_SIZE);

/** The reply to bytes that are not a valid request; the engine then closes the connection. */
export const badRequest = (message: string) => new ApiError(400, 'bad_request', message);

/** The reply to a request that should have a header once. */
function wrongCount(header: string, sent: number): ApiError {
  return badRequest(`${header}: expected one, ${sent === 0 ? 'none was' : `${sent} were`} sent`);
}

/** Characters of a host, an IPv6 address among them, and of its port. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/**
 * A fault that an engine accepts but a proxy in front may interpret differently.
 * @param names in lower case
 */
export function framingFault(
  names: readonly string[],
  values: readonly string[],
  needsHost = true,
): ApiError | null {
  let hosts = 0;
  let codings = 0;
  let chunked = 0;
  let lengths = 0;
  let isEmptyLength = false;
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name === 'host') {
      hosts++;
      if (!HOST.test(values[i])) return badRequest('Host: expected a name or an address');
    } else if (name === 'transfer-encoding') {
      codings++;
      if (values[i].toLowerCase() === 'chunked') chunked++;
    } else if (name === 'content-length') {
      lengths++;
      isEmptyLength = values[i] === '';
    }
  }
  if (hosts > 1 || (hosts === 0 && needsHost)) return wrongCount('Host', hosts);
  if (codings > chunked || codings > 1) {
    return badRequest('Transfer-Encoding: expected only chunked');
  }
  if (lengths > 1) return wrongCount('Content-Length', lengths);
  return isEmptyLength ? badRequest('Content-Length: expected a number') : null;
}

/** Why an engine cannot listen, by the code of Node's error. */
export function listenFault(host: string, port: number, code = 'for an unknown reason'): Error {
  const why = LISTEN_FAULTS[code] ?? ` cannot be opened (${code})`;
  return new Error(`port ${port} on ${host}${why}`);
}

const NO_ADDRESS = ': the host is not an address of this machine';
const LISTEN_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: ' is in use',
  EACCES: ' needs more rights than this user has',
  EADDRNOTAVAIL: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
  EAI_AGAIN: NO_ADDRESS,
};
