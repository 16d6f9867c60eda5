/** A real HTTP proxy in front of a server, which answers by itself when a test tells it to. */
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers a request instead of the server. */
export type Instead = (res: ServerResponse, pass: () => void) => void;

export interface Proxy {
  url: string;
  /** Paths with queries, in the order of the requests. */
  requests: string[];
  /** Headers of the last request. */
  lastHeaders: IncomingMessage['headers'];
  /** Called before each request with its number, from 1 on; null: the request is passed on. */
  script: (request: number) => Instead | null;
  /** Where requests are passed on to. */
  upstream: string;
  close(): Promise<void>;
}

export async function startProxy(upstream: string): Promise<Proxy> {
  const server = createServer((req, res) => {
    proxy.requests.push(req.url as string);
    proxy.lastHeaders = req.headers;
    const pass = (): void => forward(proxy.upstream, req, res);
    const instead = proxy.script(proxy.requests.length);
    if (instead === null) pass();
    else instead(res, pass);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: Proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    lastHeaders: {},
    script: () => null,
    upstream,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}

function forward(upstream: string, req: IncomingMessage, res: ServerResponse): void {
  const { method, headers } = req;
  // A connection of its own: the server may close one that was used before.
  const options = { method, headers, agent: false };
  const outgoing = request(upstream + req.url, options, (incoming) => {
    res.writeHead(incoming.statusCode as number, incoming.headers);
    incoming.pipe(res);
  });
  outgoing.on('error', () => res.destroy());
  req.pipe(outgoing);
}

/** A reply with a JSON body. */
export function answer(
  status: number,
  body: object,
  headers: Record<string, string> = {},
): Instead {
  return (res) => {
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(JSON.stringify(body));
  };
}

/** The connection ends in the middle of a body. */
export const cutShort: Instead = (res) => {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  res.write('{"token":', () => res.destroy());
};

/** The connection ends before any reply. */
export const hangUp: Instead = (res) => void res.destroy();
