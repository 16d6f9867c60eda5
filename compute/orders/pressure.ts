/**
 * Computes the DCA pressure of every token at a moment and ranks the tokens by it
 * (docs/definitions.md#dca-pressure). Orders and ladders are in memory shared between threads.
 */
import { impactPct } from '../depth/slippage.js';
import type { BinSums } from '../segment/snapshots.js';
import { cyclesBy, type DcaOrder, HORIZONS_S, type Timeframe, TIMEFRAMES } from './dca-orders.js';

export const PRESSURE_SORTS = ['usd', 'impact'] as const;
type PressureSort = (typeof PRESSURE_SORTS)[number];
export const PRESSURE_DIRECTIONS = ['desc', 'asc'] as const;
type PressureDirection = (typeof PRESSURE_DIRECTIONS)[number];
/** Greatest number of orders nested in a token. */
export const MAX_TOP_ORDERS = 20;

/**
 * A token's orders as columns in one array: column `c` of `n` orders is
 * `packed[c * n .. (c + 1) * n)`. Open ends of a range are infinite, SIDE is 1 (BUY) or -1 (SELL).
 */
const REMAINING = 0;
const CYCLE = 1;
const FREQUENCY = 2;
const NEXT_CYCLE = 3;
const MIN_USD = 4;
const MAX_USD = 5;
const SIDE = 6;
const ORDER_COLUMNS = 7;

/** Packs a token's orders for `rankPressure`. */
export function packOrders(orders: readonly DcaOrder[]): Float64Array {
  const n = orders.length;
  const packed = new Float64Array(ORDER_COLUMNS * n);
  for (let i = 0; i < n; i++) {
    const order = orders[i];
    packed[REMAINING * n + i] = order.remainingUsd;
    packed[CYCLE * n + i] = order.cycleUsd;
    packed[FREQUENCY * n + i] = order.cycleFrequencyS;
    packed[NEXT_CYCLE * n + i] = order.nextCycleAtS;
    packed[MIN_USD * n + i] = order.minUsd ?? -Infinity;
    packed[MAX_USD * n + i] = order.maxUsd ?? Infinity;
    packed[SIDE * n + i] = order.direction === 'BUY' ? 1 : -1;
  }
  return packed;
}

/** The tokens to rank, ascending by address: token `i` is index `i` of each column. */
export interface PressureInput {
  /** The service's time, epoch seconds. */
  nowS: number;
  /** Float64 values: packed orders, then ladders: support, then resistance, cents by bin. */
  orders: SharedArrayBuffer;
  ladders: SharedArrayBuffer;
  /** Index of the first value of the token's orders, and number of orders. */
  ordersAt: Uint32Array;
  orderCount: Uint32Array;
  /** Current price; NaN if there is none. */
  priceUsd: Float64Array;
  /** Index of the first value of the token's ladder. */
  ladderAt: Uint32Array;
  /** Number of bins of the ladder; 0 without a ladder. */
  binCount: Uint32Array;
  firstBin: Int16Array;
}

/**
 * Columns by token, in the input's order. The columns of timeframe `f` of TIMEFRAMES begin at
 * `f * tokens`; NaN in `netPct` is null.
 */
export interface PressureRanking {
  nowS: number;
  buyCount: Uint32Array;
  sellCount: Uint32Array;
  totalBuyUsd: Float64Array;
  totalSellUsd: Float64Array;
  netUsd: Float64Array;
  netPct: Float64Array;
  /** Tokens by rank; read with rankOf(). */
  ranks: Uint32Array;
  /** Indexes of the token's orders, largest `usdNext` first; read with topOrdersOf(). */
  topOrders: Uint32Array;
  /** Number of all orders. */
  ordersRanked: number;
}

/** Every token's pressure in every timeframe, and the tokens in every order: a task of the pool. */
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
    const packed = orders.subarray(at, at + ORDER_COLUMNS * n);
    putTotals(ranking, token, packed);
    flowsOf(packed, priceUsd[token], nowS, flows, nets);
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

/** The tokens in a requested order, as indexes of the ranking's columns. */
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

/** A token's largest orders in a timeframe, at most `limit` and at most MAX_TOP_ORDERS. */
export function topOrdersOf(
  { buyCount, sellCount, topOrders: top }: PressureRanking,
  token: number,
  timeframe: Timeframe,
  limit: number,
): Uint32Array {
  const at = (TIMEFRAMES.indexOf(timeframe) * buyCount.length + token) * MAX_TOP_ORDERS;
  return top.subarray(at, at + Math.min(limit, MAX_TOP_ORDERS, buyCount[token] + sellCount[token]));
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

/** Totals of a token's orders, whether in range or not. */
function putTotals(ranking: PressureRanking, token: number, packed: Float64Array): void {
  const n = packed.length / ORDER_COLUMNS;
  for (let i = 0; i < n; i++) {
    const remainingUsd = packed[REMAINING * n + i];
    if (packed[SIDE * n + i] > 0) {
      ranking.buyCount[token]++;
      ranking.totalBuyUsd[token] += remainingUsd;
    } else {
      ranking.sellCount[token]++;
      ranking.totalSellUsd[token] += remainingUsd;
    }
  }
}

/**
 * The orders' `usdNext` by timeframe: order `i` in timeframe `f` is `flows[f * n + i]`.
 * @param priceUsd NaN without a price
 * @param flows has at least `HORIZONS_S.length * n` entries
 * @param nets set to the sum of BUY minus SELL by timeframe
 */
function flowsOf(
  packed: Float64Array,
  priceUsd: number,
  nowS: number,
  flows: Float64Array,
  nets: Float64Array,
): void {
  const n = packed.length / ORDER_COLUMNS;
  nets.fill(0);
  for (let i = 0; i < n; i++) {
    // Both comparisons are false without a price.
    const inRange = packed[MIN_USD * n + i] <= priceUsd && priceUsd <= packed[MAX_USD * n + i];
    if (!inRange) {
      for (let f = 0; f < HORIZONS_S.length; f++) flows[f * n + i] = 0;
      continue;
    }
    const frequencyS = packed[FREQUENCY * n + i];
    const sinceFirstS = nowS - packed[NEXT_CYCLE * n + i];
    const fired = cyclesBy(sinceFirstS, frequencyS);
    for (let f = 0; f < HORIZONS_S.length; f++) {
      const cycles = cyclesBy(sinceFirstS + HORIZONS_S[f], frequencyS) - fired;
      const usd = Math.min(packed[REMAINING * n + i], packed[CYCLE * n + i] * cycles);
      flows[f * n + i] = usd;
      nets[f] += packed[SIDE * n + i] * usd;
    }
  }
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

/** Number of the descending rank of a sort and timeframe; the ascending rank follows it. */
function rankAt(sort: number, timeframe: number): number {
  return (sort * TIMEFRAMES.length + timeframe) * PRESSURE_DIRECTIONS.length;
}

/**
 * Ranks by value, largest first and smallest first, equal values by index; NaN is null, and last in both.
 * @param desc, asc set to the indexes of `values`
 */
export function rankBothWays(values: Float64Array, desc: Uint32Array, asc: Uint32Array): void {
  let known = 0;
  for (let i = 0; i < values.length; i++) if (!Number.isNaN(values[i])) desc[known++] = i;
  let last = known;
  for (let i = 0; i < values.length; i++) if (Number.isNaN(values[i])) desc[last++] = i;
  asc.set(desc);
  desc.subarray(0, known).sort((a, b) => values[b] - values[a] || a - b);
  asc.subarray(0, known).sort((a, b) => values[a] - values[b] || a - b);
}

/**
 * Writes the indexes of the MAX_TOP_ORDERS largest values, largest first, equal values by index.
 * @param into set from index `at` on
 */
export function topOrders(values: Float64Array, into: Uint32Array, at: number): void {
  let found = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    let end = at + found;
    if (found === MAX_TOP_ORDERS) {
      if (value <= values[into[end - 1]]) continue;
      end--;
    } else found++;
    for (; end > at && values[into[end - 1]] < value; end--) into[end] = into[end - 1];
    into[end] = i;
  }
}
