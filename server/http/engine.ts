/**
 * The interface of HTTP engines. An engine speaks HTTP/1.1 on a port, hands over
 * a connection's requests one at a time, and reports how much of a reply the kernel has taken. It cuts a client that
 * sends a request while an earlier one of its connection is in progress.
 */
import type { ConnectionLimit } from './connection-limit.js';
import type { Exchange, ExchangeHost } from './exchange.js';

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
  exchanges: ExchangeHost;
  /** Gets every request. */
  onRequest: (exchange: Exchange) => void;
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

/** Request line and headers. */
const MAX_REQUEST_HEAD_BYTES = 16 * 1024;
/** uWebSockets.js reads this variable when it is loaded. */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(MAX_REQUEST_HEAD_BYTES);
export const requestHeadBytes = () => Number(process.env.UWS_HTTP_MAX_HEADERS_SIZE);

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
