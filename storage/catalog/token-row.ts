/** The `tokens` dataset's row, as it is stored. */
import type { Chain } from '../../compute/market.js';

export const COVERAGES = ['full', 'depth_only', 'excluded'] as const;
export type Coverage = (typeof COVERAGES)[number];

/** A row of dataset `tokens`; of a token that only a snapshot has named all but two are null. */
export interface TokenRow {
  chain: Chain;
  address: string;
  symbol: string | null;
  name: string | null;
  icon: string | null;
  decimals: number | null;
  asset: string | null;
  coverage: Coverage;
  price_usd: number | null;
  mcap: number | null;
  liquidity_usd: number | null;
  /** Epoch seconds. */
  last_refresh: number | null;
}

/** What is known of a token before any row of its own: its coverage is `full`. */
export function bareTokenRow(chain: Chain, address: string): TokenRow {
  return {
    chain,
    address,
    symbol: null,
    name: null,
    icon: null,
    decimals: null,
    asset: null,
    coverage: 'full',
    price_usd: null,
    mcap: null,
    liquidity_usd: null,
    last_refresh: null,
  };
}
