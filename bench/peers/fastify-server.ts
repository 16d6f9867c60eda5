/** The HTTP half of the Fastify peers: a page from a database, compressed off the event loop. */
import { fastify } from 'fastify';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

const gzip = promisify(zlib.gzip);
/** A page's compressed bytes fit into one chunk. */
const CHUNK_BYTES = 512 * 1024;
/** zlib's fastest. */
const LEVEL = 1;

export interface PageRequest {
  /** The token's number in the tables, and its address. */
  token: number;
  address: string;
  from: number;
  to: number;
}

/** Makes the reply's JSON. */
export type MakePage = (request: PageRequest) => Promise<string>;

/** A database behind Fastify. */
export interface PageMaker {
  version: string;
  make: MakePage;
}

interface Route {
  Params: { address: string };
  Querystring: { from: string; to: string };
}

/**
 * Serves `/ADDRESS?from=&to=` on a free port of 127.0.0.1.
 * @param addresses of the tokens, by their numbers
 * @returns the URL
 */
export async function servePages(
  { make }: PageMaker,
  addresses: readonly string[],
): Promise<string> {
  const numbers = new Map(addresses.map((address, i) => [address, i]));
  const app = fastify({ logger: false });
  app.get<Route>('/:address', async (request, reply) => {
    const { address } = request.params;
    const token = numbers.get(address);
    if (token === undefined) return reply.code(404).send();
    const { from, to } = request.query;
    const page = await make({ token, address, from: Number(from), to: Number(to) });
    const body = await gzip(page, { level: LEVEL, chunkSize: CHUNK_BYTES });
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    return reply.headers(headers).send(body);
  });
  return app.listen({ host: '127.0.0.1', port: 0 });
}
