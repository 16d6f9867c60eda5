/** The API's description and the reference page: open to everyone. */
import type { Route } from '../../http/router.js';
import { replyDocument } from '../encode.js';
import { negotiateForm } from '../forms.js';
import { KeptReply } from '../kept-reply.js';
import { describeApi } from '../openapi.js';
import { BASE_PATH } from '../../endpoints.js';
import { DOCS_POLICY, docsPage } from './page.js';

const DESCRIPTION_PATH = `${BASE_PATH}/openapi.json`;

export function docsRoutes(): Route[] {
  const description = describeApi();
  // As it is served: schemas carry marks of their library that JSON leaves out.
  const kept = new KeptReply(JSON.parse(JSON.stringify(description)) as object);
  const page = Buffer.from(docsPage(description, DESCRIPTION_PATH));
  return [
    {
      method: 'GET',
      path: DESCRIPTION_PATH,
      handle: ({ exchange }) => replyDocument(exchange, kept, negotiateForm(exchange)),
    },
    {
      method: 'GET',
      path: '/docs',
      handle: ({ exchange }) => exchange.reply(200, DOCS_HEADERS, page),
    },
  ];
}

const DOCS_HEADERS = [
  ['Content-Type', 'text/html; charset=utf-8'],
  ['Content-Security-Policy', DOCS_POLICY],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cache-Control', 'no-cache'],
] as const;
