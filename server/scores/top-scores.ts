import Type from 'typebox';
import { CHAINS } from '../../compute/market.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  chainFilter,
  chainKey,
  count,
  document,
  tokenAddress,
  tokenSymbol,
  usd,
  word,
} from '../api/schemas.js';

/** Tokens on the board. */
export const TOP_SCORES = 50;

export const getTopScores = defineEndpoint({
  operationId: 'getTopScores',
  method: 'GET',
  path: '/top-scores',
  tag: 'Scores',
  summary: 'The 50 tokens of the highest scores',
  description:
    'Scored tokens, the highest score first. With `chain=all` one merged board, on which an asset ' +
    'stands once, by its mainchain leg where that one is scored. Ties stand by address.',
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: { kind: 'list', supported: CHAINS },
  query: Type.Object({}),
  body: null,
  response: document({
    chain: chainFilter,
    count: count('Items of `tokens`'),
    tokens: Type.Array(
      document({
        address: tokenAddress,
        chain: chainKey,
        symbol: tokenSymbol,
        service_score: Type.Number({
          minimum: 0,
          maximum: 100,
          description: 'Liquidity score of the asset, 0 to 100 with one decimal.',
        }),
        service_current_price: usd('Current price'),
        status: word(['available'], { description: 'Scored tokens alone are listed.' }),
      }),
      { maxItems: TOP_SCORES },
    ),
  }),
  errors: [],
});
