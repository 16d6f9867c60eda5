/** Serves the explorer at `/`: the page that Vite builds of explorer/. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { builtPath } from '../../compute/built.js';
import { ApiError, type Headers } from '../http/errors.js';
import type { Route } from '../http/router.js';
import { StaticFile } from '../http/static-files.js';

export const EXPLORER_PATH = '/';
/** Where Vite builds to. */
const FOLDER = builtPath('explorer');
const INDEX = 'index.html';

/** The page loads from and calls this server only, and runs nothing that stands in it. */
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
/** A file's name has a hash of its content. */
const ASSET_HEADERS: Headers = [['Cache-Control', 'public, max-age=31536000, immutable']];

/** Routes of the page and of its files, which `folder` holds; they need no key. */
export function explorerRoutes(folder = FOLDER): Route[] {
  const files = builtFiles(folder);
  const page = files.get(INDEX);
  files.delete(INDEX);
  return [
    {
      method: 'GET',
      path: EXPLORER_PATH,
      handle({ exchange }) {
        if (page === undefined) throw notBuilt();
        return page.reply(exchange);
      },
    },
    {
      method: 'GET',
      path: '/explorer/:file',
      handle({ exchange, params }) {
        const file = files.get(params.file);
        if (file === undefined) throw new ApiError(404, 'not_found', 'There is no such file');
        return file.reply(exchange);
      },
    },
  ];
}

/** The files of the build by name; none where there is no build. */
function builtFiles(folder: string): Map<string, StaticFile> {
  const names = existsSync(path.join(folder, INDEX)) ? readdirSync(folder) : [];
  return new Map(
    names.map((name) => [
      name,
      new StaticFile(path.join(folder, name), name === INDEX ? PAGE_HEADERS : ASSET_HEADERS),
    ]),
  );
}

function notBuilt(): ApiError {
  return new ApiError(
    503,
    'explorer_not_built',
    "The explorer is not built: run 'npm run build'. The API's description is at /docs.",
  );
}
