/** Serves the explorer at `/`: the page that Vite builds from explorer/. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { builtPath } from '../../compute/built.js';
import { ApiError, type Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import type { Route } from '../http/router.js';
import { StaticFile } from '../http/static-files.js';

const EXPLORER_PATH = '/';
/** Where Vite builds to. */
const FOLDER = builtPath('explorer');
const INDEX = 'index.html';

/** The page loads from and calls this server only, and runs no inline script. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE_HEADERS: Headers = [
  ['Content-Security-Policy', POLICY],
  ['Referrer-Policy', 'no-referrer'],
  ['Cache-Control', 'no-cache'],
];
/** Minimum time between two scans of the folder, however many requests ask for missing files. */
const RESCAN_AFTER_MS = 200;
/** File names contain a hash of the content. */
const ASSET_HEADERS: Headers = [['Cache-Control', 'public, max-age=31536000, immutable']];

/**
 * Routes of the page and of its files, which `folder` holds; they need no key.
 * @param options.frozenS the time at which the server's clock is frozen; undefined: it runs
 */
export function explorerRoutes({
  folder = FOLDER,
  frozenS,
}: { folder?: string; frozenS?: number } = {}): Route[] {
  const build = new Build(folder, frozenS);
  return [
    {
      method: 'GET',
      path: EXPLORER_PATH,
      handle: ({ exchange }) => build.reply(exchange, INDEX),
    },
    {
      method: 'GET',
      path: '/explorer/:file',
      handle({ exchange, params }) {
        if (params.file === INDEX) throw noSuchFile();
        return build.reply(exchange, params.file);
      },
    },
  ];
}

/** The built files. A build may run while the server does. */
class Build {
  /** By name; empty if there is no build. */
  private files: ReadonlyMap<string, StaticFile> = new Map();
  private scannedMs = -Infinity;

  private readonly pageHeaders: Headers;

  constructor(
    private readonly folder: string,
    frozenS: number | undefined,
  ) {
    // Scripts can read this header of their own page, which saves them a request for the clock.
    this.pageHeaders =
      frozenS === undefined
        ? PAGE_HEADERS
        : [...PAGE_HEADERS, ['Server-Timing', `as-of;dur=${frozenS}`]];
  }

  reply(exchange: Exchange, name: string): Promise<void> {
    if (!this.files.has(name) && performance.now() - this.scannedMs >= RESCAN_AFTER_MS) this.scan();
    const file = this.files.get(name);
    if (file === undefined) throw name === INDEX ? notBuilt() : noSuchFile();
    return file.reply(exchange).catch((error: unknown) => {
      // The listed file is gone: a new build may have replaced the page that names it.
      this.files = new Map();
      throw error;
    });
  }

  private scan(): void {
    this.scannedMs = performance.now();
    const { folder, files } = this;
    const names = existsSync(path.join(folder, INDEX)) ? readdirSync(folder) : [];
    const fileOf = (name: string): StaticFile =>
      name === INDEX
        ? new StaticFile(path.join(folder, name), this.pageHeaders)
        : (files.get(name) ?? new StaticFile(path.join(folder, name), ASSET_HEADERS));
    this.files = new Map(names.map((name) => [name, fileOf(name)]));
  }
}

const noSuchFile = () => new ApiError(404, 'not_found', 'There is no such file');

function notBuilt(): ApiError {
  return new ApiError(
    503,
    'explorer_not_built',
    "The explorer is not built: run 'npm run build'. The API's description is at /docs.",
  );
}
