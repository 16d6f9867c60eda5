/**
 * Cross-origin requests of browsers (CORS, Fetch standard 3.3): a page of another origin may read replies
 * only if their headers allow it, and first asks in a preflight whether it may send a key.
 */
import type { Headers } from './errors.js';
import type { Exchange } from './exchange.js';

/** Means every origin. */
export const ANY_ORIGIN = '*';

interface CorsOptions {
  /** The pages that may read replies, by origin (`https://app.example.com`); or ANY_ORIGIN. */
  origins: readonly string[];
  /** Headers of replies that they may read. */
  exposedHeaders: readonly string[];
}

/** Replies to preflights: the methods, and the headers of an API request that browsers send only if allowed. */
const PREFLIGHT: Headers = [
  ['Access-Control-Allow-Methods', 'GET, HEAD, POST'],
  [
    'Access-Control-Allow-Headers',
    'x-api-key, content-type, if-none-match, want-repr-digest, last-event-id',
  ],
  // Two hours, the longest that Chromium accepts.
  ['Access-Control-Max-Age', '7200'],
];

/**
 * Adds the headers of CORS to every reply of `handle`, errors included, and answers preflights itself, so
 * that they need no key and cost nothing. Without origins it returns `handle`.
 */
export function withCors(
  handle: (exchange: Exchange) => void,
  { origins, exposedHeaders }: CorsOptions,
): (exchange: Exchange) => void {
  if (origins.length === 0) return handle;
  const known = new Set(origins);
  const any = known.has(ANY_ORIGIN);
  const exposed = exposedHeaders.join(', ');
  return (exchange) => {
    if (!any) exchange.addHeader('Vary', 'Origin');
    const origin = exchange.header('origin');
    const allowed = origin !== '' && (any || known.has(origin));
    if (allowed) exchange.addHeader('Access-Control-Allow-Origin', any ? ANY_ORIGIN : origin);
    if (allowed && isPreflight(exchange)) {
      exchange.reply(204, PREFLIGHT, null);
      return;
    }
    if (allowed) exchange.addHeader('Access-Control-Expose-Headers', exposed);
    handle(exchange);
  };
}

function isPreflight(exchange: Exchange): boolean {
  return exchange.method === 'OPTIONS' && exchange.header('access-control-request-method') !== '';
}
