/** The page at `/docs`: Swagger UI with the tab's key, in the colours of the explorer or the system. */
import { createHash } from 'node:crypto';
import type { Headers } from '../http/errors.js';
import { BASE_PATH } from './endpoint.js';
import { API_VERSION } from './openapi.js';

export const DESCRIPTION_PATH = `${BASE_PATH}/openapi.json`;
export const DOCS_PATH = '/docs';

/** Adapts Swagger UI to narrow screens, raises its contrast, and hides its empty column of links. */
const STYLE = `
:root { color-scheme: light; --ground: #fafafa; --text: #3b4151; --soft: #50586b; --line: #d8dde7; --link: #1a56b8; --warn: #b3261e; }
:root.dark-mode { color-scheme: dark; --ground: #1c2022; --text: #e4e6e6; --soft: #b5bcc4; --line: #3a4145; --link: #8fc1ff; --warn: #ff9a92; }
body { margin: 0; background: var(--ground); color: var(--text); font-family: sans-serif; }
noscript { display: block; margin: 2rem; }
.bar { display: flex; flex-wrap: wrap; gap: 6px 20px; align-items: baseline; box-sizing: border-box; max-width: 1460px; margin: 0 auto; padding: 14px 20px; font-size: 14px; }
.bar p { flex: 1 1 300px; margin: 0; color: var(--soft); }
.bar a { color: var(--link); }
.cut { margin: 0 0 8px; color: var(--soft); font-size: 14px; }
.swagger-ui .info { margin: 16px 0 24px; }
.swagger-ui .servers-title, .swagger-ui .servers, .swagger-ui .response-col_links { display: none; }
.swagger-ui .info a, .swagger-ui .info .link .url, .swagger-ui a.link { color: var(--link); }
.swagger-ui .info .title small { background: #565d6b; }
.swagger-ui .info .title small.version-stamp { background: #4b6b00; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1a62b8; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1d7a4f; }
:root:not(.dark-mode) .swagger-ui .btn.authorize { color: #1b7a4c; border-color: #1b7a4c; }
:root:not(.dark-mode) .swagger-ui .btn.authorize svg { fill: #1b7a4c; }
.swagger-ui .parameter__in, .swagger-ui .prop-format { color: var(--soft); }
:root .swagger-ui table.headers td.header-col { color: var(--text); }
.swagger-ui .download-contents { background: #50586b; }
.swagger-ui .btn.execute { background: #1a62b8; border-color: #1a62b8; color: #fff; }
.swagger-ui .parameter__deprecated, .swagger-ui .parameter__name.required::after, .swagger-ui .parameter__name.required span, .swagger-ui .btn.cancel { color: var(--warn); border-color: var(--warn); }
.swagger-ui .scheme-container { padding: 12px 0; }
@media (max-width: 640px) {
  .bar { padding: 14px 8px; }
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
const KEY = 'fathom.key';
const isDark = matchMedia('(prefers-color-scheme: dark)');
/** The theme chosen in the explorer takes precedence over the system's. */
const showTheme = () => {
  const chosen = localStorage.getItem('fathom.theme');
  document.documentElement.classList.toggle('dark-mode', chosen === null ? isDark.matches : chosen === 'dark');
};
isDark.addEventListener('change', showTheme);
window.addEventListener('storage', showTheme);
showTheme();

/** The key of this tab, or the one that the explorer remembers in this browser. */
const enteredKey = () => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
const showKeyHint = () => {
  document.querySelector('#key').textContent = enteredKey() === null
    ? 'Enter your key once with “Authorize”: every request from this page sends it. It stays in this tab.'
    : 'Your key is entered: every request from this page sends it.';
};
showKeyHint();

const keepKey = {
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (act) => (sent) => {
          sessionStorage.setItem(KEY, sent.apiKey.value);
          showKeyHint();
          return act(sent);
        },
        logout: (act) => (names) => {
          sessionStorage.removeItem(KEY);
          localStorage.removeItem(KEY);
          showKeyHint();
          return act(names);
        },
      },
    },
  },
};

/** Removes examples of optional parameters, which Swagger UI would send, and headers that every status repeats. */
function shorten(description) {
  for (const { parameters = [], responses } of Object.values(description.paths).flatMap(Object.values)) {
    for (const parameter of parameters.filter(({ required }) => !required)) {
      parameter.description += '\\n\\nExample: \`' + parameter.example + '\`';
      delete parameter.example;
    }
    for (const [status, response] of Object.entries(responses)) {
      const { 'Retry-After': retryAfter } = response.headers;
      if (status !== '200') response.headers = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
    }
  }
  return description;
}
const showShortened = {
  statePlugins: { spec: { wrapActions: { updateJsonSpec: (act) => (json) => act(shorten(json)) } } },
};

/** Swagger UI would take minutes to show a replay page. */
const MAX_CHARACTERS = 50_000;
const MAX_ITEMS = 10;
function cutLists(value) {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(cutLists);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cutLists(item)]));
}
function cutReply(reply) {
  const { text = '', body, url } = reply;
  if (text.length < MAX_CHARACTERS || typeof body !== 'object' || url.endsWith('${DESCRIPTION_PATH}')) return reply;
  reply.body = reply.obj = cutLists(body);
  reply.text = reply.data = JSON.stringify(reply.body);
  reply.cutFrom = text.length;
  return reply;
}
const showCuts = {
  wrapComponents: {
    liveResponse: (Original, { React }) => (props) => {
      const cutFrom = props.response.get('cutFrom');
      const note = 'A reply of ' + cutFrom?.toLocaleString('en') + ' characters: lists are cut to ' + MAX_ITEMS + ' items here.';
      return React.createElement('div', null,
        cutFrom && React.createElement('p', { className: 'cut', role: 'status' }, note),
        React.createElement(Original, props));
    },
  },
};

/** Gives names and keyboard access to elements that Swagger UI leaves without them. */
const docs = document.querySelector('#docs');
new MutationObserver(() => {
  for (const select of docs.querySelectorAll('select:not([aria-label])')) {
    select.ariaLabel = select.closest('[data-param-name]')?.dataset.paramName ?? 'Choice';
  }
  for (const block of docs.querySelectorAll('pre:not([tabindex])')) block.tabIndex = 0;
  for (const link of docs.querySelectorAll('button a[href]')) link.removeAttribute('href');
}).observe(docs, { childList: true, subtree: true });

const ui = SwaggerUIBundle({
  url: '${DESCRIPTION_PATH}',
  dom_id: '#docs',
  plugins: [keepKey, showShortened, showCuts],
  responseInterceptor: cutReply,
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  syntaxHighlight: { activated: false },
  validatorUrl: null,
  onComplete() {
    const key = enteredKey();
    if (key !== null) ui.preauthorizeApiKey('apiKey', key);
  },
});
`;

export const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Fathom API ${API_VERSION}</title>
<link rel="icon" type="image/png" href="${DOCS_PATH}/favicon-32x32.png">
<link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css"><style>${STYLE}</style></head>
<body>
<header class="bar"><strong>Fathom API</strong>
<p id="key" role="status"></p>
<a href="/">Explorer</a></header>
<div id="docs"></div>
<noscript>This page needs JavaScript. The description is at <a href="${DESCRIPTION_PATH}">${DESCRIPTION_PATH}</a></noscript>
<script src="${DOCS_PATH}/swagger-ui-bundle.js"></script><script>${SCRIPT}</script>
</body></html>
`;

/** The page loads from and calls only this server. Its only scripts are Swagger UI and the one that starts it. */
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

export const PAGE_HEADERS: Headers = [
  ['Content-Security-Policy', POLICY],
  ['Referrer-Policy', 'no-referrer'],
  ['Cache-Control', 'no-cache'],
];

/** The policy source that allows an inline script or style of exactly this text. */
function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
