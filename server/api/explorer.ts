/** Serves the explorer at `/`: the page that Vite builds from explorer/. */
import { builtPath } from '../../compute/built.js';
import { ApiError } from '../http/errors.js';
import type { Route } from '../http/router.js';
import { BuiltPages, INDEX, pageHeaders } from './built-pages.js';

/** The page loads from and calls this server only, and runs no inline script. */
const PAGE_HEADERS = pageHeaders([
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
]);

/**
 * Routes of the page and of its files, which `folder` holds; they need no key.
 * @param options.frozenS the time at which the server's clock is frozen; undefined: it runs
 */
export function explorerRoutes({
  folder = builtPath('explorer'),
  frozenS,
}: { folder?: string; frozenS?: number } = {}): Route[] {
  // Scripts can read this header of their own page, which saves them a request for the clock.
  const timing = frozenS === undefined ? [] : [['Server-Timing', `as-of;dur=${frozenS}`] as const];
  const headers = [...PAGE_HEADERS, ...timing];
  const build = new BuiltPages({ folder, headersOf: () => headers, notBuilt });
  return [
    {
      method: 'GET',
      path: '/',
      handle: ({ exchange }) => build.page(exchange, INDEX),
    },
    {
      method: 'GET',
      path: '/explorer/:file',
      handle: ({ exchange, params }) => build.asset(exchange, params.file),
    },
  ];
}

function notBuilt(): ApiError {
  return new ApiError(
    503,
    'explorer_not_built',
    "The explorer is not built: run 'npm run build'. The API's description is at /api/v1/openapi.json.",
  );
}
