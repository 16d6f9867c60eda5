/** GET /market-depth, from memory, in the turn of the request. */
import type { Static } from 'typebox';
import { depthLevels, type DepthQuery, depthSummary } from '../../compute/depth/market-depth.js';
import type { KeyRecord } from '../../storage/contract.js';
import type { Call, Handler } from '../api/endpoint.js';
import { excerpt, invalidParameter } from '../api/errors.js';
import { KeptReplies, type KeptReply } from '../api/replies.js';
import type { HeldToken } from '../tokens/held-depth.js';
import { knownToken } from '../tokens/known-token.js';
import { currentPriceUsd, type LiveToken } from '../tokens/token-table.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import type { getMarketDepth } from './market-depth.js';

/** Levels of all replies that are kept: some 200 bytes each with their encoded forms. */
const MAX_KEPT_LEVELS = 200_000;
/** What a reply without levels counts as. */
const REPLY_OVERHEAD_LEVELS = 10;

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

export interface MarketDepthServices {
  tokens: LiveTokens;
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
export function depthHandler(services: MarketDepthServices): Handler<typeof getMarketDepth> {
  const { tokens: market } = services;
  const replies = new KeptReplies<DepthDocument>({
    sizeOf: ({ depth_data: levels }) => levels.length + REPLY_OVERHEAD_LEVELS,
    maxSize: MAX_KEPT_LEVELS,
  });
  const reply = (
    token: LiveToken,
    request: DepthRequest,
    held: HeldToken,
  ): KeptReply<DepthDocument> =>
    replies.get(replyKey(token, request), () => depthDocument(token, request, held));
  return (call) => {
    const request = depthRequest(call, services);
    const token = knownToken(market, call.token);
    if (token instanceof Promise) {
      return token.then(async (loaded) =>
        reply(loaded, request, market.depth(loaded) ?? (await market.loadDepth(loaded))),
      );
    }
    const held = market.depth(token);
    if (held !== null) return reply(token, request, held);
    return market.loadDepth(token).then((read) => reply(token, request, read));
  };
}

/** @throws ApiError 400 invalid_parameter */
function depthRequest({ query, key }: DepthCall, services: MarketDepthServices): DepthRequest {
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

function usdPerUnit(currency: string, { tokens: market, native }: MarketDepthServices): number {
  if (currency === 'USD') return 1;
  if (currency !== native.code) {
    throw invalidParameter(
      'currency',
      `expected USD or ${native.code}; was '${excerpt(currency)}'`,
    );
  }
  const token = market.table.token(native.mint);
  const priceUsd = token && currentPriceUsd(token);
  if (priceUsd === null || priceUsd <= 0) {
    throw invalidParameter('currency', `no price of ${native.code} is known now; USD is served`);
  }
  return priceUsd;
}

function replyKey({ details, revision }: LiveToken, request: DepthRequest): string {
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

function depthDocument(token: LiveToken, request: DepthRequest, held: HeldToken): DepthDocument {
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
