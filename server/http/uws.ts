/** The engine that uses uWebSockets.js. Importing it fails if the library does not load. */
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import type * as Uws from 'uWebSockets.js';
import { type HttpEngine, listenFault, type Listener, type ListenOptions } from './engine.js';
import { framingFault } from './request-head.js';
import { readHead, refuse, UwsExchange } from './uws-exchange.js';
import { SOCKET_BEHAVIOR, type SocketData } from './uws-socket.js';

const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;

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

export const uwsEngine: HttpEngine = { name: 'uws', listen };

async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, exchanges, onRequest, connections, socketPath } = options;
  const app = uws.App();
  app.filter((res, change) => {
    if (Number(change) < 0) connections?.closed();
    else if (connections?.opened() === false) res.close();
  });
  const onIncoming = (
    res: Uws.HttpResponse,
    req: Uws.HttpRequest,
    socketContext: Uws.us_socket_context_t | null = null,
  ): void => {
    const head = readHead(req);
    const fault = framingFault(head);
    if (fault !== null) {
      refuse(res, fault);
      return;
    }
    const exchange = new UwsExchange(exchanges, head, res, socketContext);
    onRequest(exchange);
    exchange.handlerReturned();
  };
  if (socketPath !== undefined) {
    app.ws<SocketData>(socketPath, {
      ...SOCKET_BEHAVIOR,
      compression: uws.DISABLED,
      close(ws) {
        SOCKET_BEHAVIOR.close(ws);
        // The library calls the filter when a WebSocket's connection opens, but not when it ends. After a close frame, of
        // either side, it leaves it half-open for up to 20 s.
        connections?.ended();
      },
      upgrade: onIncoming,
    });
  }
  app.any('/*', (res, req) => onIncoming(res, req));
  const socket = await new Promise<Uws.us_listen_socket | false>((resolve) => {
    // Without this option, a second server on the port would get half of the connections.
    const { LIBUS_LISTEN_EXCLUSIVE_PORT: exclusive } = uws as unknown as UntypedUws;
    (app as unknown as UntypedApp).listen(host, port, exclusive, resolve);
  });
  if (socket === false) throw await whyNot(host, port);
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
function whyNot(host: string, port: number): Promise<Error> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(listenFault(host, port, code)),
    );
    probe.listen({ port, host, exclusive: true }, () => {
      probe.close(() => resolve(listenFault(host, port)));
    });
  });
}
