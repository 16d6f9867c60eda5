/** GET /lp-cheat-sheet: tokens by LP fee density (docs/definitions.md#fee-density). */
import Type, { type Static } from '../api/type.js';
import { LP_DENOMINATORS, LP_WINDOWS } from '../../compute/lp/fee-density.js';
import { defineEndpoint, type Call, type Handler } from '../api/endpoint.js';
import { Reply, replyKey } from '../api/replies.js';
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
import { MAX_DENSITY_ROWS, type FeeDensityBoard } from './fee-density-board.js';
import type { Services } from '../services.js';

const DEFAULT_DENSITY_ROWS = 25;

export const getLpCheatSheet = defineEndpoint({
  operationId: 'getLpCheatSheet',
  method: 'GET',
  path: '/lp-cheat-sheet',
  tag: 'Liquidity providing',
  summary: 'Tokens by LP fee density',
  description:
    'Organic volume over on-chain liquidity, highest first, ties by address. The window ends with this ' +
    'hour: the current hour, or the previous one until any mint has data for the current one. The list ' +
    'leaves out tokens without hourly data in the window, without a snapshot (for `range`: without one ' +
    'in the window), or with less than 1,000 USD in the denominator. Coverage does not matter. Hours and ' +
    'depth show up within a second of their ingest. Under continuous ingest the list is updated at ' +
    "least every 15 seconds, and a token's price range within 15 seconds of new depth, load permitting.",
  chain: { kind: 'list', supported: ['mainchain'] },
  query: Type.Object({
    window: word(LP_WINDOWS, { default: '1h', description: 'Period of the volume.' }),
    denominator: word(LP_DENOMINATORS, {
      default: 'near',
      description:
        "On-chain pools' liquidity in the newest snapshot: `near` in bins -25 to 25, `bin10` in bins -10 " +
        'to 10, `range` between the lowest and the highest price of the window, extended by half a bin ' +
        'at both ends.',
    }),
    limit: most('rows', { maximum: MAX_DENSITY_ROWS, fallback: DEFAULT_DENSITY_ROWS }),
  }),
  response: document('LpCheatSheet', {
    chain: chainKey,
    window: word(LP_WINDOWS),
    denominator: word(LP_DENOMINATORS),
    limit: Type.Integer({ minimum: 1, maximum: MAX_DENSITY_ROWS }),
    count: count('Items of `data`'),
    data: Type.Array(
      document('FeeDensity', {
        rank: integer('Rank on the full list, from 1'),
        address: text('Mint'),
        chain: chainKey,
        symbol: tokenSymbol,
        name: tokenName,
        icon: nullable(Type.String(), 'URL of its icon; null if unknown.'),
        organic_volume: usd('Organic volume of the window'),
        denom_liquidity_usd: usd('Liquidity, as chosen by `denominator`'),
        fee_density: number('`organic_volume` over `denom_liquidity_usd`'),
      }),
      { maxItems: MAX_DENSITY_ROWS },
    ),
  }),
});

export function lpCheatSheetHandler({
  lp,
  tokens,
  kept,
}: Services): Handler<typeof getLpCheatSheet> {
  return ({ query }) =>
    lp.feeDensity.use((board) => {
      const { window, denominator, limit } = query;
      const key = replyKey('lp-cheat-sheet', board, lp.labelRevision, window, denominator, limit);
      return Reply.cached(kept, key, () => feeDensityDocument(board, query, tokens));
    });
}

type FeeDensityDocument = Static<(typeof getLpCheatSheet)['response']>;

function feeDensityDocument(
  { boards, addresses }: FeeDensityBoard,
  { window, denominator, limit }: Call<typeof getLpCheatSheet>['query'],
  tokens: Services['tokens'],
): FeeDensityDocument {
  const rows = boards[window][denominator];
  const data = Array.from(rows.token.subarray(0, limit), (index, row) => {
    const address = addresses[index];
    const details = tokens.table.token(address)?.details;
    return {
      rank: row + 1,
      address,
      chain: 'mainchain' as const,
      symbol: details?.symbol ?? null,
      name: details?.name ?? null,
      icon: details?.icon ?? null,
      organic_volume: rows.organicVolumeUsd[row],
      denom_liquidity_usd: rows.denominatorUsd[row],
      fee_density: rows.feeDensity[row],
    };
  });
  return { chain: 'mainchain', window, denominator, limit, count: data.length, data };
}
