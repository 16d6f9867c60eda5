/** The DCA pressure of every token at a moment, and the tokens' order by it (data.md section 4). */
import type { BinSums } from '../ladder/bin-sums.js';
import { HORIZONS_S, TIMEFRAMES, type Timeframe } from './cycles.js';
import { impactPct } from './impact.js';
import { flowsOf, ORDER_COLUMNS, totalsOf } from './packed-orders.js';
import { MAX_TOP_ORDERS, rankBothWays, topOrders } from './rank.js';

export const PRESSURE_SORTS = ['usd', 'impact'] as const;
export type PressureSort = (typeof PRESSURE_SORTS)[number];
export const PRESSURE_DIRECTIONS = ['desc', 'asc'] as const;
export type PressureDirection = (typeof PRESSURE_DIRECTIONS)[number];

/** The tokens to rank, by address ascending: token `i` is index `i` of each column. */
export interface PressureInput {
  /** The service's now, epoch seconds. */
  nowS: number;
  /** Float64 blocks of packed orders, and of ladders: support, then resistance, cents by bin. */
  orders: SharedArrayBuffer;
  ladders: SharedArrayBuffer;
  /** Index of the first value of the token's orders; how many orders. */
  ordersAt: Uint32Array;
  orderCount: Uint32Array;
  /** Current price; NaN: none. */
  priceUsd: Float64Array;
  /** Index of the first value of the token's ladder; how many bins, and the first one. */
  ladderAt: Uint32Array;
  /** 0: there is no ladder. */
  binCount: Uint32Array;
  firstBin: Int16Array;
}

/**
 * Columns by token, in the input's order. Those of a timeframe `f` of TIMEFRAMES begin at
 * `f * tokens`; `NaN` of `netPct` is null.
 */
export interface PressureRanking {
  nowS: number;
  buyCount: Uint32Array;
  sellCount: Uint32Array;
  totalBuyUsd: Float64Array;
  totalSellUsd: Float64Array;
  netUsd: Float64Array;
  netPct: Float64Array;
  /** Tokens by rank: see rankOf. */
  ranks: Uint32Array;
  /** Indexes among the token's orders, the largest `usdNext` first: see topOrdersOf. */
  topOrders: Uint32Array;
  /** Orders that were looked at. */
  ordersRanked: number;
}

/** Works out every token's pressure in every timeframe, and ranks the tokens in every order. */
export function rankPressure(input: PressureInput): PressureRanking {
  const { nowS, orderCount, priceUsd } = input;
  const tokens = orderCount.length;
  const orders = new Float64Array(input.orders);
  const ladders = new Float64Array(input.ladders);
  const ranking = emptyRanking(nowS, tokens);
  const flows = new Float64Array(
    HORIZONS_S.length * orderCount.reduce((a, b) => Math.max(a, b), 0),
  );
  const nets = new Float64Array(HORIZONS_S.length);
  for (let token = 0; token < tokens; token++) {
    const n = orderCount[token];
    const at = input.ordersAt[token];
    const block = orders.subarray(at, at + ORDER_COLUMNS * n);
    putTotals(ranking, token, block);
    flowsOf(block, priceUsd[token], nowS, flows, nets);
    const ladder = ladderOf(input, ladders, token);
    for (let f = 0; f < HORIZONS_S.length; f++) {
      const i = f * tokens + token;
      ranking.netUsd[i] = nets[f];
      ranking.netPct[i] = impactPct(ladder, nets[f]) ?? NaN;
      topOrders(flows.subarray(f * n, (f + 1) * n), ranking.topOrders, i * MAX_TOP_ORDERS);
    }
    ranking.ordersRanked += n;
  }
  rankTokens(ranking, tokens);
  return ranking;
}

/** The tokens in the order of a request, as indexes of the ranking's columns. */
export function rankOf(
  ranking: PressureRanking,
  sort: PressureSort,
  direction: PressureDirection,
  timeframe: Timeframe,
): Uint32Array {
  const tokens = ranking.buyCount.length;
  const at = rankAt(PRESSURE_SORTS.indexOf(sort), TIMEFRAMES.indexOf(timeframe));
  const nth = at + PRESSURE_DIRECTIONS.indexOf(direction);
  return ranking.ranks.subarray(nth * tokens, (nth + 1) * tokens);
}

/** A token's first orders of a timeframe, at most `limit` and MAX_TOP_ORDERS. */
export function topOrdersOf(
  { buyCount, sellCount, topOrders: top }: PressureRanking,
  token: number,
  timeframe: Timeframe,
  limit: number,
): Uint32Array {
  const at = (TIMEFRAMES.indexOf(timeframe) * buyCount.length + token) * MAX_TOP_ORDERS;
  return top.subarray(at, at + Math.min(limit, MAX_TOP_ORDERS, buyCount[token] + sellCount[token]));
}

/** Buffers of a ranking, to be moved. */
export function transferablesOfRanking(ranking: PressureRanking): ArrayBuffer[] {
  return Object.values(ranking).flatMap((column: number | Uint32Array | Float64Array) =>
    typeof column === 'number' ? [] : [column.buffer as ArrayBuffer],
  );
}

function emptyRanking(nowS: number, tokens: number): PressureRanking {
  const perTimeframe = TIMEFRAMES.length * tokens;
  return {
    nowS,
    buyCount: new Uint32Array(tokens),
    sellCount: new Uint32Array(tokens),
    totalBuyUsd: new Float64Array(tokens),
    totalSellUsd: new Float64Array(tokens),
    netUsd: new Float64Array(perTimeframe),
    netPct: new Float64Array(perTimeframe),
    ranks: new Uint32Array(PRESSURE_SORTS.length * PRESSURE_DIRECTIONS.length * perTimeframe),
    topOrders: new Uint32Array(perTimeframe * MAX_TOP_ORDERS),
    ordersRanked: 0,
  };
}

function putTotals(ranking: PressureRanking, token: number, block: Float64Array): void {
  const totals = totalsOf(block);
  ranking.buyCount[token] = totals.buyCount;
  ranking.sellCount[token] = totals.sellCount;
  ranking.totalBuyUsd[token] = totals.totalBuyUsd;
  ranking.totalSellUsd[token] = totals.totalSellUsd;
}

function ladderOf(
  { ladderAt, binCount, firstBin }: PressureInput,
  ladders: Float64Array,
  token: number,
): BinSums | null {
  const bins = binCount[token];
  if (bins === 0) return null;
  const at = ladderAt[token];
  return {
    firstBin: firstBin[token],
    supportCents: ladders.subarray(at, at + bins),
    resistanceCents: ladders.subarray(at + bins, at + 2 * bins),
  };
}

function rankTokens({ netUsd, netPct, ranks }: PressureRanking, tokens: number): void {
  for (const [sort, values] of [netUsd, netPct].entries()) {
    for (let f = 0; f < TIMEFRAMES.length; f++) {
      const at = rankAt(sort, f) * tokens;
      rankBothWays(
        values.subarray(f * tokens, (f + 1) * tokens),
        ranks.subarray(at, at + tokens),
        ranks.subarray(at + tokens, at + 2 * tokens),
      );
    }
  }
}

/** Which of the ranks is the descending one of a sort and timeframe; the ascending one follows. */
function rankAt(sort: number, timeframe: number): number {
  return (sort * TIMEFRAMES.length + timeframe) * PRESSURE_DIRECTIONS.length;
}
