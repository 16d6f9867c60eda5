/** The token that a request names, for endpoints that have nothing to say of one without a record. */
import type { AskedToken } from '../api/chain.js';
import { ApiError } from '../http/errors.js';
import type { LiveTokens } from './live-tokens.js';
import type { LiveToken } from './token-table.js';

/**
 * At once where the token is in memory; one whose first data came a moment ago is waited for.
 * @throws ApiError 404 token_not_found, at once
 */
export function knownToken(market: LiveTokens, asked: AskedToken): LiveToken | Promise<LiveToken> {
  const token = market.table.token(asked.address);
  if (token !== null) return token;
  if (!market.hasRecord(asked.chain, asked.address)) {
    throw new ApiError(404, 'token_not_found', `There is no record of ${asked.address}`);
  }
  return afterLoading(market, asked);
}

async function afterLoading(market: LiveTokens, asked: AskedToken): Promise<LiveToken> {
  await market.settled();
  const token = market.table.token(asked.address);
  if (token === null) throw new Error(`token ${asked.address} has a record but no state`);
  return token;
}
