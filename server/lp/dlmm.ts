import Type from 'typebox';
import { CHIP_KEYS } from '../../compute/lp/dlmm-board.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  chainKey,
  document,
  integer,
  nullable,
  number,
  text,
  tokenAddress,
  tokenSymbol,
  word,
} from '../api/schemas.js';
import { POOL_FRESHNESS, poolFigures } from './dlmm-fields.js';

const icon = nullable(Type.String(), 'URL of its icon; null where none is known.');
const decimals = integer('Decimals of the token, as the pool has them');
const price = nullable(Type.Number(), 'Current price of the token, USD; null without one.');
const reserve = number('Reserve of this side, tokens');
const reserveUsd = nullable(
  Type.Number(),
  'The reserve at the current price, USD; null without one.',
);
const leader = Type.Optional(text('Pubkey of the pool that leads; left out where none does'));

export const getDlmm = defineEndpoint({
  operationId: 'getDlmm',
  method: 'GET',
  path: '/dlmm/:address',
  tag: 'Liquidity providing',
  summary: 'DLMM pools of one token',
  description:
    'Pools that hold the token on either side, the greatest `total_liquidity_usd` first, those ' +
    'without one last, ties by pubkey: the first 500, and those that lead. A token without pools, with a record or without, has none. ' +
    '`stats_1h` are the figures of this hour: the one that contains now or, until any known pool has a row ' +
    `there, the one before. ${POOL_FRESHNESS} Prices are those of now, half a second old at the most.`,
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: { kind: 'address', at: { in: 'path', name: 'address' }, supported: ['mainchain'] },
  query: Type.Object({}),
  body: null,
  response: document({
    address: tokenAddress,
    chain: chainKey,
    period: word(['1h'], { description: 'What `stats_1h` and chips are worked out over.' }),
    pools: Type.Array(
      document({
        pubkey: text('Address of the pool'),
        bin_step: integer('Basis points between two bins'),
        active_id: integer('Bin that trades now'),
        token_x_mint: text('Mint of side x'),
        token_x_symbol: tokenSymbol,
        token_x_icon: icon,
        token_x_decimals: decimals,
        token_x_price: price,
        token_y_mint: text('Mint of side y'),
        token_y_symbol: tokenSymbol,
        token_y_icon: icon,
        token_y_decimals: decimals,
        token_y_price: price,
        pool_price: nullable(
          Type.Number(),
          'Price of x in y, `(1 + bin_step/10000)^active_id * 10^(decimals of x - of y)`; null where ' +
            'that is no finite number.',
        ),
        base_fee_pct: number('Base fee, percent'),
        dynamic_fee_pct: number('Fee at the current volatility, percent'),
        reserve_x: reserve,
        reserve_x_usd: reserveUsd,
        reserve_y: reserve,
        reserve_y_usd: reserveUsd,
        total_liquidity_usd: nullable(
          Type.Number(),
          'Both reserves, USD; null where one of them is null.',
        ),
        num_positions: integer('Open positions'),
        num_wallets: integer('Wallets with an open position'),
        stats_1h: nullable(
          document(poolFigures),
          'Figures of this hour; null where the pool has no row of it.',
        ),
        chips: Type.Array(Type.String(), {
          description: 'Labels of the keys in which the pool leads.',
        }),
      }),
    ),
    chips: document({
      definitions: Type.Array(
        document({
          key: word(CHIP_KEYS),
          label: text('What a pool that leads is marked with'),
          tip: text('What it means'),
        }),
      ),
      leaders: document(
        { feesPerAvgTvl: leader, rangeYield: leader, fees: leader },
        {
          description:
            "Of each key the pool with the greatest figure above 0 among the token's pools this hour; " +
            'ties go to the lesser pubkey.',
        },
      ),
    }),
  }),
  errors: [],
});
