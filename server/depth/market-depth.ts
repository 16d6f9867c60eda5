import Type from 'typebox';
import { CHAINS, EXCHANGE_TYPES } from '../../compute/market.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  bounded,
  chainKey,
  document,
  flag,
  nullable,
  number,
  tokenAddress,
  word,
} from '../api/schemas.js';
import { scoreMessage, serviceScore } from '../scores/score-fields.js';

const exchangeType = word([...EXCHANGE_TYPES, 'ALL'], {
  default: 'DEX',
  description: 'Markets that are kept; `CEX` and `ALL` include perps.',
});
const currency = Type.String({
  default: 'USD',
  maxLength: 16,
  description:
    "`USD`, or the code of mainchain's native token (`SOL` unless configured otherwise): amounts and " +
    'prices are divided by its current price. While it has none, that code is an `invalid_parameter`.',
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
    'Support and resistance by price level, from the newest snapshot. A range keeps a level where ' +
    '`1 + low_pct_change <= 1.01^bin <= 1 + high_pct_change`, with a relative tolerance of 1e-9 at both ' +
    'ends. A token with a record but no snapshot yet has no levels; one without a record is a 404, and ' +
    'is not queued. The score is the one of now, also of delayed depth.',
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['market-depth'],
  chain: { kind: 'address', at: { in: 'query', name: 'token_address' }, supported: CHAINS },
  query: Type.Object({
    token_address: tokenAddress,
    exchange_type: exchangeType,
    currency,
    low_pct_change: bounded(MIN_CHANGE, MAX_CHANGE, {
      default: MIN_CHANGE,
      description: 'Lower end of the price range: a fraction of the price, -0.25 is 25% below.',
    }),
    high_pct_change: bounded(MIN_CHANGE, MAX_CHANGE, {
      default: MAX_CHANGE,
      description: 'Upper end of the price range, a fraction; not below `low_pct_change`.',
    }),
    delayed: flag('The newest snapshot that is at least 15 minutes old.'),
    include_summary: flag('Adds `summary`.'),
  }),
  body: null,
  response: document({
    query_parameters: document({
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
      "Time of the snapshot, else of the token's row, Unix epoch seconds; null where it has neither.",
    ),
    service_score: serviceScore,
    score_msg: scoreMessage,
    price: nullable(Type.Number(), 'Price in `currency`; null where none is known.'),
    depth_data: Type.Array(
      document({
        price: number('Price of the level in `currency`'),
        ...sides,
        constant_product: number('Constant-product liquidity of both sides, in `currency`'),
      }),
      { description: 'Levels that hold anything within the range, price ascending.' },
    ),
    summary: Type.Optional(
      document(
        {
          by_exchange_type: Type.Array(document({ exchange_type: word(EXCHANGE_TYPES), ...sides })),
          by_source: Type.Array(document({ source: Type.String(), ...sides })),
          constant_product: number('Constant-product liquidity of both sides, in `currency`'),
        },
        {
          description:
            'With `include_summary=true`: totals over `depth_data`. A row for each exchange type, and ' +
            'for each source as given in code unit order, that holds anything in the range.',
        },
      ),
    ),
  }),
  errors: ['token_not_found'],
});
