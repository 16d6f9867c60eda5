/** The page at `/docs`: Swagger UI with the tab's key, in the colours of the explorer or the system. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { builtPath } from '../../compute/built.js';
import type { Headers } from '../http/errors.js';
import { BASE_PATH } from './endpoint.js';
import { API_VERSION } from './openapi.js';

export const DESCRIPTION_PATH = `${BASE_PATH}/openapi.json`;
export const DOCS_PATH = '/docs';

/** The explorer's typeface, once the explorer is built. */
function fontFace(): string {
  const folder = builtPath('explorer');
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const font = files.find((name) => /^ibm-plex-sans-latin-wght.*\.woff2$/.test(name));
  return font === undefined
    ? ''
    : `@font-face { font-family: 'Plex'; font-weight: 100 700; font-display: swap; src: url('/explorer/${font}') format('woff2'); }`;
}

/**
 * The explorer's type and colours (explorer/styles/theme.css) on Swagger UI, whose own rules have up to three
 * classes more than these; with its empty column of links hidden, and for narrow screens.
 */
const STYLE = `
${fontFace()}
:root { color-scheme: light; --ground: #f1f3f6; --surface: #ffffff; --raised: #f3f5f8; --line: #dde3ea; --line-strong: #b7c2cd; --text: #131a22; --text-soft: #45525f; --accent: #18212b; --on-accent: #ffffff; --support-text: #0c6593; --good: #1c7a4f; --bad: #bb2d27; --focus: #0b6bcb; }
:root.dark-mode { color-scheme: dark; --ground: #0a0e13; --surface: #10151c; --raised: #171e27; --line: #1f2832; --line-strong: #34404d; --text: #e4eaf1; --text-soft: #a7b4c2; --accent: #e8edf3; --on-accent: #0a0e13; --support-text: #6cc3ec; --good: #55b98a; --bad: #f0716b; --focus: #8fc7ff; }
body { margin: 0; background: var(--ground); color: var(--text); font-family: 'Plex', system-ui, sans-serif; }
noscript { display: block; margin: 2rem; }
.bar { background: var(--surface); border-bottom: 1px solid var(--line); }
.bar > div { display: flex; flex-wrap: wrap; gap: 6px 20px; align-items: center; box-sizing: border-box; max-width: 1460px; margin: 0 auto; padding: 8px 20px; font-size: 13px; }
.bar strong { font-size: 16px; font-weight: 600; }
.bar p { flex: 1 1 300px; margin: 0; color: var(--text-soft); }
.bar a { padding: 6px 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--raised); color: var(--text); text-decoration: none; }
.cut { margin: 0 0 8px; color: var(--text-soft); font-size: 14px; }
:root:root:root:root .swagger-ui {
  &, & .scheme-container, & .opblock .opblock-section-header { background: none; box-shadow: none; color: var(--text); font-family: inherit; }
  & *, & *::after { border-color: var(--line); color: inherit; font-family: inherit; text-shadow: none; }
  & :is(code, pre, textarea, .opblock-summary-path, .parameter__type, .parameter__in), & :is(pre, .opblock-summary-path) * { font-family: ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', monospace; }
  & :is(code, pre) { background: var(--line); }
  & :is(a:not(.nostyle), .info .link .url) { color: var(--support-text); }
  & :is(h4, .opblock-tag) { font-weight: 600; }
  & :is(td, p) { font-size: 14px; line-height: 1.45; }
  & .opblock-summary .view-line-link { flex: none; }
  & .info { margin: 24px 0; }
  & .info .title { font-size: 30px; font-weight: 600; }
  & .info .title small { background: var(--raised); }
  & .info .title small pre { background: none; }
  & .scheme-container { padding: 0 0 12px; }
  & :is(.servers-title, .servers, .response-col_links) { display: none; }
  & .opblock { border-color: var(--line); background: var(--surface); box-shadow: none; }
  & .opblock-get { border-left: 3px solid var(--support-text); }
  & .opblock-post { border-left: 3px solid var(--good); }
  & .opblock-summary-method { background: var(--support-text); color: var(--on-accent); }
  & .opblock-post .opblock-summary-method { background: var(--good); }
  & .tab-header .tab-item.active h4 span::after { background: var(--support-text); }
  & :is(.parameter__in, .parameter__type, .prop-format, .opblock-summary-description) { color: var(--text-soft); }
  & :is(input, select, textarea, .modal-ux, .btn) { border: 1px solid var(--line-strong); background-color: var(--surface); box-shadow: none; }
  & :is(.btn, .opblock-summary-method, input, select, textarea) { border-radius: 6px; }
  & :is(.btn.execute, .btn.modal-btn.authorize, .download-contents) { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
  & :is(.parameter__deprecated, .parameter__name.required span, .parameter__name.required::after, .btn.cancel, .errors) { border-color: var(--bad); color: var(--bad); }
  & svg { fill: currentColor; }
  & :focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
  @media (max-width: 640px) {
    & .wrapper { padding: 0 8px; }
    & .opblock .opblock-summary-path { max-width: none; word-break: break-word; }
    & .opblock .opblock-summary-path-description-wrapper { gap: 2px 8px; }
    & .opblock .opblock-section-header { flex-wrap: wrap; gap: 8px; }
    & .table-container { overflow-x: auto; padding: 8px; }
    & .opblock-tag { display: grid; grid-template-columns: 1fr auto; font-size: 18px; }
    & .opblock-tag small { grid-row: 2; padding: 0; }
    & .response-col_status { width: auto; padding-right: 8px; }
  }
}
@media (max-width: 640px) {
  .bar > div { padding: 8px; }
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
<header class="bar"><div><strong>Fathom API</strong>
<p id="key" role="status"></p>
<a href="/">Explorer</a></div></header>
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
  "font-src 'self'",
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
