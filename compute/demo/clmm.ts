import type { Extent } from './book.js';
import { HeldState, positionsAt, type PoolLiquidity } from './positions.js';
import { quotePrice, type PoolMoment, type PriceModel } from './price.js';
import type { ClmmBody } from './rows.js';

/** One concentrated-liquidity pool of the Uniswap v3 shape. */
export interface ClmmProfile extends PoolLiquidity {
  quote: PriceModel | null;
  tickSpacing: number;
  token: 0 | 1;
  decimals0: number;
  decimals1: number;
}

const LN_TICK = Math.log(1.0001);
const MAX_TICK = 887_272;
const TWO_POW_96 = 2 ** 96;

/** A position with its liquidity in raw units. */
interface Range {
  low: number;
  high: number;
  liquidity: bigint;
}

interface TickState {
  ranges: Range[];
  ticks: [number, string][];
  fromS: number;
  toS: number;
}

/** token0's price in token1, raw units, for a token price in quote tokens. */
function rawPrice(pool: ClmmProfile, inQuote: number): number {
  const human = pool.token === 0 ? inQuote : 1 / inQuote;
  return human * 10 ** (pool.decimals1 - pool.decimals0);
}

function tickOf(pool: ClmmProfile, inQuote: number): number {
  return Math.log(rawPrice(pool, inQuote)) / LN_TICK;
}

function spaced(pool: ClmmProfile, tick: number): number {
  const limit = Math.floor(MAX_TICK / pool.tickSpacing);
  const steps = Math.round(tick / pool.tickSpacing);
  return Math.max(-limit, Math.min(limit, steps)) * pool.tickSpacing;
}

function netTicks(ranges: readonly Range[]): [number, string][] {
  const net = new Map<number, bigint>();
  for (const { low, high, liquidity } of ranges) {
    net.set(low, (net.get(low) ?? 0n) + liquidity);
    net.set(high, (net.get(high) ?? 0n) - liquidity);
  }
  return [...net]
    .filter(([, liquidity]) => liquidity !== 0n)
    .sort((a, b) => a[0] - b[0])
    .map(([tick, liquidity]) => [tick, liquidity.toString()]);
}

/**
 * The pool's ranges at `t`. A position worth `usd` at its middle has `usd / (2 sqrt(p) (1 -
 * (low/high)^(1/4)))` of liquidity, `p` the geometric middle of its prices in the quote token.
 */
function ticksAt(pool: ClmmProfile, t: number): TickState {
  const scale = 10 ** ((pool.decimals0 + pool.decimals1) / 2);
  const set = positionsAt(pool, t);
  // Ranges are set in quote tokens: the quote's own moves shift them in USD.
  const quoteUsd = quotePrice(pool.quote, set.fromS);
  const ranges = set.positions.map(({ lowUsd, highUsd, usd }): Range => {
    const a = spaced(pool, tickOf(pool, lowUsd / quoteUsd));
    const b = spaced(pool, tickOf(pool, highUsd / quoteUsd));
    const low = Math.min(a, b);
    const high = Math.max(a, b, low + pool.tickSpacing);
    const middle = Math.sqrt(lowUsd * highUsd) / quoteUsd;
    const reach = 1 - Math.pow(lowUsd / highUsd, 0.25);
    const human = usd / quoteUsd / (2 * Math.sqrt(middle) * reach);
    return { low, high, liquidity: BigInt(Math.max(1, Math.round(human * scale))) };
  });
  return { ranges, ticks: netTicks(ranges), fromS: set.fromS, toS: set.toS };
}

const tickStates = new HeldState(ticksAt);

/** Ranges cut to an extent about the price, as collectors that keep a narrow range store them. */
function cut(
  pool: ClmmProfile,
  ranges: readonly Range[],
  inQuote: number,
  extent: Extent,
): Range[] {
  const a = spaced(pool, tickOf(pool, inQuote * Math.exp(-extent.below)));
  const b = spaced(pool, tickOf(pool, inQuote * Math.exp(extent.above)));
  const [first, last] = a < b ? [a, b] : [b, a];
  return ranges
    .map((r) => ({ ...r, low: Math.max(r.low, first), high: Math.min(r.high, last) }))
    .filter((r) => r.low < r.high);
}

/** The pool's state at a moment; `liquidity_net` sums to zero over its ticks. */
export function clmmAt(pool: ClmmProfile, moment: PoolMoment, extent: Extent): ClmmBody {
  const state = tickStates.at(pool, moment.t);
  const inQuote = moment.poolUsd / moment.quoteUsd;
  const whole = extent.below === Infinity;
  return {
    sqrt_price_x96: BigInt(Math.floor(Math.sqrt(rawPrice(pool, inQuote)) * TWO_POW_96)).toString(),
    ticks: whole ? state.ticks : netTicks(cut(pool, state.ranges, inQuote, extent)),
    decimals0: pool.decimals0,
    decimals1: pool.decimals1,
    token: pool.token,
    quote_usd: moment.quoteUsd,
  };
}
