/** One method per operation of the API, with the names and types of its OpenAPI description. */
import { FathomError } from './errors.js';
import { OPERATIONS, type operations } from './generated/api.js';
import type { Http, RequestOptions } from './http.js';

export type OperationId = keyof operations;

/** Replaces `never`, the type of an operation without such parameters. */
type Known<T> = [T] extends [never] ? unknown : T;
type PartOf<K extends OperationId, P extends 'query' | 'path'> = Known<
  NonNullable<operations[K]['parameters'][P]>
>;
type BodyOf<K extends OperationId> = operations[K] extends {
  requestBody: { content: { 'application/json': infer Body } };
}
  ? Body
  : unknown;

/** A time: epoch seconds, a Date, or text as the API takes it (`2026-11-20`, `-24h`, `now`). */
export type Time = number | Date | string;

type Given<T> = {
  [Name in keyof T]: Name extends 'from' | 'to' | 'at'
    ? Time
    : T[Name] extends readonly (infer Item)[] | undefined
      ? readonly Item[] | undefined
      : T[Name];
};

/** Parameters of the path, of the query and of the body, by name. */
export type Parameters<K extends OperationId> = Given<PartOf<K, 'path'> & PartOf<K, 'query'>> &
  BodyOf<K>;

/** The document of a successful reply. */
export type Result<K extends OperationId> =
  operations[K]['responses'][200]['content']['application/json'];

type Arguments<K extends OperationId> =
  Record<never, never> extends Parameters<K>
    ? [parameters?: Parameters<K>, options?: RequestOptions]
    : [parameters: Parameters<K>, options?: RequestOptions];

export type Methods = {
  [K in OperationId]: (...given: Arguments<K>) => Promise<Result<K>>;
};

export type Values = Readonly<Record<string, unknown>>;

/** The methods. Each throws FathomError, or its signal's reason. */
export function methodsOf(http: Http): Methods {
  const methods = Object.entries(OPERATIONS).map(([id, { method, path }]) => {
    const call = async (parameters: Values = {}, options: RequestOptions = {}): Promise<unknown> =>
      method === 'GET'
        ? http.json({ method, path: pathWith(path, parameters), ...options })
        : http.json({ method, path, body: parameters, ...options });
    return [id, call];
  });
  return Object.fromEntries(methods) as Methods;
}

/**
 * A path with its variable segments filled in, and the query.
 * @throws FathomError if a segment has no value
 */
export function pathWith(path: string, parameters: Values): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    const text = textOf(value);
    const segment = `{${name}}`;
    if (!filled.includes(segment)) query.set(name, text);
    else if (text !== '') filled = filled.replace(segment, () => encodeURIComponent(text));
  }
  const missing = /\{(\w+)\}/.exec(filled)?.[1];
  if (missing !== undefined) {
    throw new FathomError(`${missing}: expected a value`, { status: null, parameter: missing });
  }
  return query.size === 0 ? filled : `${filled}?${query}`;
}

function textOf(value: unknown): string {
  // Whole seconds, rounded up as the API does with fractions.
  if (value instanceof Date) return String(Math.ceil(value.getTime() / 1000));
  return Array.isArray(value) ? value.join(',') : String(value);
}
