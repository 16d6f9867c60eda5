/** The HTTP half of the Fastify peers: a page from a database, compressed off the event loop. */
import { fastify } from 'fastify';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

const gzip = promisify(zlib.gzip);
/** A page's compressed bytes fit into one chunk. */
const CHUNK_BYTES = 512 * 1024;
const JSON_TYPE = 'application/json';
const ARROW_TYPE = 'application/vnd.apache.arrow.stream';

export interface PageRequest {
  /** The token's number in the tables, and its address. */
  token: number;
  address: string;
  from: number;
  to: number;
}

/** Makes the reply's JSON, or its Arrow stream. */
export type MakePage = (request: PageRequest) => Promise<string | Uint8Array>;

/** A database behind Fastify: its ways by name. */
export interface PageMakers {
  version: string;
  ways: Readonly<Record<string, MakePage>>;
}

interface Route {
  Params: { way: string; level: string; address: string };
  Querystring: { from: string; to: string };
}

/**
 * Serves `/WAY/GZIP-LEVEL/ADDRESS?from=&to=` on a free port of 127.0.0.1; level 0 is without a content coding.
 * @param addresses of the tokens, by their numbers
 * @returns the URL
 */
export async function servePages(
  { ways }: PageMakers,
  addresses: readonly string[],
): Promise<string> {
  const numbers = new Map(addresses.map((address, i) => [address, i]));
  const app = fastify({ logger: false });
  app.get<Route>('/:way/:level/:address', async (request, reply) => {
    const { way, level, address } = request.params;
    const token = numbers.get(address);
    if (token === undefined || !Object.hasOwn(ways, way)) return reply.code(404).send();
    const { from, to } = request.query;
    const page = await ways[way]({ token, address, from: Number(from), to: Number(to) });
    reply.header('content-type', typeof page === 'string' ? JSON_TYPE : ARROW_TYPE);
    if (level === '0') return reply.send(page);
    const body = await gzip(page, { level: Number(level), chunkSize: CHUNK_BYTES });
    return reply.header('content-encoding', 'gzip').send(body);
  });
  return app.listen({ host: '127.0.0.1', port: 0 });
}
