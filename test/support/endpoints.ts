/** What every endpoint is asked for, from the list of endpoints. */
import type { EndpointSpec } from '../../server/api/endpoint.js';
import { ENDPOINTS } from '../../server/endpoints.js';
import type { Json } from './conformance.js';
import { MINT } from './service.js';

export const EVERY: readonly EndpointSpec[] = Object.values(ENDPOINTS);

/** The keywords of parameters' schemas. */
export interface Schema {
  type?: string;
  format?: string;
  enum?: readonly (string | number)[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  items?: Schema;
  required?: readonly string[];
  properties?: Record<string, Schema>;
}

/** Where the address stands, of endpoints that are asked for one. */
export const addressOf = ({ chain }: EndpointSpec) => ('at' in chain ? chain.at : null);

/** A path with a query that is right, but for `query`. */
export function pathOf(endpoint: EndpointSpec, query = ''): string {
  const at = addressOf(endpoint);
  const own = at?.in === 'query' ? `${at.name}=${MINT}&` : '';
  return `${endpoint.path.replace(':address', MINT)}?${own}${query}`;
}

/** A body that is right. */
export const bodyOf = ({ chain }: EndpointSpec): Json | null =>
  chain.kind === 'batch' ? { [chain.name]: [MINT] } : null;
