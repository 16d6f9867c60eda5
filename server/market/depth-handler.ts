/** GET /market-depth, from memory, in the turn of the request. */
import type { Static } from 'typebox';
import { depthLevels, depthSummary, type DepthQuery } from '../../compute/depth/market-depth.js';
import type { KeyRecord } from '../../storage/seams.js';
import type { AskedToken } from '../api/chain.js';
import type { getMarketDepth } from '../api/endpoints/get-market-depth.js';
import type { Call } from '../api/endpoint.js';
import type { MarketHandlers } from '../api/handlers.js';
import type { KeptReply } from '../api/kept-reply.js';
import { ApiError, excerpt, invalidParameter } from '../http/errors.js';
import { DepthReplies } from './depth-replies.js';
import type { HeldToken } from './held-depth.js';
import type { Market } from './market.js';
import { currentPriceUsd, type TokenState } from './market-state.js';

/** The currency beside USD that depth may be asked for in. */
export interface NativeCurrency {
  code: string;
  /** The mint whose current price is the currency's. */
  mint: string;
}

/** Mainchain's native token where none is configured. */
export const DEFAULT_NATIVE: NativeCurrency = {
  code: 'SOL',
  mint: 'So11111111111111111111111111111111111111112',
};

export interface DepthServices {
  market: Market;
  native: NativeCurrency;
  /** Whether a key gets delayed depth whatever it asks for. */
  isDelayed?: (key: KeyRecord) => boolean;
}

type DepthCall = Call<typeof getMarketDepth>;
type DepthDocument = Static<(typeof getMarketDepth)['response']>;
interface DepthRequest extends DepthQuery {
  currency: string;
  delayed: boolean;
  withSummary: boolean;
}

/** Makes the handler of GET /market-depth. */
export function depthHandler(services: DepthServices): MarketHandlers['getMarketDepth'] {
  const { market } = services;
  const replies = new DepthReplies<DepthDocument>();
  const reply = (
    token: TokenState,
    request: DepthRequest,
    held: HeldToken,
  ): KeptReply<DepthDocument> =>
    replies.get(replyKey(token, request), () => depthDocument(token, request, held));
  return (call) => {
    const request = depthRequest(call, services);
    const token = market.state.token(call.token.address);
    if (token === null) {
      if (!market.hasRecord(call.token.chain, call.token.address)) throw tokenNotFound(call.token);
      return afterLoading(market, call.token).then(async (loaded) =>
        reply(loaded, request, market.depth(loaded) ?? (await market.loadDepth(loaded))),
      );
    }
    const held = market.depth(token);
    if (held !== null) return reply(token, request, held);
    return market.loadDepth(token).then((read) => reply(token, request, read));
  };
}

/** A token whose first data came a moment ago. */
async function afterLoading(market: Market, asked: AskedToken): Promise<TokenState> {
  await market.settled();
  const token = market.state.token(asked.address);
  if (token === null) throw new Error(`token ${asked.address} has a record but no state`);
  return token;
}

function tokenNotFound({ address }: AskedToken): ApiError {
  return new ApiError(404, 'token_not_found', `There is no record of ${address}`);
}

/** @throws ApiError 400 invalid_parameter */
function depthRequest({ query, key }: DepthCall, services: DepthServices): DepthRequest {
  const { low_pct_change: lowChange, high_pct_change: highChange } = query;
  if (lowChange > highChange) {
    throw invalidParameter(
      'low_pct_change',
      `expected at most high_pct_change, ${highChange}; was ${lowChange}`,
    );
  }
  return {
    exchangeType: query.exchange_type,
    lowChange,
    highChange,
    currency: query.currency,
    usdPerUnit: usdPerUnit(query.currency, services),
    delayed: query.delayed || services.isDelayed?.(key) === true,
    withSummary: query.include_summary,
  };
}

function usdPerUnit(currency: string, { market, native }: DepthServices): number {
  if (currency === 'USD') return 1;
  if (currency !== native.code) {
    throw invalidParameter(
      'currency',
      `expected USD or ${native.code}; was '${excerpt(currency)}'`,
    );
  }
  const token = market.state.token(native.mint);
  const priceUsd = token && currentPriceUsd(token);
  if (priceUsd === null || priceUsd <= 0) {
    throw invalidParameter('currency', `no price of ${native.code} is known now; USD is served`);
  }
  return priceUsd;
}

function replyKey({ details, revision }: TokenState, request: DepthRequest): string {
  return [
    details.tokenId,
    revision,
    request.exchangeType,
    request.lowChange,
    request.highChange,
    request.currency,
    request.usdPerUnit,
    request.delayed,
    request.withSummary,
  ].join(' ');
}

function depthDocument(token: TokenState, request: DepthRequest, held: HeldToken): DepthDocument {
  const { details, standing } = token;
  const snapshot = request.delayed ? held.delayed : held.newest;
  const cells = snapshot?.cells ?? null;
  const priceUsd = cells?.priceUsd ?? details.priceUsd;
  const { markets } = held;
  return {
    query_parameters: {
      token_address: details.address,
      exchange_type: request.exchangeType,
      currency: request.currency,
      delayed: request.delayed,
      include_summary: request.withSummary,
      chain: details.chain,
    },
    chain: details.chain,
    last_refresh: cells?.t ?? details.lastRefreshS,
    service_score: standing.asset?.score.score ?? null,
    score_msg: standing.message,
    price: priceUsd === null ? null : priceUsd / request.usdPerUnit,
    depth_data: cells === null ? [] : depthLevels(cells, markets, request),
    ...(request.withSummary
      ? {
          summary:
            cells === null
              ? { by_exchange_type: [], by_source: [], constant_product: 0 }
              : depthSummary(cells, markets, request),
        }
      : {}),
  };
}
