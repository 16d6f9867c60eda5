/** Swagger UI with the tab's key, in the colours of the explorer or the system. Its bundle is a script before this one. */
import './reference.css';

const { SwaggerUIBundle } = globalThis;
const DESCRIPTION_PATH = '/api/v1/openapi.json';
const KEY = 'fathom.key';
/** The key of this tab, or the one that the explorer remembers in this browser. */
const enteredKey = () => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
const showKeyHint = () => {
  document.querySelector('#key').textContent =
    enteredKey() === null
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
  for (const { parameters = [], responses } of Object.values(description.paths).flatMap(
    Object.values,
  )) {
    for (const parameter of parameters.filter(({ required }) => !required)) {
      parameter.description += '\n\nExample: `' + parameter.example + '`';
      delete parameter.example;
    }
    for (const [status, response] of Object.entries(responses)) {
      const { 'Retry-After': retryAfter } = response.headers;
      if (status !== '200')
        response.headers = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
    }
  }
  return description;
}
const showShortened = {
  statePlugins: {
    spec: { wrapActions: { updateJsonSpec: (act) => (json) => act(shorten(json)) } },
  },
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
  if (text.length < MAX_CHARACTERS || typeof body !== 'object' || url.endsWith(DESCRIPTION_PATH))
    return reply;
  reply.body = reply.obj = cutLists(body);
  reply.text = reply.data = JSON.stringify(reply.body);
  reply.cutFrom = text.length;
  return reply;
}
const showCuts = {
  wrapComponents: {
    liveResponse:
      (Original, { React }) =>
      (props) => {
        const cutFrom = props.response.get('cutFrom');
        const note =
          'A reply of ' +
          cutFrom?.toLocaleString('en') +
          ' characters: lists are cut to ' +
          MAX_ITEMS +
          ' items here.';
        return React.createElement(
          'div',
          null,
          cutFrom && React.createElement('p', { className: 'cut', role: 'status' }, note),
          React.createElement(Original, props),
        );
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
  url: DESCRIPTION_PATH,
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
