/** Pools of the simulated market: providers' positions and the pool states that they add up to. */
import { MAX_TICK } from '../compute/ingest/fields.js';
import { DAY_S } from '../compute/time.js';
import { hash, sizeDraw, unit } from './hash.js';
import { fairPrice, quotePrice, smoothNoise, type PriceModel } from './price.js';

/** One pool of a token. `tvlUsd` is what it holds at its usual price. */
export interface PoolProfile {
  key: number;
  price: PriceModel;
  /** Null if the pool is quoted in dollars. */
  quote: PriceModel | null;
  tvlUsd: number;
  /** About how many positions there are at a time. */
  positions: number;
  /** Whether the token is token0 or X. */
  isFirst: boolean;
  tokenDecimals: number;
  quoteDecimals: number;
  feeBp: number;
  /** CLMM: tick spacing. DLMM: basis points between bins. */
  step: number;
}

/**
 * One provider's range on the pool's axis: the logarithm of the first token's price in the second,
 * in raw units.
 */
interface Position {
  low: number;
  high: number;
  usd: number;
}

/** The positions of a pool, and the span of time in which none of them changes. */
interface PositionSet {
  positions: Position[];
  fromS: number;
  toS: number;
}

/** Kinds of providers: half width (log), how long they stay, how many, share of the liquidity. */
const COHORTS = [
  { width: 0.7, staysS: 12 * DAY_S, count: 0.15, share: 0.28 },
  { width: 0.35, staysS: 5 * DAY_S, count: 0.2, share: 0.18 },
  { width: 0.18, staysS: 2.5 * DAY_S, count: 0.2, share: 0.17 },
  { width: 0.09, staysS: DAY_S, count: 0.2, share: 0.16 },
  { width: 0.045, staysS: DAY_S / 2, count: 0.15, share: 0.12 },
  { width: 0.02, staysS: DAY_S / 4, count: 0.1, share: 0.09 },
] as const;
/** Providers of a kind arrive in groups, each around the price at its own time. */
const GROUPS = 2;

const LN_TICK = Math.log(1.0001);
const TWO_POW_96 = 2 ** 96;

/** A DLMM pool's bins reach this far on either side of the price. */
const REACH_BINS = 60;
const MIN_BIN_USD = 0.5;
/** Fees, deposits and withdrawals change single bins about this often. */
const BIN_CHANGE_S = 420;

/** Constant product: providers change the liquidity a little at these times. */
const LIQUIDITY_STEP_S = 1_800;
const LIQUIDITY_PERIOD_S = 40_000;

function axisOf(pool: PoolProfile, priceInQuote: number): number {
  const raw = Math.log(priceInQuote) + (pool.quoteDecimals - pool.tokenDecimals) * Math.LN10;
  return pool.isFirst ? raw : -raw;
}

/**
 * The positions of a pool at `t`: wide ones stay for weeks, narrow ones for hours, each around the
 * price when its group arrived, with heavy-tailed sizes.
 */
function positionsAt(pool: PoolProfile, t: number): PositionSet {
  const set: PositionSet = { positions: [], fromS: -Infinity, toS: Infinity };
  COHORTS.forEach(({ width, staysS, count, share }, cohort) => {
    const perGroup = Math.max(1, Math.round((pool.positions * count) / GROUPS));
    for (let group = 0; group < GROUPS; group++) {
      const h = hash(hash(pool.key, cohort), group);
      const arrivedS = t - ((t + (h % staysS)) % staysS);
      set.fromS = Math.max(set.fromS, arrivedS);
      set.toS = Math.min(set.toS, arrivedS + staysS);
      const centre = fairPrice(pool.price, arrivedS) / quotePrice(pool.quote, arrivedS);
      const axis = axisOf(pool, centre);
      for (let i = 0; i < perGroup; i++) {
        const g = hash(hash(h, arrivedS), i);
        set.positions.push({
          low: axis - width * (0.4 + 0.9 * unit(hash(g, 1))),
          high: axis + width * (0.4 + 0.9 * unit(hash(g, 2))),
          usd: ((pool.tvlUsd * share) / GROUPS / perGroup) * 0.7 * sizeDraw(g),
        });
      }
    }
  });
  return set;
}

/** Caches what a pool's positions add up to until one of them changes. */
function cached<State>(make: (pool: PoolProfile, set: PositionSet) => State) {
  const last = new WeakMap<PoolProfile, { fromS: number; toS: number; state: State }>();
  return (pool: PoolProfile, t: number): State => {
    let found = last.get(pool);
    if (found === undefined || t < found.fromS || t >= found.toS) {
      const set = positionsAt(pool, t);
      found = { fromS: set.fromS, toS: set.toS, state: make(pool, set) };
      last.set(pool, found);
    }
    return found.state;
  };
}

/**
 * `[tick, liquidity_net]`, ascending. A position worth `V` in raw quote tokens at its middle price
 * `p` has `V / (2 sqrt(p) (1 - (low/high)^(1/4)))` of liquidity.
 */
const ticksOf = cached((pool, { positions, fromS }): [number, string][] => {
  const quoteUsd = quotePrice(pool.quote, fromS);
  const furthest = Math.floor(MAX_TICK / pool.step);
  const tickOf = (axis: number) => {
    const steps = Math.round(axis / LN_TICK / pool.step);
    return Math.max(-furthest, Math.min(furthest, steps)) * pool.step;
  };
  const net = new Map<number, bigint>();
  for (const { low, high, usd } of positions) {
    const lnMiddle = ((low + high) / 2) * (pool.isFirst ? 1 : -1);
    const raw = (usd / quoteUsd) * 10 ** pool.quoteDecimals;
    const perRaw = 2 * Math.exp(lnMiddle / 2) * (1 - Math.exp((low - high) / 4));
    const liquidity = BigInt(Math.max(1, Math.round(raw / perRaw)));
    const first = tickOf(low);
    const last = Math.max(tickOf(high), first + pool.step);
    net.set(first, (net.get(first) ?? 0n) + liquidity);
    net.set(last, (net.get(last) ?? 0n) - liquidity);
  }
  return [...net]
    .filter(([, liquidity]) => liquidity !== 0n)
    .sort((a, b) => a[0] - b[0])
    .map(([tick, liquidity]) => [tick, liquidity.toString()]);
});

/** The state of a pool of the Uniswap v3 shape; `liquidity_net` sums to zero over its ticks. */
export function clmmAt(pool: PoolProfile, priceUsd: number, t: number) {
  const quoteUsd = quotePrice(pool.quote, t);
  const root = Math.exp(axisOf(pool, priceUsd / quoteUsd) / 2);
  return {
    sqrt_price_x96: BigInt(Math.floor(root * TWO_POW_96)).toString(),
    ticks: ticksOf(pool, t),
    decimals0: pool.isFirst ? pool.tokenDecimals : pool.quoteDecimals,
    decimals1: pool.isFirst ? pool.quoteDecimals : pool.tokenDecimals,
    token: pool.isFirst ? 0 : 1,
    quote_usd: quoteUsd,
  };
}

/** What every bin holds in USD, in either token. */
const binsOf = cached((pool, { positions }): { firstId: number; usd: Float64Array } => {
  const idOf = (axis: number) => Math.floor(axis / Math.log1p(pool.step / 10_000));
  const firstId = Math.min(...positions.map(({ low }) => idOf(low)));
  const lastId = Math.max(...positions.map(({ high }) => idOf(high)));
  const bins = new Float64Array(lastId - firstId + 1);
  for (const { low, high, usd } of positions) {
    const count = idOf(high) - idOf(low) + 1;
    for (let id = idOf(low), i = 0; i < count; i++) bins[id + i - firstId] += usd / count;
  }
  return { firstId, usd: bins };
});

/** The state of a pool of bins: Y below the active bin, X above it, both in it. */
export function dlmmAt(pool: PoolProfile, priceUsd: number, t: number) {
  const { firstId, usd } = binsOf(pool, t);
  const quoteUsd = quotePrice(pool.quote, t);
  const lnStep = Math.log1p(pool.step / 10_000);
  const position = axisOf(pool, priceUsd / quoteUsd) / lnStep;
  const activeId = Math.floor(position);
  const [decimalsX, decimalsY] = pool.isFirst
    ? [pool.tokenDecimals, pool.quoteDecimals]
    : [pool.quoteDecimals, pool.tokenDecimals];
  const bins: [number, number, number][] = [];
  const last = Math.min(firstId + usd.length - 1, activeId + REACH_BINS);
  for (let id = Math.max(firstId, activeId - REACH_BINS); id <= last; id++) {
    const h = hash(pool.key, id);
    // Bins differ, and each changes every few minutes.
    const change = Math.floor((t + (h % BIN_CHANGE_S)) / BIN_CHANGE_S);
    const worthUsd = usd[id - firstId] * (0.75 + 0.5 * unit(hash(h, change)));
    if (worthUsd < MIN_BIN_USD) continue;
    const price = Math.exp(id * lnStep) * 10 ** (decimalsX - decimalsY);
    const amountY = (worthUsd / quoteUsd) * (pool.isFirst ? 1 : price);
    // The active bin is emptied of X from below as the price passes through it.
    const shareY = Math.min(1, Math.max(0, position - id));
    bins.push([
      id,
      rounded(((1 - shareY) * amountY) / price, decimalsX),
      rounded(shareY * amountY, decimalsY),
    ]);
  }
  return {
    bin_step: pool.step,
    active_id: activeId,
    bins,
    decimals_x: decimalsX,
    decimals_y: decimalsY,
    token: pool.isFirst ? 'x' : 'y',
    quote_usd: quoteUsd,
  };
}

function rounded(amount: number, decimals: number): number {
  return Number(amount.toFixed(Math.min(decimals, 9)));
}

/** The state of a constant-product pool: reserves whose quotient is the pool's price. */
export function constantProductAt(pool: PoolProfile, priceUsd: number, t: number) {
  const step = Math.floor((t + (pool.key % LIQUIDITY_STEP_S)) / LIQUIDITY_STEP_S);
  const swing = 0.18 * smoothNoise(pool.key, step * LIQUIDITY_STEP_S, LIQUIDITY_PERIOD_S);
  const visit = 0.02 * (unit(hash(pool.key, step)) - 0.5);
  // sqrt(reserve_token * reserve_quote * quote_usd): it does not follow the price.
  const usualRoot = Math.exp(pool.price.lnBase / 2);
  const liquidity = (pool.tvlUsd / 2 / usualRoot) * (1 + swing + visit);
  const quoteUsd = quotePrice(pool.quote, t);
  const root = Math.sqrt(priceUsd);
  return {
    reserve_token: Number((liquidity / root).toPrecision(12)),
    reserve_quote: Number(((liquidity * root) / quoteUsd).toPrecision(12)),
    quote_usd: quoteUsd,
  };
}
