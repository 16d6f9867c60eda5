/** Wraps uWebSockets.js: listening, and the types of its request and response. */
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import type * as Uws from 'uWebSockets.js';

export type UwsResponse = Uws.HttpResponse;
export type UwsRequest = Uws.HttpRequest;

/** Request line and headers. The library reads the variable once, when it is loaded. */
const MAX_REQUEST_HEAD_BYTES = 16 * 1024;
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(MAX_REQUEST_HEAD_BYTES);
const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;

interface Listener {
  /** The port, even if 0 was requested. */
  port: number;
  /** Accepts no more connections; open ones continue. Idempotent. */
  stopListening(): void;
  /** Cuts every connection and stops listening. Idempotent. */
  close(): void;
}

/** Missing from the library's types. */
interface UntypedUws {
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}
interface UntypedApp {
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: Uws.us_listen_socket | false) => void,
  ): void;
}

/**
 * Listens for HTTP/1.1 and hands every request to `handler`, which has to reply or to attach
 * onAborted before it returns.
 * @throws Error that says why it cannot listen on the address
 */
export async function listen(
  host: string,
  port: number,
  handler: (res: UwsResponse, req: UwsRequest) => void,
): Promise<Listener> {
  const app = uws.App().any('/*', handler);
  const socket = await new Promise<Uws.us_listen_socket | false>((resolve) => {
    // Without this option, a second server on the port would get half of the connections.
    const { LIBUS_LISTEN_EXCLUSIVE_PORT: exclusive } = uws as unknown as UntypedUws;
    (app as unknown as UntypedApp).listen(host, port, exclusive, resolve);
  });
  if (socket === false) throw new Error(await whyNot(host, port));
  let listening = true;
  let open = true;
  const stopListening = () => {
    if (listening) uws.us_listen_socket_close(socket);
    listening = false;
  };
  return {
    port: uws.us_socket_local_port(socket),
    stopListening,
    close() {
      stopListening();
      if (open) app.close();
      open = false;
    },
  };
}

/** uWebSockets.js does not say why it could not listen; Node's own server does. */
function whyNot(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', ({ code }: NodeJS.ErrnoException) => resolve(reason(host, port, code)));
    probe.listen({ port, host, exclusive: true }, () => {
      probe.close(() => resolve(reason(host, port)));
    });
  });
}

function reason(host: string, port: number, code = 'for an unknown reason'): string {
  const at = `port ${port} on ${host}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${at} is in use`;
    case 'EACCES':
      return `${at} needs more rights than this user has`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${at}: the host is not an address of this machine`;
    default:
      return `${at} can't be listened on (${code})`;
  }
}
