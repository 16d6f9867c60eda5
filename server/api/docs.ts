/** Serves the API's OpenAPI description, and a Swagger UI page that shows it. */
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Route } from '../http/router.js';
import { StaticFile } from '../http/static-files.js';
import { DESCRIPTION_PATH, DOCS_PATH, PAGE, PAGE_HEADERS } from './docs-page.js';
import type { EndpointSpec } from './endpoint.js';
import { describeApi } from './openapi.js';
import { Reply, negotiateForm, replyDocument } from './replies.js';

/** Files of swagger-ui-dist that the page loads. */
const FILES = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'];

/** Routes of the description and the page; they need no key. */
export function docsRoutes(endpoints: readonly EndpointSpec[]): Route[] {
  // Drops the schema library's markers, which are not JSON but would go into MessagePack.
  const description = JSON.parse(JSON.stringify(describeApi(endpoints))) as object;
  const kept = Reply.kept(description, true);
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
