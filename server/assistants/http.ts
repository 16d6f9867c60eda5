/** The tools over HTTP (the protocol's Streamable HTTP): several assistants at one address. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { listenFault } from '../http/engine.js';
import type { Source } from './call.js';
import { mcpServer } from './mcp-server.js';
import { MAX_RPC_BYTES } from './stdio.js';

const PATH = '/mcp';
const MAX_ASSISTANTS = 100;
/** Streams on which an assistant waits for news; the tools have none. */
const MAX_STREAMS = 10;
/** A request that takes longer to arrive is refused. */
const ARRIVAL_LIMIT_MS = 10_000;

export interface HttpOptions {
  host: string;
  port: number;
  /** Names by which assistants may call this address, besides those of the loopback interface. */
  allowedHosts: readonly string[];
}

export interface HttpServing {
  url: string;
  close(): Promise<void>;
}

/**
 * Listens until it is closed. A request's `x-api-key` replaces the source's key.
 * @throws Error if it cannot listen
 */
export async function serveOnHttp(
  source: Source,
  { host, port, allowedHosts }: HttpOptions,
  report: (error: unknown) => void,
): Promise<HttpServing> {
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const key = requestInfo?.headers.get('x-api-key') ?? source.key;
      return mcpServer({ ...source, key }, report);
    },
    { maxSubscriptions: MAX_STREAMS },
  );
  const names = [...localhostAllowedHostnames(), ...allowedHosts];
  // A page of a browser must not reach the tools, not even by a name that it makes lead here.
  const refuse = (head: Request): Response | undefined =>
    hostHeaderValidationResponse(head, names) ??
    originValidationResponse(head, names) ??
    (new URL(head.url).pathname === PATH ? undefined : notFound());
  const server = createServer({ requestTimeout: ARRIVAL_LIMIT_MS }, (request, response) => {
    exchange(request, response, { refuse, fetch: handler.fetch }).catch((error: unknown) => {
      response.destroy();
      if (request.complete) report(error);
    });
  });
  server.maxConnections = MAX_ASSISTANTS;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenFault(host, port, (error as NodeJS.ErrnoException).code);
  }
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}${PATH}`,
    close: () => closed(server, handler.close),
  };
}

function notFound(): Response {
  return Response.json({ error: `Not Found: the tools are at ${PATH}` }, { status: 404 });
}

interface Handler {
  /** The answer to a request that is refused by its head. */
  refuse: (head: Request) => Response | undefined;
  fetch: (request: Request) => Promise<Response>;
}

/** Answers one request by functions of the web's Request and Response. */
async function exchange(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handler: Handler,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const { method = '', url = '/' } = incoming;
  const base = `http://${incoming.headers.host ?? 'localhost'}`;
  if (!URL.canParse(url, base)) {
    outgoing.writeHead(400).end();
    return;
  }
  const target = new URL(url, base);
  const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const refused = handler.refuse(new Request(target, { headers }));
  const body = refused === undefined ? await bodyOf(incoming) : null;
  const response =
    refused ??
    (body === null
      ? tooLarge()
      : (unfit(method, body) ??
        (await handler.fetch(
          new Request(target, {
            method,
            headers,
            signal: gone.signal,
            body: body.length === 0 ? undefined : body,
          }),
        ))));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else await pipeline(response.body, outgoing).catch(() => undefined);
}

/** The bytes of a body; null if it is too large. Node discards what is left of it. */
async function bodyOf(incoming: IncomingMessage): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_RPC_BYTES) resolve(null);
      else chunks.push(chunk);
    });
    incoming.once('end', () => resolve(Buffer.concat(chunks)));
    incoming.once('error', reject);
  });
}

/** The answer to what the web's Request cannot hold: TRACE, and a body of GET or HEAD. */
function unfit(method: string, body: Uint8Array): Response | undefined {
  if (method === 'TRACE') {
    const headers = { allow: 'GET, POST, DELETE' };
    return Response.json({ error: 'Method Not Allowed: TRACE' }, { status: 405, headers });
  }
  if (body.length === 0 || !['GET', 'HEAD'].includes(method)) return undefined;
  return Response.json({ error: `Bad Request: expected no body of ${method}` }, { status: 400 });
}

function tooLarge(): Response {
  const error = `Payload Too Large: expected at most ${MAX_RPC_BYTES} bytes`;
  return Response.json({ error }, { status: 413 });
}

async function closed(server: Server, closeHandler: () => Promise<void>): Promise<void> {
  await closeHandler();
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}
