/** Serves the API's OpenAPI description, and a Swagger UI page that shows it. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Headers } from '../http/errors.js';
import type { Route } from '../http/router.js';
import { StaticFile } from '../http/static-files.js';
import { BASE_PATH, type EndpointSpec } from './endpoint.js';
import { API_VERSION, describeApi } from './openapi.js';
import { KeptReply, negotiateForm, replyDocument } from './replies.js';

const DESCRIPTION_PATH = `${BASE_PATH}/openapi.json`;
export const DOCS_PATH = '/docs';
/** Files of swagger-ui-dist that the page loads. */
const FILES = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'];

/** Adapts Swagger UI to narrow screens, and hides its empty column of links. */
const STYLE = `
body { margin: 0; background: #fafafa; }
noscript { display: block; margin: 2rem; font-family: sans-serif; }
.swagger-ui .wrapper { padding: 0 16px; }
.swagger-ui .response-col_links { display: none; }
@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 8px; }
  .swagger-ui .opblock .opblock-summary-path { max-width: none; word-break: break-word; }
  .swagger-ui .opblock .opblock-summary-path-description-wrapper { gap: 2px 8px; }
  .swagger-ui .opblock .opblock-section-header { flex-wrap: wrap; gap: 8px; }
  .swagger-ui .table-container { overflow-x: auto; padding: 8px; }
  .swagger-ui .opblock-tag { display: grid; grid-template-columns: 1fr auto; font-size: 18px; }
  .swagger-ui .opblock-tag small { grid-row: 2; padding: 0; }
  .swagger-ui .response-col_status { width: auto; padding-right: 8px; }
}
`;

const SCRIPT = `
SwaggerUIBundle({
  url: '${DESCRIPTION_PATH}',
  dom_id: '#docs',
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  validatorUrl: null,
});
`;

const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fathom API ${API_VERSION}</title>
<link rel="icon" type="image/png" href="${DOCS_PATH}/favicon-32x32.png">
<link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css"><style>${STYLE}</style></head>
<body><div id="docs"></div>
<noscript>This page needs JavaScript. The description is at <a href="${DESCRIPTION_PATH}">${DESCRIPTION_PATH}</a></noscript>
<script src="${DOCS_PATH}/swagger-ui-bundle.js"></script><script>${SCRIPT}</script>
</body></html>
`;

/** The page loads from and calls this server only, and runs no script but Swagger UI and its start. */
const POLICY = [
  "default-src 'none'",
  `script-src 'self' ${hashSource(SCRIPT)}`,
  `style-src 'self' ${hashSource(STYLE)}`,
  // Swagger UI's style sheet has inline icons.
  "img-src 'self' data:",
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

/** Routes of the description and the page; they need no key. */
export function docsRoutes(endpoints: readonly EndpointSpec[]): Route[] {
  // Drops the schema library's markers, which are not JSON but would go into MessagePack.
  const description = JSON.parse(JSON.stringify(describeApi(endpoints))) as object;
  const kept = new KeptReply(description, true);
  const page = new StaticFile('docs.html', PAGE_HEADERS, Buffer.from(PAGE));
  return [
    {
      method: 'GET',
      path: DESCRIPTION_PATH,
      handle: ({ exchange }) => replyDocument(exchange, kept, negotiateForm(exchange)),
    },
    {
      method: 'GET',
      path: DOCS_PATH,
      handle: ({ exchange }) => page.reply(exchange),
    },
    ...FILES.map(fileRoute),
  ];
}

/** Serves a file of swagger-ui-dist. */
function fileRoute(name: string): Route {
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  const file = new StaticFile(path.join(path.dirname(manifest), name), [
    ['Cache-Control', 'public, max-age=3600'],
  ]);
  return {
    method: 'GET',
    path: `${DOCS_PATH}/${name}`,
    handle: ({ exchange }) => file.reply(exchange),
  };
}

/** The policy source that allows an inline script or style of exactly this text. */
function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
