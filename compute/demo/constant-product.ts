import { hash, unit } from './hash.js';
import { smoothNoise } from './path.js';
import type { PoolMoment } from './price.js';
import type { ConstantProductBody } from './rows.js';

/** One constant-product pool. `tvlUsd` is what it held when the token stood at `basePriceUsd`. */
export interface ConstantProductProfile {
  key: number;
  tvlUsd: number;
  basePriceUsd: number;
}

/** Providers come and go at these times, and change the pool's liquidity by a little. */
const LIQUIDITY_STEP_S = 1_800;
const LIQUIDITY_PERIOD_S = 40_000;
const LIQUIDITY_SWING = 0.18;
const RESERVE_DIGITS = 12;

/** `sqrt(reserve_token * reserve_quote * quote_usd)`: it does not follow the price. */
function liquidity(pool: ConstantProductProfile, t: number): number {
  const since = t + (pool.key % LIQUIDITY_STEP_S);
  const step = Math.floor(since / LIQUIDITY_STEP_S);
  const swing = smoothNoise(pool.key, step * LIQUIDITY_STEP_S, LIQUIDITY_PERIOD_S);
  const visit = 0.02 * (unit(hash(pool.key, step)) - 0.5);
  return (pool.tvlUsd / 2 / Math.sqrt(pool.basePriceUsd)) * (1 + LIQUIDITY_SWING * swing + visit);
}

/** The pool's state at a moment: reserves whose quotient is the pool's price. */
export function constantProductAt(
  pool: ConstantProductProfile,
  moment: PoolMoment,
): ConstantProductBody {
  const scale = liquidity(pool, moment.t);
  const root = Math.sqrt(moment.poolUsd);
  return {
    reserve_token: Number((scale / root).toPrecision(RESERVE_DIGITS)),
    reserve_quote: Number(((scale * root) / moment.quoteUsd).toPrecision(RESERVE_DIGITS)),
    quote_usd: moment.quoteUsd,
  };
}
