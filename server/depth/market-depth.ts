/** GET /market-depth, from memory or, for a token that is not held, from the store. */
import Type, { type Static } from '../api/type.js';
import {
  depthLevels,
  type DepthQuery,
  depthSummary,
  otherExchangeType,
} from '../../compute/depth/market-depth.js';
import { CHAINS, EXCHANGE_TYPES, type ExchangeType } from '../../compute/market.js';
import { type Call, defineEndpoint, type Handler } from '../api/endpoint.js';
import { excerpt, invalidParameter } from '../api/errors.js';
import { wordFinder } from '../api/query.js';
import { addDataTime, Reply, replyKey } from '../api/replies.js';
import {
  addressParameter,
  chainKey,
  document,
  flag,
  nullable,
  number,
  share,
  tokenAddress,
  word,
} from '../api/schemas.js';
import { whenReady } from '../board.js';
import type { Exchange } from '../http/exchange.js';
import type { HeldSnapshot, HeldToken } from '../tokens/newest-depth.js';
import { isStaleScore, scoreMessage, serviceScore, staleField } from '../tokens/token-fields.js';
import { currentPriceUsd, type LiveToken } from '../tokens/token-table.js';
import type { Services } from '../services.js';

const exchangeType = word([...EXCHANGE_TYPES, 'ALL'], {
  default: 'DEX',
  description: 'Markets to include; `CEX` and `ALL` include perps.',
});
const currency = Type.String({
  default: 'USD',
  maxLength: 16,
  description:
    "`USD`, or the code of mainchain's native token (`SOL` unless configured otherwise): amounts and " +
    'prices are divided by its current price. While it has no price, its code is an `invalid_parameter`.',
});
const MIN_CHANGE = -0.9;
const MAX_CHANGE = 10;
const sides = {
  support: number('Buy liquidity without constant product, in `currency`'),
  resistance: number('Sell liquidity without constant product, in `currency`'),
};

export const getMarketDepth = defineEndpoint({
  operationId: 'getMarketDepth',
  method: 'GET',
  path: '/market-depth',
  tag: 'Depth',
  summary: 'Market depth of one token',
  description:
    'Support and resistance by price level, from the newest snapshot. A level is in the range if ' +
    '`1 + low_pct_change <= 1.01^bin <= 1 + high_pct_change`, with a relative tolerance of 1e-9 at both ' +
    'ends. A token with a record but no snapshot yet has no levels. A token without a record is a 404 ' +
    'and is not queued. The score is always the current one, even with delayed depth. `X-Data-Time` is ' +
    'of the snapshot that is served.',
  dataTime: true,
  rateBuckets: ['market-depth'],
  chain: { kind: 'address', at: { in: 'query', name: 'token_address' }, supported: CHAINS },
  query: Type.Object({
    token_address: addressParameter,
    exchange_type: exchangeType,
    currency,
    low_pct_change: share('fraction', MIN_CHANGE, MAX_CHANGE, {
      default: MIN_CHANGE,
      description: 'Lower end of the price range, as a fraction of the price: -0.25 is 25% below.',
    }),
    high_pct_change: share('fraction', MIN_CHANGE, MAX_CHANGE, {
      default: MAX_CHANGE,
      description:
        'Upper end of the price range, as a fraction of the price; not below `low_pct_change`.',
    }),
    delayed: flag('Uses the newest snapshot that is at least 15 minutes old.'),
    include_summary: flag('Adds `summary`.'),
  }),
  response: document('MarketDepth', {
    query_parameters: document('MarketDepthParameters', {
      token_address: tokenAddress,
      exchange_type: word([...EXCHANGE_TYPES, 'ALL']),
      currency: Type.String(),
      delayed: Type.Boolean(),
      include_summary: Type.Boolean(),
      chain: chainKey,
    }),
    chain: chainKey,
    last_refresh: nullable(
      Type.Integer(),
      "Time of the snapshot, else of the token's row, Unix epoch seconds; null if it has neither.",
    ),
    service_score: serviceScore,
    stale: isStaleScore,
    score_msg: scoreMessage,
    price: nullable(Type.Number(), 'Price in `currency`; null if none is known.'),
    depth_data: Type.Array(
      document('DepthLevel', {
        price: number('Price of the level in `currency`'),
        ...sides,
        constant_product: number('Constant-product liquidity of both sides, in `currency`'),
      }),
      { description: 'Non-empty levels in the range, by ascending price.' },
    ),
    hint: Type.Optional(
      Type.String({
        description:
          'Only if the snapshot has depth, but none on markets of the requested `exchange_type`: names the ' +
          'value that has it.',
      }),
    ),
    summary: Type.Optional(
      document(
        'DepthSummary',
        {
          by_exchange_type: Type.Array(
            document('DepthOfExchangeType', { exchange_type: word(EXCHANGE_TYPES), ...sides }),
          ),
          by_source: Type.Array(document('DepthOfSource', { source: Type.String(), ...sides })),
          constant_product: number('Constant-product liquidity of both sides, in `currency`'),
        },
        {
          description:
            'With `include_summary=true`: totals of `depth_data`. One row per exchange type and per source ' +
            'with depth in the range; sources are in code unit order.',
        },
      ),
    ),
  }),
  errors: ['token_not_found'],
});

type DepthCall = Call<typeof getMarketDepth>;
type DepthDocument = Static<(typeof getMarketDepth)['response']>;
interface DepthRequest extends DepthQuery {
  currency: string;
  delayed: boolean;
  withSummary: boolean;
}

export function marketDepthHandler(services: Services): Handler<typeof getMarketDepth> {
  const { tokens, kept } = services;
  type DepthReply = Reply<DepthDocument>;
  const reply = (
    token: LiveToken,
    request: DepthRequest,
    exchange: Exchange,
  ): DepthReply | Promise<DepthReply> => {
    const make = (held: HeldToken): DepthReply => {
      addDataTime(exchange, snapshotOf(held, request)?.ref.t ?? null);
      const { details, revision } = token;
      const asked = Object.values({ ...request });
      const key = replyKey('market-depth', details.tokenId, revision, ...asked);
      return Reply.cached(kept, key, () => depthDocument(token, request, held));
    };
    return whenReady(tokens.depth(token), make);
  };
  return (call) => {
    const request = depthRequest(call, services);
    return whenReady(tokens.known(call.token), (token) => reply(token, request, call.exchange));
  };
}

function depthRequest({ query, key }: DepthCall, services: Services): DepthRequest {
  const { low_pct_change: lowChange, high_pct_change: highChange } = query;
  if (lowChange > highChange) {
    throw invalidParameter(
      'low_pct_change',
      `expected a fraction of at most high_pct_change, ${highChange}; was ${lowChange}`,
    );
  }
  return {
    exchangeType: query.exchange_type,
    lowChange,
    highChange,
    ...currencyOf(query.currency, services),
    delayed: query.delayed || services.isDelayed?.(key) === true,
    withSummary: query.include_summary,
  };
}

function currencyOf(
  requested: string,
  { tokens, native }: Services,
): Pick<DepthRequest, 'currency' | 'usdPerUnit'> {
  const currency = wordFinder([native.code, 'USD'])(requested);
  if (currency === 'USD') return { currency, usdPerUnit: 1 };
  if (currency === undefined) {
    throw invalidParameter(
      'currency',
      `expected USD or ${native.code}; was '${excerpt(requested)}'`,
    );
  }
  const token = tokens.table.token(native.mint);
  const priceUsd = token && currentPriceUsd(token);
  if (priceUsd === null || priceUsd <= 0) {
    throw invalidParameter(
      'currency',
      `the price of ${native.code} is unknown at the moment; use USD`,
    );
  }
  return { currency, usdPerUnit: priceUsd };
}

const snapshotOf = ({ newest, delayed }: HeldToken, request: DepthRequest): HeldSnapshot | null =>
  request.delayed ? delayed : newest;

function depthDocument(token: LiveToken, request: DepthRequest, held: HeldToken): DepthDocument {
  const { details, standing } = token;
  const cells = snapshotOf(held, request)?.cells ?? null;
  const priceUsd = cells?.priceUsd ?? details.price_usd;
  const { markets } = held;
  const elsewhere = cells && otherExchangeType(cells, markets, request.exchangeType);
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
    last_refresh: cells?.t ?? details.last_refresh,
    service_score: standing.asset?.score.score ?? null,
    ...staleField(standing),
    score_msg: standing.message,
    price: priceUsd === null ? null : priceUsd / request.usdPerUnit,
    depth_data: cells === null ? [] : depthLevels(cells, markets, request),
    ...(elsewhere === null ? {} : { hint: hintOf(request.exchangeType, elsewhere) }),
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

function hintOf(requested: string, elsewhere: ExchangeType): string {
  return (
    `The token has depth on ${elsewhere} markets only, and exchange_type is ${requested}: ` +
    `ask with exchange_type=${elsewhere} or ALL`
  );
}
