import Type from 'typebox';
import { CHAINS } from '../../compute/market.js';
import { defineEndpoint } from '../api/endpoint.js';
import { chainKey, count, document, tokenAddress, tokenSymbol } from '../api/schemas.js';
import { serviceScore, tokenStatus } from './score-fields.js';

/** Tokens that one request may ask for. */
export const MAX_BATCH_SCORES = 50;

export const postScore = defineEndpoint({
  operationId: 'postScore',
  method: 'POST',
  path: '/score',
  tag: 'Scores',
  summary: 'Scores of up to 50 tokens',
  description:
    "Scores in the request's order, duplicates kept, each under its own address and chain. Mints " +
    'without a record are `pending`, and are queued for analysis.',
  tier: 'enterprise',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: {
    kind: 'batch',
    name: 'addresses',
    supported: CHAINS,
    invalid: 'listed',
    namesOffenders: true,
  },
  query: Type.Object({}),
  body: Type.Object({
    addresses: Type.Array(Type.String(), {
      maxItems: MAX_BATCH_SCORES,
      description: 'Base58 mints and `0x` addresses, mixed at will.',
    }),
  }),
  response: document({
    count: count('Items of `tokens`'),
    tokens: Type.Array(
      document({
        address: tokenAddress,
        chain: chainKey,
        symbol: tokenSymbol,
        service_score: serviceScore,
        status: tokenStatus,
      }),
    ),
    invalid_addresses: Type.Array(Type.String(), {
      description:
        'Items of the request that are no addresses, as sent; they have no item in `tokens`.',
    }),
  }),
  errors: [],
});
