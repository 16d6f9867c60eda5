/** One GET over HTTP: the whole reply, decoded and bounded, or an error that says what broke. */
import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import zlib from 'node:zlib';

/** Bytes of a decoded body; a full page of the widest markets stays below. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;
/** A server that sends no byte for so long is given up. */
const SILENCE_LIMIT_MS = 60_000;

export interface HttpReply {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

/** No reply, or none in full: the server was not reached, or left before the end. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

const keepAlive = { keepAlive: true, maxSockets: 1 } as const;
const agents = {
  'http:': new http.Agent(keepAlive),
  'https:': new https.Agent(keepAlive),
};

/**
 * Redirects are not followed: they would carry the key to wherever they lead.
 * @throws ConnectionError
 * @throws the signal's reason once it is aborted
 */
export async function get(
  url: URL,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<HttpReply> {
  for (;;) {
    try {
      return await attempt(url, { ...headers, 'accept-encoding': 'br, gzip' }, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The server had closed the idle connection of an earlier request.
      if (error instanceof StaleSocketError) continue;
      throw new ConnectionError(reasonOf(error));
    }
  }
}

class StaleSocketError extends Error {}

function attempt(
  url: URL,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<HttpReply> {
  const { request } = url.protocol === 'https:' ? https : http;
  const agent = agents[url.protocol as keyof typeof agents];
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, agent, signal }, (incoming) => {
      const { statusCode: status = 0, headers } = incoming;
      readBody(incoming).then((body) => resolve({ status, headers, body }), reject);
    });
    outgoing.setTimeout(SILENCE_LIMIT_MS, () => {
      outgoing.destroy(new Error(`no byte in ${SILENCE_LIMIT_MS / 1000} s`));
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const stale = outgoing.reusedSocket && error.code === 'ECONNRESET';
      reject(stale ? new StaleSocketError() : error);
    });
    outgoing.end();
  });
}

async function readBody(incoming: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of decoded(incoming) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error(`a reply of more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function decoded(incoming: http.IncomingMessage): Readable {
  const decoder = decoderOf(incoming.headers['content-encoding'] ?? 'identity');
  if (decoder === null) return incoming;
  // Unlike pipe(), this ends the decoder when the connection breaks.
  incoming.on('error', (error) => decoder.destroy(error));
  return incoming.pipe(decoder);
}

function decoderOf(encoding: string): zlib.Gunzip | zlib.BrotliDecompress | null {
  switch (encoding) {
    case 'identity':
      return null;
    case 'gzip':
      return zlib.createGunzip();
    case 'br':
      return zlib.createBrotliDecompress();
    default:
      throw new Error(`an encoding that was not asked for: ${encoding}`);
  }
}

/** `localhost` is tried on several addresses, whose failures come as one. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'failed';
}
