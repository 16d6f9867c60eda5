/** `board`: the boards, which rank tokens and pools. */
import type { Call } from '../call.js';
import { text, word } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { chainFilter } from '../../api/schemas.js';
import { rows as limitOf } from '../arguments.js';
import { ToolError } from '../failures.js';
import { defineTool } from '../tool.js';
import { name, percent, price, score, usd } from '../words.js';

const USUAL_ROWS = 10;
const MAX_ROWS = 50;

/** A board as it is answered: what it ranks, and its rows. */
interface Board {
  title: string;
  columns: readonly string[];
  rows: readonly Row[];
  notes?: readonly string[];
}

interface Row {
  cells: readonly string[];
  figures: Readonly<Record<string, string | number | null>>;
}

interface Asked {
  chain: 'mainchain' | 'evmchain' | 'all';
  limit: number;
}

const BOARDS = {
  top_scores: topScores,
  dca_buying: (asked: Asked, call: Call) => dcaPressure('desc', asked, call),
  dca_selling: (asked: Asked, call: Call) => dcaPressure('asc', asked, call),
  lp_fee_density: feeDensity,
  hot_dlmm_pools: hotPools,
};
type BoardName = keyof typeof BOARDS;
const BOARD_NAMES = Object.keys(BOARDS) as [BoardName, ...BoardName[]];

export const board = defineTool({
  name: 'board',
  title: 'Boards',
  description:
    'Ranked lists. top_scores: the most liquid tokens. dca_buying, dca_selling: tokens with the most buying or selling of ' +
    'DCA orders in the next 24 hours. lp_fee_density: tokens whose trading volume is largest for their liquidity near ' +
    'the price. hot_dlmm_pools: DLMM pools with the highest yield in their range in the last hour.',
  input: {
    board: word(BOARD_NAMES, { description: 'Which board.' }),
    chain: Type.Optional(chainFilter),
    limit: limitOf('rows', MAX_ROWS, USUAL_ROWS),
  },
  output: {
    board: text('Which board.'),
    rows: Type.Array(
      Type.Object({}, { description: 'Figures of a rank; units are in their names.' }),
    ),
  },
  async run({ board: which, chain = 'all', limit = USUAL_ROWS }, call) {
    if (chain === 'evmchain' && which !== 'top_scores') {
      throw new ToolError(`chain: the board ${which} covers mainchain only; leave chain out.`);
    }
    const { title, columns, rows, notes } = await BOARDS[which]({ chain, limit }, call);
    return {
      head: [rows.length === 0 ? `${title}: none at the moment.` : `${title}:`],
      list: {
        field: 'rows',
        noun: 'rows',
        less: 'a smaller limit',
        columns: ['rank', ...columns],
        rows: rows.map(({ cells }, i) => [String(i + 1), ...cells]),
      },
      foot: notes,
      data: { board: which, rows: rows.map(({ figures }, i) => ({ rank: i + 1, ...figures })) },
    };
  },
});

async function topScores({ chain, limit }: Asked, call: Call): Promise<Board> {
  const { tokens, stale_count } = await call.client.getTopScores({ chain, details: true }, call);
  return {
    title: 'The highest liquidity scores, of 100',
    columns: [
      'symbol',
      'token',
      'score',
      'a day ago',
      'price',
      'support within 2%',
      'resistance within 2%',
    ],
    rows: tokens.slice(0, limit).map((token) => {
      const { support = null, resistance = null } = token.depth_2pct_usd ?? {};
      const before = token.score_24h_ago ?? null;
      return {
        cells: [
          name(token.symbol),
          `${token.chain}:${token.address}`,
          score(token.service_score),
          score(before),
          price(token.service_current_price),
          usd(support),
          usd(resistance),
        ],
        figures: {
          ...identity(token),
          score: token.service_score,
          score_24h_ago: before,
          price_usd: token.service_current_price,
          support_within_2pct_usd: support,
          resistance_within_2pct_usd: resistance,
        },
      };
    }),
    notes:
      stale_count === 0
        ? []
        : [`${stale_count} tokens are left out because their newest snapshot is old.`],
  };
}

async function dcaPressure(
  direction: 'desc' | 'asc',
  { limit }: Asked,
  call: Call,
): Promise<Board> {
  const { tokens } = await call.client.getDcaPressure(
    { sort_by: 'usd', sort_dir: direction, sort_timeframe: '24_hr', limit },
    call,
  );
  return {
    title: `Tokens by the net ${direction === 'desc' ? 'buying' : 'selling'} of their DCA orders in the next 24 hours`,
    columns: [
      'symbol',
      'token',
      'net next hour',
      'net next 24 hours',
      'price impact alone',
      'buy orders',
      'sell orders',
    ],
    rows: tokens.map(({ token, impact, buy_order_count, sell_order_count }) => ({
      cells: [
        name(token.symbol),
        `${token.chain}:${token.address}`,
        usd(impact.net_usd_1_hr),
        usd(impact.net_usd_24_hr),
        percent(impact.net_pct_24_hr),
        String(buy_order_count),
        String(sell_order_count),
      ],
      figures: {
        ...identity(token),
        net_next_1h_usd: impact.net_usd_1_hr,
        net_next_24h_usd: impact.net_usd_24_hr,
        price_impact_24h_pct: impact.net_pct_24_hr,
        buy_order_count,
        sell_order_count,
      },
    })),
    notes: ['Net is what buyers will spend less what sellers will sell; below 0 sellers prevail.'],
  };
}

async function feeDensity({ limit }: Asked, call: Call): Promise<Board> {
  const { data } = await call.client.getLpCheatSheet({ window: '24h', limit }, call);
  return {
    title: 'Tokens by fee density: volume of 24 hours for each dollar of liquidity near the price',
    columns: ['symbol', 'token', 'volume', 'liquidity near the price', 'fee density'],
    rows: data.map((row) => ({
      cells: [
        name(row.symbol),
        `${row.chain}:${row.address}`,
        usd(row.organic_volume),
        usd(row.denom_liquidity_usd),
        row.fee_density.toFixed(2),
      ],
      figures: {
        ...identity(row),
        volume_24h_usd: row.organic_volume,
        near_liquidity_usd: row.denom_liquidity_usd,
        fee_density: row.fee_density,
      },
    })),
    notes: ['Tokens with less than $1,000 of liquidity near the price are left out.'],
  };
}

async function hotPools({ limit }: Asked, call: Call): Promise<Board> {
  const { data } = await call.client.getDlmmPools({ period: '1h', sort: 'rangeyield' }, call);
  return {
    title:
      'DLMM pools by fees of the last hour for the liquidity in the range that the price crossed',
    columns: ['pair', 'pool', 'TVL', 'volume', 'fees', 'base fee', 'yield in range'],
    rows: data.slice(0, limit).map((row) => ({
      cells: [
        `${name(row.baseSymbol)}/${name(row.quoteSymbol)}`,
        row.address,
        usd(row.tvl),
        usd(row.volume),
        usd(row.fees),
        percent(row.baseFeePct),
        row.rangeYield === null ? 'not known' : percent(100 * row.rangeYield),
      ],
      figures: {
        pair: `${name(row.baseSymbol)}/${name(row.quoteSymbol)}`,
        pool: row.address,
        tvl_usd: row.tvl,
        volume_1h_usd: row.volume,
        fees_1h_usd: row.fees,
        base_fee_pct: row.baseFeePct,
        range_yield_pct: row.rangeYield === null ? null : 100 * row.rangeYield,
      },
    })),
    notes: ['Pools with less than $10,000 are left out.'],
  };
}

function identity({
  symbol,
  chain,
  address,
}: {
  symbol: string | null;
  chain: string;
  address: string;
}) {
  return { symbol: symbol === null ? null : name(symbol), chain, address };
}
