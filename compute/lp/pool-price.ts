/** What a DLMM pool's state says of its price. */
import type { DlmmPool } from './dlmm-pool.js';

type PricedPool = Pick<DlmmPool, 'binStep' | 'activeId' | 'tokenXDecimals' | 'tokenYDecimals'>;

/** Price of X in Y: `(1 + bin_step/10000)^active_id * 10^(decimals_x - decimals_y)`. */
export function poolPrice(pool: PricedPool): number {
  const { binStep, activeId, tokenXDecimals, tokenYDecimals } = pool;
  return Math.pow(1 + binStep / 10_000, activeId) * Math.pow(10, tokenXDecimals - tokenYDecimals);
}
