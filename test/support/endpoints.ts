/** Requests to every endpoint, from the list of endpoints. */
import type { EndpointSpec } from '../../server/api/endpoint.js';
import { ENDPOINTS } from '../../server/endpoints.js';
import type { Json } from './conformance.js';
import { MINT } from './service.js';

export const EVERY: readonly EndpointSpec[] = Object.values(ENDPOINTS);

/** The keywords of the parameters' schemas. */
export interface Schema {
  type?: string;
  format?: string;
  enum?: readonly (string | number)[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  items?: Schema;
  'x-unit'?: 'fraction' | 'percent';
  required?: readonly string[];
  properties?: Record<string, Schema>;
}

/** Where the endpoint takes its address, if it takes one. */
export const addressOf = ({ chain }: EndpointSpec) => ('at' in chain ? chain.at : null);

/** Required parameters besides the address. */
export const NEEDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  getSlippage: { side: 'sell', usd: '1' },
};

/** A path with a valid query, in which `query` replaces parameters of the same name. */
export function pathOf(endpoint: EndpointSpec, query = ''): string {
  const at = addressOf(endpoint);
  const needed = {
    ...(at?.in === 'query' && { [at.name]: MINT }),
    ...NEEDED[endpoint.operationId],
  };
  const sent = new Set(query.split('&').map((pair) => pair.split('=')[0]));
  const own = Object.entries(needed).filter(([name]) => !sent.has(name) || name === at?.name);
  const pairs = own.map(([name, value]) => `${name}=${value}&`);
  return `${endpoint.path.replace(':address', MINT)}?${pairs.join('')}${query}`;
}

/** A valid body with two tokens. */
export const bodyOf = ({ chain }: EndpointSpec): Json | null =>
  chain.kind === 'batch' ? { [chain.name]: [MINT, MINT] } : null;
