/** Programs that send a view's requests; they take the key from the environment variable KEY. */
import { OPERATIONS } from '../../client/generated/api.js';
import type { ApiRequest } from '../state/requests.js';

/** Parameters that are lists of texts, and those that are lists of numbers. */
const TEXT_LISTS = ['types', 'venues', 'include', 'addresses', 'token_addresses'];
const NUMBER_LISTS = ['pct', 'usd', 'move_pct'];

/** A program that uses the client of docs/clients.md. */
export function typescriptText(origin: string, requests: readonly ApiRequest[]): string {
  const lines = [
    `import { fathomClient } from '@fathom/client';`,
    '',
    `const fathom = fathomClient({ url: '${origin}', key: process.env.KEY ?? '' });`,
  ];
  for (const request of requests) {
    const { id, parameters } = callOf(request);
    const { address, ...rest } = parameters;
    if (id === 'getReplay') {
      lines.push(
        `for await (const page of fathom.replay(${literal(address)}, ${literal(rest)})) {`,
        `  console.log(page.window.served_from, page.window.served_to, page.snapshots.length);`,
        '}',
      );
    } else lines.push(`console.log(await fathom.${id}(${literal(parameters)}));`);
  }
  return `${lines.join('\n')}\n`;
}

/** A program that needs nothing but Python. */
export function pythonText(origin: string, requests: readonly ApiRequest[]): string {
  const lines = [
    'import gzip, json, os, urllib.parse, urllib.request',
    '',
    'headers = {"x-api-key": os.environ["KEY"], "accept-encoding": "gzip"}',
    `base = ${JSON.stringify(`${origin}/api/v1`)}`,
    '',
    'def fetch(path, params, body=None):',
    '    request = urllib.request.Request(base + path + "?" + urllib.parse.urlencode(params), headers=headers)',
    '    if body is not None:',
    '        request.data = json.dumps(body).encode()',
    '        request.add_header("content-type", "application/json")',
    '    with urllib.request.urlopen(request) as reply:',
    '        data = reply.read()',
    '        return json.loads(gzip.decompress(data) if reply.headers["content-encoding"] == "gzip" else data)',
    '',
  ];
  const isHistory = ({ path }: ApiRequest): boolean => path.startsWith('/replay/');
  if (requests.some(isHistory)) {
    lines.push(
      'def pages(path, params):',
      '    while True:',
      '        page = fetch(path, params)',
      '        yield page',
      '        if page["next_from"] is None:',
      '            return',
      '        params = {**params, "from": page["next_from"], "to": page["window"]["to"]}',
      '',
    );
  }
  for (const request of requests) {
    const { path, query, body } = request;
    const args = `${JSON.stringify(path)}, ${python(query)}`;
    if (isHistory(request)) {
      lines.push(
        `for page in pages(${args}):`,
        '    print(page["window"]["served_from"], page["window"]["served_to"], len(page["snapshots"]))',
      );
    } else {
      lines.push(`print(fetch(${args}${body === undefined ? '' : `, ${python(body)}`}))`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** The client's method for a request, and its arguments. */
function callOf({ method, path, query, body }: ApiRequest): {
  id: string;
  parameters: Record<string, unknown>;
} {
  const parts = path.split('/');
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const pattern = operation.path.split('/');
    const isSame =
      operation.method === method &&
      pattern.length === parts.length &&
      pattern.every((part, at) => part.startsWith('{') || part === parts[at]);
    if (!isSame) continue;
    const inPath: [string, string][] = pattern.flatMap((part, at) =>
      part.startsWith('{') ? [[part.slice(1, -1), decodeURIComponent(parts[at])]] : [],
    );
    const inQuery = Object.entries(query).map(
      ([name, text]) => [name, valueOf(name, text)] as const,
    );
    const named = Object.fromEntries<unknown>([...inPath, ...inQuery]);
    return { id, parameters: { ...named, ...(body ?? {}) } };
  }
  throw new Error(`no operation has the path ${path}`);
}

function valueOf(name: string, text: string): unknown {
  if (TEXT_LISTS.includes(name)) return text.split(',');
  if (NUMBER_LISTS.includes(name)) return text.split(',').map(Number);
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return text === 'true' ? true : text === 'false' ? false : text;
}

/** As TypeScript. */
function literal(value: unknown): string {
  if (typeof value === 'string') return `'${value.replaceAll(/[\\']/g, '\\$&')}'`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value).map(([name, one]) => `${name}: ${literal(one)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** JSON without true, false and null is valid Python. */
function python(value: unknown): string {
  return JSON.stringify(value, null, 1)
    .replaceAll(/\n */g, ' ')
    .replaceAll(/: true\b/g, ': True')
    .replaceAll(/: false\b/g, ': False')
    .replaceAll(/: null\b/g, ': None');
}
