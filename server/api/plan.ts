/** The seam of plans and limits: what they see of a call, and when they are asked. */
import type { KeyRecord } from '../../storage/contract.js';
import type { Headers } from '../http/exchange.js';
import type { EndpointSpec } from './endpoint.js';

/**
 * Asked after authentication and before a call's parameters are looked at, once a call. Draws on the
 * call's rate buckets and holds what it costs of the quota.
 * @throws ApiError 403 or 429, with the headers that go with it
 */
export type PlanCheck = (key: KeyRecord, endpoint: LimitedEndpoint) => PlanGrant;

/** What plans see of an endpoint. */
export type LimitedEndpoint = Pick<EndpointSpec, 'tier' | 'quotaCost' | 'rateBuckets'>;

/** Leave to go on with a call. */
export interface PlanGrant {
  /**
   * Where the call's cost is the number of its tokens: told once that is known.
   * @throws ApiError 429 where the quota has less left
   */
  costs(tokens: number): void;
  /**
   * Called once, as the reply's head is written, or with null where the client has gone without
   * one: charges a 2xx, gives back what else was held.
   * @returns the plan's headers for this reply, X-API-Tier excepted
   */
  settle(status: number | null): Headers;
}

/** Leave without limits, for services that keep none. */
export const unlimited: PlanCheck = () => ({ costs() {}, settle: () => [] });
