/** The HTTP half of the Fastify peers: a page's text from a database, compressed off the loop. */
import { fastify } from 'fastify';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { benchAddress } from '../data/pages.js';

const gzip = promisify(zlib.gzip);
/** A page's compressed bytes come in one piece. */
const CHUNK_BYTES = 512 * 1024;

export interface PageRequest {
  /** The token's number in the tables, and its address. */
  token: number;
  address: string;
  from: number;
  to: number;
}

/** Makes the reply's JSON. */
export type MakePage = (request: PageRequest) => Promise<string>;

/** A database behind Fastify, each way under its name. */
export interface PageMakers {
  version: string;
  ways: Readonly<Record<string, MakePage>>;
}

interface Route {
  Params: { way: string; level: string; address: string };
  Querystring: { from: string; to: string };
}

/** Serves `/WAY/GZIP-LEVEL/ADDRESS?from=&to=` on a free port of 127.0.0.1. @returns the URL */
export async function servePages({ ways }: PageMakers, tokens: number): Promise<string> {
  const numbers = new Map(Array.from({ length: tokens }, (_, i) => [benchAddress(i), i]));
  const app = fastify({ logger: false });
  app.get<Route>('/:way/:level/:address', async (request, reply) => {
    const { way, level, address } = request.params;
    const token = numbers.get(address);
    if (token === undefined || !Object.hasOwn(ways, way)) return reply.code(404).send();
    const { from, to } = request.query;
    const text = await ways[way]({ token, address, from: Number(from), to: Number(to) });
    const body = await gzip(text, { level: Number(level), chunkSize: CHUNK_BYTES });
    reply.header('content-type', 'application/json').header('content-encoding', 'gzip');
    return reply.send(body);
  });
  return app.listen({ host: '127.0.0.1', port: 0 });
}
