/** Checks replies against the API's description, as a stranger would who has nothing else. */
import { createHash } from 'node:crypto';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { unpack } from 'msgpackr';
import { describeApi } from '../../server/api/openapi.js';
import { ERROR_SCHEMAS, PLAIN_ERROR, UNAUTHORIZED_ERROR } from '../../server/api/errors.js';
import { BASE_PATH } from '../../server/api/endpoint.js';
import { ENDPOINTS } from '../../server/endpoints.js';

/** A document whose fields tests read freely. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = Record<string, any>;

/** The description as clients get it. */
export const description = JSON.parse(
  JSON.stringify(describeApi(Object.values(ENDPOINTS))),
) as Json;

const ajv = new Ajv2020({ allErrors: false, strict: true, validateFormats: false });
const REFERENCE = '#/components/schemas/';
const validators = new Map<string, ValidateFunction>();

/**
 * A schema whose objects hold what it names and nothing else: the description allows future fields,
 * but a present one that it does not name is a fault.
 */
function closed(schema: Json): Json {
  const text = JSON.stringify(schema, (_, node: Json | null) =>
    node?.type === 'object' ? { ...node, additionalProperties: false } : node,
  );
  return JSON.parse(text.replaceAll(REFERENCE, 'component:')) as Json;
}

for (const [name, schema] of Object.entries<Json>(description.components.schemas)) {
  ajv.addSchema(closed(schema), `component:${name}`);
}

function validatorOf(name: string, schema: Json): ValidateFunction {
  let validator = validators.get(name);
  if (validator === undefined) {
    validator = ajv.compile(closed(schema));
    validators.set(name, validator);
  }
  return validator;
}

/** What the description has for a path below the base path and its method. */
function operationOf(method: string, pathname: string): Json | null {
  if (!pathname.startsWith(`${BASE_PATH}/`)) return null;
  const sent = pathname.slice(BASE_PATH.length).split('/');
  for (const [path, item] of Object.entries<Json>(description.paths)) {
    const parts = path.split('/');
    const fits = parts.every((part, i) => (part.startsWith('{') ? sent[i] : part === sent[i]));
    if (!fits || parts.length !== sent.length) continue;
    return (item[method === 'HEAD' ? 'get' : method.toLowerCase()] as Json | undefined) ?? null;
  }
  return null;
}

/** Digests of bodies found valid: pages are large, and many occur repeatedly. */
const found = new Set<string>();

function decode(bytes: Buffer, type: string): unknown {
  return type === 'application/msgpack' ? unpack(bytes) : (JSON.parse(bytes.toString()) as unknown);
}

/** Errors outside of any operation: an unknown path or method. */
function checkOther(response: Response, body: Json, where: string): void {
  const schemas: Record<number, Json> = {
    401: UNAUTHORIZED_ERROR,
    404: ERROR_SCHEMAS.not_found,
    405: ERROR_SCHEMAS.method_not_allowed,
    429: PLAIN_ERROR,
  };
  const schema = schemas[response.status];
  if (schema === undefined)
    throw new Error(`${where}: not a status of a path that is not described`);
  check(validatorOf(`other ${response.status}`, schema), body, where);
}

function check(validator: ValidateFunction, body: unknown, where: string): void {
  if (validator(body)) return;
  const text = JSON.stringify(body).slice(0, 500);
  throw new Error(`${where}: ${ajv.errorsText(validator.errors)} in ${text}`);
}

/** Throws if a reply does not match the description. Reads a copy of its body. */
export async function checkReply(method: string, url: string, response: Response): Promise<void> {
  const { pathname } = new URL(url);
  const where = `${method} ${pathname} ${response.status}`;
  if (!response.headers.has('x-request-id')) throw new Error(`${where}: no X-Request-Id`);
  const isStored = response.headers.get('cache-control') !== 'no-store';
  if (response.status >= 400 && isStored) throw new Error(`${where}: a cache may store it`);
  if (response.status === 406 && !/\bAccept-Encoding\b/.test(response.headers.get('vary') ?? '')) {
    throw new Error(`${where}: no Vary`);
  }
  if (!pathname.startsWith(`${BASE_PATH}/`) || pathname.endsWith('/openapi.json')) return;
  const type = response.headers.get('content-type') ?? '';
  const operation = operationOf(method, pathname);
  if (operation === null) {
    if (method !== 'HEAD') checkOther(response, (await response.clone().json()) as Json, where);
    return;
  }
  const described = operation.responses[response.status] as Json | undefined;
  if (described === undefined) throw new Error(`${where}: the status is not described`);
  const dataTime = response.headers.get('x-data-time');
  if (dataTime !== null && response.status === 200) {
    const names = Object.keys(described.headers as Json);
    if (!names.includes('X-Data-Time')) throw new Error(`${where}: X-Data-Time is not described`);
    if (!/^[1-9][0-9]*$/.test(dataTime)) throw new Error(`${where}: X-Data-Time: ${dataTime}`);
  }
  const content = described.content as Json | undefined;
  if (content === undefined) {
    if ((await response.clone().arrayBuffer()).byteLength > 0) throw new Error(`${where}: a body`);
    return;
  }
  if (content[type] === undefined) throw new Error(`${where}: ${type} is not described`);
  if (method === 'HEAD' || Object.keys(content[type].schema as Json).length === 0) return;
  const name = `${operation.operationId} ${response.status}`;
  const schema = content[type].schema as Json;
  const bytes = Buffer.from(await response.clone().arrayBuffer());
  const digest = createHash('sha256').update(`${name} ${type} `).update(bytes).digest('base64');
  if (found.has(digest)) return;
  const body = decode(bytes, type);
  check(validatorOf(name, schema), body, where);
  checkOrder(schema, body, where);
  found.add(digest);
}

/** Throws if fields of a document, or of one within it, are not in the order of its schema. */
function checkOrder(schema: Json, value: unknown, where: string): void {
  if (typeof value !== 'object' || value === null) return;
  if (schema.$ref !== undefined) {
    const name = (schema.$ref as string).slice(REFERENCE.length);
    return checkOrder(description.components.schemas[name] as Json, value, where);
  }
  const forms = ((schema.anyOf ?? []) as Json[]).filter(({ type }) => type !== 'null');
  if (forms.length === 1) return checkOrder(forms[0], value, where);
  if (Array.isArray(value)) {
    for (const item of value) checkOrder((schema.items ?? {}) as Json, item, where);
    return;
  }
  const properties = (schema.properties ?? {}) as Json;
  const described = Object.keys(properties).filter((name) => name in value);
  const sent = Object.keys(value).filter((name) => name in properties);
  if (sent.join() !== described.join()) {
    throw new Error(
      `${where}: fields ${sent.join()} come in another order than ${described.join()}`,
    );
  }
  for (const name of sent) checkOrder(properties[name] as Json, (value as Json)[name], where);
}

/** `fetch` that checks what it gets. */
export async function checkedFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  await checkReply(init.method ?? 'GET', url, response);
  return response;
}
