/** GET /dlmm-pools: the board of DLMM pools (docs/definitions.md#dlmm-pools). */
import Type, { type Static } from '../api/type.js';
import { DLMM_SORTS } from '../../compute/lp/dlmm-board.js';
import { DLMM_PERIODS } from '../../compute/lp/hours.js';
import { baseAndQuote } from '../../compute/lp/dlmm-pool.js';
import { defineEndpoint, type Call, type Handler } from '../api/endpoint.js';
import { Reply, replyKey } from '../api/replies.js';
import {
  bounded,
  chainKey,
  count,
  document,
  EXAMPLE_MINTS,
  integer,
  nullable,
  number,
  text,
  tokenSymbol,
  word,
} from '../api/schemas.js';
import type { BoardRow, PoolBoard } from './pool-board.js';
import { POOL_FRESHNESS, figuresOf, orNull, poolFigures } from './pool-figures.js';
import type { Services } from '../services.js';

const MAX_BOARD_ROWS = 500;
const MAX_MIN_TVL_USD = 10_000_000;
/** Default of `minTvl` without `mint`. */
const DEFAULT_MIN_TVL_USD = 10_000;

const { fees, volume, tvl, ...ratios } = poolFigures;
const rangeCeiling = nullable(
  number('Yield'),
  'Range yield of a liquidity provider that rebalances perfectly: the sum over hours of fees over the ' +
    "liquidity in that hour's own range; null if no hour has such liquidity.",
);

export const getDlmmPools = defineEndpoint({
  operationId: 'getDlmmPools',
  method: 'GET',
  path: '/dlmm-pools',
  tag: 'Liquidity providing',
  summary: 'Top DLMM pools over a period',
  description:
    'Pools with hourly data in the period, which ends with this hour: the current hour, or the previous ' +
    'one until any known pool has data for the current one. Up to 500 pools, in descending order of ' +
    '`sort`, nulls last, ties by address. Shares are of all pools of the base token, including those ' +
    `below \`minTvl\`. ${POOL_FRESHNESS}`,
  chain: { kind: 'list', supported: ['mainchain'], scope: 'mint' },
  query: Type.Object({
    period: word(DLMM_PERIODS, {
      default: '1h',
      description: 'Period over which hours are summed.',
    }),
    sort: word(DLMM_SORTS, {
      default: 'rangeyield',
      description:
        'Field to sort by; `feespertvl` is `feesPerAvgTvl`, the others have the names of their fields.',
    }),
    minTvl: Type.Optional(
      bounded(0, MAX_MIN_TVL_USD, {
        description: `Minimum \`tvl\`, USD. Default: ${DEFAULT_MIN_TVL_USD}, or 0 with \`mint\`.`,
        examples: [100_000],
      }),
    ),
    mint: Type.Optional(
      Type.String({
        maxLength: 44,
        description: 'A base58 mint: lists only pools with this token on either side.',
        examples: [EXAMPLE_MINTS[0]],
      }),
    ),
  }),
  response: document('DlmmPoolBoard', {
    chain: chainKey,
    period: word(DLMM_PERIODS),
    sort: word(DLMM_SORTS),
    minTvl: number('The floor that was applied, USD'),
    mint: nullable(Type.String(), 'The requested token; null for the board of all pools.'),
    count: count('Items of `data`'),
    data: Type.Array(
      document('DlmmPoolRow', {
        address: text('Address of the pool'),
        baseSymbol: tokenSymbol,
        quoteSymbol: tokenSymbol,
        baseMint: text('Mint of the base token'),
        quoteMint: text(
          'Mint of the quote token: the one that ranks higher in the configured list of quote tokens; y ' +
            'if neither is in it',
        ),
        tokenIcon: nullable(Type.String(), "URL of the base token's icon; null if unknown."),
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
});

export function dlmmPoolsHandler({
  lp,
  tokens,
  quotes,
  kept,
}: Services): Handler<typeof getDlmmPools> {
  return (call) =>
    lp.poolBoard.use((board) => {
      const { chain, period, sort, minTvlUsd, mint } = boardQuery(call);
      const key = replyKey(
        'dlmm-pools',
        board,
        lp.labelRevision,
        chain,
        period,
        sort,
        minTvlUsd,
        mint,
      );
      return Reply.cached(kept, key, (): BoardDocument => {
        const rows = board.best({ period, sort, minTvlUsd, mint, maxRows: MAX_BOARD_ROWS });
        const data = rows.map((row) => rowDocument(row, board, quotes, tokens));
        const echo = { chain: 'mainchain' as const, period, sort, minTvl: minTvlUsd, mint };
        return { ...echo, count: data.length, data };
      });
    });
}

function boardQuery({ chain, query, token }: Call<typeof getDlmmPools>) {
  const mint = token?.address ?? null;
  const minTvlUsd = query.minTvl ?? (mint === null ? DEFAULT_MIN_TVL_USD : 0);
  return { chain, period: query.period, sort: query.sort, minTvlUsd, mint };
}

type BoardDocument = Static<(typeof getDlmmPools)['response']>;

function rowDocument(
  at: BoardRow,
  board: PoolBoard,
  quotes: readonly string[],
  tokens: Services['tokens'],
): BoardDocument['data'][number] {
  const index = at.period.pool[at.row];
  const pool = board.book.pools[index];
  const { baseMint, quoteMint } = baseAndQuote(pool, quotes);
  const base = tokens.table.token(baseMint)?.details;
  const { fees, volume, tvl, ...ratios } = figuresOf(at);
  return {
    address: pool.pubkey,
    baseSymbol: base?.symbol ?? null,
    quoteSymbol: tokens.table.token(quoteMint)?.details.symbol ?? null,
    baseMint,
    quoteMint,
    tokenIcon: base?.icon ?? null,
    tvl,
    binStep: pool.binStep,
    baseFeePct: pool.baseFeePct,
    volume,
    fees,
    ...ratios,
    rangeCeiling: orNull(at.period.rangeCeiling[at.row]),
    tokenPoolCount: board.poolsOfBase(index),
  };
}
