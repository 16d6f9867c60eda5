/** Serves the API's OpenAPI description, and at `/docs` the documents, of which Swagger UI is a page. */
import { builtPath } from '../../compute/built.js';
import { ApiError } from '../http/errors.js';
import type { Route } from '../http/router.js';
import { BuiltPages, INDEX, pageHeaders } from './built-pages.js';
import { BASE_PATH, type EndpointSpec } from './endpoint.js';
import { describeApi } from './openapi.js';
import { Reply, negotiateForm, replyDocument } from './replies.js';

const DESCRIPTION_PATH = `${BASE_PATH}/openapi.json`;
export const DOCS_PATH = '/docs';
const REFERENCE = 'api-reference.html';

/** The pages load from and call this server only, and run no inline script. */
const POLICY = ["script-src 'self'", "style-src 'self'", "font-src 'self'", "connect-src 'self'"];
const PAGE_HEADERS = pageHeaders([...POLICY, "img-src 'self'"]);
// Swagger UI's style sheet has inline icons.
const REFERENCE_HEADERS = pageHeaders([...POLICY, "img-src 'self' data:"]);

/** Routes of the description and the pages, which `folder` holds; they need no key. */
export function docsRoutes(
  endpoints: readonly EndpointSpec[],
  folder = builtPath('documents'),
): Route[] {
  // Drops the schema library's markers, which are not JSON but would go into MessagePack.
  const description = JSON.parse(JSON.stringify(describeApi(endpoints))) as object;
  const kept = Reply.kept(description, true);
  const headersOf = (page: string) => (page === REFERENCE ? REFERENCE_HEADERS : PAGE_HEADERS);
  const build = new BuiltPages({ folder, headersOf, notBuilt });
  return [
    {
      method: 'GET',
      path: DESCRIPTION_PATH,
      handle: ({ exchange }) => replyDocument(exchange, kept, negotiateForm(exchange)),
    },
    {
      method: 'GET',
      path: DOCS_PATH,
      handle: ({ exchange }) => build.page(exchange, INDEX),
    },
    {
      method: 'GET',
      path: `${DOCS_PATH}/:file`,
      // The names of pages have no dot.
      handle: ({ exchange, params: { file } }) =>
        file.includes('.') ? build.asset(exchange, file) : build.page(exchange, `${file}.html`),
    },
  ];
}

function notBuilt(): ApiError {
  return new ApiError(
    503,
    'documents_not_built',
    `The documents are not built: run 'npm run build'. The API's description is at ${DESCRIPTION_PATH}.`,
  );
}
