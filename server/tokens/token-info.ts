/** The `token` block of lists and of one token's orders. */
import type { Static } from 'typebox';
import type { boardToken, ordersToken } from './token-info-fields.js';
import { currentPriceUsd, type LiveToken } from './token-table.js';

/** The block on boards of tokens: with its icon. */
export function boardTokenInfo(token: LiveToken): Static<typeof boardToken> {
  const { address, chain, symbol, name, icon, mcap, liquidityUsd } = token.details;
  return {
    address,
    chain,
    symbol,
    name,
    icon,
    mcap,
    liquidity_usd: liquidityUsd,
    price_usd: currentPriceUsd(token),
  };
}

/** The block beside one token's orders: with its score and the time of its price. */
export function ordersTokenInfo(token: LiveToken): Static<typeof ordersToken> {
  const { details, newest, standing } = token;
  const { address, chain, symbol, name, mcap, liquidityUsd, lastRefreshS } = details;
  return {
    address,
    chain,
    symbol,
    name,
    mcap,
    liquidity_usd: liquidityUsd,
    service_score: standing.asset?.score.score ?? null,
    price_usd: currentPriceUsd(token),
    last_refresh: newest?.place.t ?? lastRefreshS,
  };
}
