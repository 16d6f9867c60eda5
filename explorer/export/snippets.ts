/** Programs that send a view's requests; they take the key from the environment variable FATHOM_KEY. */
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
    `const fathom = fathomClient({ url: '${origin}', key: process.env.FATHOM_KEY ?? '' });`,
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

/** Methods of the Python package that are not named after their operation. */
const PYTHON_METHODS: Readonly<Record<string, string>> = {
  postScore: 'scores',
  postWhaleActivity: 'whale_activities',
};
/** Its names of parameters. */
const PYTHON_NAMES: Readonly<Record<string, string>> = {
  address: 'token',
  token_address: 'token',
  addresses: 'tokens',
  token_addresses: 'tokens',
  from: 'start',
  to: 'end',
};

/** A program that uses the package of docs/clients.md#python. */
export function pythonText(origin: string, requests: readonly ApiRequest[]): string {
  const lines = [
    'import os',
    'from fathom_client import Client',
    '',
    `fathom = Client(${JSON.stringify(origin)}, os.environ["FATHOM_KEY"])`,
  ];
  for (const request of requests) {
    const { id, parameters } = callOf(request);
    const given = Object.entries(parameters).map(
      ([name, value]) => `${PYTHON_NAMES[name] ?? snake(name)}=${python(value)}`,
    );
    const method = PYTHON_METHODS[id] ?? snake(id.replace(/^get/, ''));
    const call = `fathom.${method}(${given.join(', ')})`;
    lines.push(id === 'getReplay' ? `print(${call}.to_polars())` : `print(${call})`);
  }
  return `${lines.join('\n')}\n`;
}

const snake = (name: string): string =>
  name.replaceAll(/(?<=[a-z\d])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();

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

/** Texts, numbers and lists of them in JSON are valid Python. */
function python(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value, null, 1)
    .replaceAll(/\n */g, ' ')
    .replace(/^\[ /, '[')
    .replace(/ \]$/, ']');
}
