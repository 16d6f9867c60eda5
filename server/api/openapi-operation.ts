/** One endpoint as an operation of the API's description. */
import type { TSchema } from 'typebox';
import { bodySchema } from './body-values.js';
import type { ChainRule } from './chain.js';
import type { EndpointSpec } from './endpoint.js';
import { MEDIA_TYPES } from './forms.js';
import { errorResponses } from './openapi-errors.js';
import { headersOf } from './openapi-headers.js';
import { isRequired } from './query-values.js';
import { tokenAddress } from './schemas.js';

interface Described extends TSchema {
  type?: string;
  description?: string;
  deprecated?: boolean;
}

export function operationOf(endpoint: EndpointSpec) {
  return {
    operationId: endpoint.operationId,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: `${endpoint.description}\n\n${limitsText(endpoint)}`,
    parameters: parametersOf(endpoint),
    ...(endpoint.body === null ? {} : { requestBody: requestBodyOf(endpoint, endpoint.body) }),
    responses: { 200: success(endpoint), ...notModified(endpoint), ...errorResponses(endpoint) },
  };
}

function limitsText({ tier, quotaCost, rateBuckets }: EndpointSpec): string {
  const cost = quotaCost === 'tokens' ? 'as many calls as tokens are asked for' : 'one call';
  const who = tier === 'enterprise' ? 'Enterprise only' : 'Premium and Enterprise';
  const buckets = `the rate limit ${rateBuckets.map((name) => `\`${name}\``).join(' and ')}`;
  return `${who}. Costs ${cost} of the monthly quota; draws on ${buckets}.`;
}

function parametersOf({ path, query, chain }: EndpointSpec) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
  const inPath = names.map((name) => parameter(name, 'path', true, tokenAddress));
  const inQuery = Object.entries(query.properties).map(([name, schema]) =>
    parameter(name, 'query', isRequired(schema), schema),
  );
  return [...inPath, ...chainParameter(chain), ...inQuery];
}

/** What is said of the parameter stands beside its schema, not in it. */
function parameter(name: string, where: 'path' | 'query', required: boolean, schema: Described) {
  const { description, deprecated, ...rest } = schema;
  return {
    name,
    in: where,
    required,
    ...(description === undefined ? {} : { description }),
    ...(deprecated === true ? { deprecated } : {}),
    ...(schema.type === 'array' ? { style: 'form', explode: false } : {}),
    schema: rest,
  };
}

function chainParameter(rule: ChainRule) {
  if (rule.kind === 'none' || rule.kind === 'batch') return [];
  return [parameter('chain', 'query', false, chainSchema(rule))];
}

function chainSchema(rule: ChainRule): Described {
  const keys = { type: 'string', enum: [...rule.supported, 'all'] };
  const numeric = rule.kind === 'address' && rule.numericIds === true;
  const id = {
    type: 'string',
    pattern: '^[1-9][0-9]*$',
    description: 'numeric id of the EVM chain',
  };
  const values = numeric ? { anyOf: [keys, id] } : keys;
  const fallback = rule.kind === 'list' ? { default: 'mainchain' } : {};
  return { ...values, ...fallback, description: chainText(rule) };
}

function chainText(rule: ChainRule): string {
  const all =
    rule.supported.length === 1 ? ` \`all\` is the same as \`${rule.supported[0]}\`.` : '';
  switch (rule.kind) {
    case 'list':
      return `The chains to list.${all}`;
    case 'filter':
      return "The legs of the asset to list; the address' own chain unless sent.";
    case 'address':
      return `The address decides the chain; one that contradicts it is \`chain_mismatch\`.${all}`;
    case 'batch':
      return `The chain of every address; unless sent, each is on its own.${all}`;
    case 'none':
      return '';
  }
}

function requestBodyOf({ chain }: EndpointSpec, body: NonNullable<EndpointSpec['body']>) {
  const schema = bodySchema(body);
  const properties = { ...schema.properties, chain: chainSchema(chain) };
  return { required: true, content: { 'application/json': { schema: { ...schema, properties } } } };
}

function success({ response, prepares = [] }: EndpointSpec) {
  const content = Object.fromEntries<unknown>([
    ...MEDIA_TYPES.map((type) => [type, { schema: response }] as const),
    ...prepares.map((type) => [type, { schema: {} }] as const),
  ]);
  const more = prepares.length > 0 ? (['ETag', 'Repr-Digest'] as const) : [];
  return { description: 'The answer.', headers: headersOf(200, more), content };
}

/** Only replies that are prepared carry a tag. */
function notModified({ prepares }: EndpointSpec) {
  if (prepares === undefined) return {};
  const description = 'The page that `If-None-Match` names still holds. Free of charge.';
  return { 304: { description, headers: headersOf(304, ['ETag']) } };
}
