import Type from 'typebox';
import { DLMM_SORTS } from '../../compute/lp/dlmm-board.js';
import { DLMM_PERIODS } from '../../compute/lp/hours.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  bounded,
  chainKey,
  count,
  document,
  integer,
  nullable,
  number,
  text,
  tokenSymbol,
  word,
} from '../api/schemas.js';
import { POOL_FRESHNESS, poolFigures, rangeCeiling } from './dlmm-fields.js';

/** Rows of a reply. */
export const MAX_BOARD_ROWS = 500;
export const MAX_MIN_TVL_USD = 10_000_000;
/** The floor where none is sent and the board is not one token's. */
export const DEFAULT_MIN_TVL_USD = 10_000;

const { fees, volume, tvl, ...ratios } = poolFigures;

export const getDlmmPools = defineEndpoint({
  operationId: 'getDlmmPools',
  method: 'GET',
  path: '/dlmm-pools',
  tag: 'Liquidity providing',
  summary: 'Hot DLMM pools of a period',
  description:
    'Pools that have a row in the hours of the period, which ends with this hour: the one that ' +
    'contains now or, until any known pool has a row there, the one before. At most 500, the greatest of ' +
    '`sort` first, those without it last, ties by address. Shares are over all pools of the base ' +
    `token, whatever the floor. ${POOL_FRESHNESS}`,
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: { kind: 'list', supported: ['mainchain'], scope: 'mint' },
  query: Type.Object({
    period: word(DLMM_PERIODS, { default: '1h', description: 'Hours that are summed.' }),
    sort: word(DLMM_SORTS, {
      default: 'rangeyield',
      description: '`feespertvl` is `feesPerAvgTvl`; the others are the figures of that name.',
    }),
    minTvl: Type.Optional(
      bounded(0, MAX_MIN_TVL_USD, {
        description: `The least \`tvl\`, USD; ${DEFAULT_MIN_TVL_USD} unless sent, 0 with \`mint\`.`,
      }),
    ),
    mint: Type.Optional(
      Type.String({
        maxLength: 44,
        description: 'A base58 mint: only pools that hold this token, on either side.',
      }),
    ),
  }),
  body: null,
  response: document({
    chain: chainKey,
    period: word(DLMM_PERIODS),
    sort: word(DLMM_SORTS),
    minTvl: number('The floor that was applied, USD'),
    mint: nullable(Type.String(), 'The token that was asked for; null for the board of all.'),
    count: count('Items of `data`'),
    data: Type.Array(
      document({
        address: text('Address of the pool'),
        baseSymbol: tokenSymbol,
        quoteSymbol: tokenSymbol,
        baseMint: text('Mint of the base token'),
        quoteMint: text(
          'Mint of the quote token: the one that ranks higher in the configured list of quote tokens; y ' +
            'where neither is in it',
        ),
        tokenIcon: nullable(
          Type.String(),
          "URL of the base token's icon; null where none is known.",
        ),
        tvl,
        binStep: integer('Basis points between two bins'),
        baseFeePct: number('Base fee, percent'),
        volume,
        fees,
        ...ratios,
        rangeCeiling,
        tokenPoolCount: count("Pools of the row's base token, on the board or not"),
      }),
      { maxItems: MAX_BOARD_ROWS },
    ),
  }),
  errors: [],
});
