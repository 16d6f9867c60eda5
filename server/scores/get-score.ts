import Type from 'typebox';
import { CHAINS } from '../../compute/market.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  chainKey,
  document,
  flag,
  nullable,
  tokenAddress,
  tokenName,
  tokenSymbol,
} from '../api/schemas.js';
import { scoreExplanation } from './score-explanation.js';
import { scoreMessage, serviceScore, tokenStatus } from './score-fields.js';

export const getScore = defineEndpoint({
  operationId: 'getScore',
  method: 'GET',
  path: '/score/:address',
  tag: 'Scores',
  summary: 'Score of one token',
  description:
    'The liquidity score of the asset that the token belongs to. Never 404: a mint without a record ' +
    'is `pending`, and is queued for analysis. A `0x` address that is a bridged leg of an asset with ' +
    'a mainchain leg is answered as that mint.',
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: {
    kind: 'address',
    at: { in: 'path', name: 'address' },
    supported: CHAINS,
    numericIds: true,
  },
  query: Type.Object({
    explain: flag(
      'Adds `explain`: what the score is made of, so that anyone can work it out anew.',
    ),
  }),
  body: null,
  response: document({
    address: tokenAddress,
    chain: chainKey,
    symbol: tokenSymbol,
    name: tokenName,
    service_score: serviceScore,
    score_msg: scoreMessage,
    service_last_run: nullable(
      Type.String({ format: 'date-time' }),
      'When the score was worked out, UTC; null where there is none.',
    ),
    service_current_price: nullable(Type.Number(), 'Current price, USD; null where none is known.'),
    status: tokenStatus,
    explain: Type.Optional(
      nullable(scoreExplanation, 'With `explain=true`; null where there is no score.'),
    ),
  }),
  errors: [],
});
