/** Who may call: a live key, as far as its plan goes. The same for whatever is asked for. */
import type { KeyRecord, KeySource } from '../../storage/contract.js';
import { authenticate } from '../auth.js';
import type { Exchange } from '../http/exchange.js';
import type { LimitedEndpoint, PlanCheck, PlanGrant } from './plan.js';
import { BASE_PATH } from '../endpoints.js';

/**
 * Admits a request: its reply, whatever it will be, has the headers of the key's plan.
 * @throws ApiError 401, 403, 429
 */
export function admit(
  exchange: Exchange,
  endpoint: LimitedEndpoint,
  keys: KeySource,
  checkPlan: PlanCheck,
): { key: KeyRecord; grant: PlanGrant } {
  const key = authenticate(keys, exchange.header('x-api-key'));
  exchange.belongsTo(key.id);
  exchange.addHeader('X-API-Tier', key.tier);
  const grant = checkPlan(key, endpoint);
  exchange.settleWith((status) => grant.settle(status));
  return { key, grant };
}

/** What requests for a path or with a method that the API does not have draw on. */
const NO_ENDPOINT: LimitedEndpoint = { tier: 'premium', quotaCost: 1, rateBuckets: ['general'] };

/** Has requests below the API's path need a key also where no endpoint answers them. */
export function admitUnanswered(
  keys: KeySource,
  checkPlan: PlanCheck,
): (exchange: Exchange) => void {
  return (exchange) => {
    if (exchange.path.startsWith(`${BASE_PATH}/`)) admit(exchange, NO_ENDPOINT, keys, checkPlan);
  };
}
