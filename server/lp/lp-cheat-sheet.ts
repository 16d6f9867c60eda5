import Type from 'typebox';
import { LP_DENOMINATORS, LP_WINDOWS } from '../../compute/lp/fee-density.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  chainKey,
  count,
  document,
  integer,
  most,
  nullable,
  number,
  text,
  tokenName,
  tokenSymbol,
  usd,
  word,
} from '../api/schemas.js';

export const MAX_DENSITY_ROWS = 100;
const DEFAULT_DENSITY_ROWS = 25;

export const getLpCheatSheet = defineEndpoint({
  operationId: 'getLpCheatSheet',
  method: 'GET',
  path: '/lp-cheat-sheet',
  tag: 'Liquidity providing',
  summary: 'Tokens by LP fee density',
  description:
    'Organic volume over the liquidity that it went through, the densest first, ties by address. The ' +
    'window ends with this hour: the one that contains now or, until any mint has a row there, the one ' +
    'before. Left out are tokens without a row in the window, without a snapshot (for `range`: without ' +
    'one in the window) and with less than 1,000 USD in the denominator. Whatever the coverage, a ' +
    'token is listed. Rows of hours, and depth after a quiet while, count within a second of their ' +
    'ingest. Where they keep coming, the list is renewed every 15 seconds at the latest, and the range ' +
    "of a token's prices 15 seconds after its depth at the latest, as far as the machine keeps up.",
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: { kind: 'list', supported: ['mainchain'] },
  query: Type.Object({
    window: word(LP_WINDOWS, { default: '1h', description: 'Hours of volume.' }),
    denominator: word(LP_DENOMINATORS, {
      default: 'near',
      description:
        "On-chain pools' liquidity in the newest snapshot: `near` in bins -25 to 25, `bin10` in bins -10 " +
        'to 10, `range` between the least and the greatest price of the window, half a bin more at ' +
        'both ends.',
    }),
    limit: most('rows', { maximum: MAX_DENSITY_ROWS, fallback: DEFAULT_DENSITY_ROWS }),
  }),
  body: null,
  response: document({
    chain: chainKey,
    window: word(LP_WINDOWS),
    denominator: word(LP_DENOMINATORS),
    limit: Type.Integer({ minimum: 1, maximum: MAX_DENSITY_ROWS }),
    count: count('Items of `data`'),
    data: Type.Array(
      document({
        rank: integer('Place on the whole list, from 1'),
        address: text('Mint'),
        chain: chainKey,
        symbol: tokenSymbol,
        name: tokenName,
        icon: nullable(Type.String(), 'URL of its icon; null where none is known.'),
        organic_volume: usd('Organic volume of the window'),
        denom_liquidity_usd: usd('The denominator'),
        fee_density: number('`organic_volume` over `denom_liquidity_usd`'),
      }),
      { maxItems: MAX_DENSITY_ROWS },
    ),
  }),
  errors: [],
});
