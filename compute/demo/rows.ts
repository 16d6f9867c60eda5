import type { Direction } from '../orders/dca-orders.js';
import type { Chain, ExchangeType, MarketType, Tier } from '../market.js';

/** Rows as data.md section 3 lays them out: what `fathom ingest` would read. */

/** `[price_usd, size]`. */
export type BookLevel = [number, number];

export interface BookBody {
  bids: BookLevel[];
  asks: BookLevel[];
}

export interface ConstantProductBody {
  reserve_token: number;
  reserve_quote: number;
  quote_usd: number;
}

export interface ClmmBody {
  sqrt_price_x96: string;
  /** `[tick, liquidity_net]`, ascending. */
  ticks: readonly [number, string][];
  decimals0: number;
  decimals1: number;
  token: 0 | 1;
  quote_usd: number;
}

export interface DlmmBody {
  bin_step: number;
  active_id: number;
  /** `[id, amount_x, amount_y]`, ascending. */
  bins: [number, number, number][];
  decimals_x: number;
  decimals_y: number;
  token: 'x' | 'y';
  quote_usd: number;
}

/** `[bin, support_usd, resistance_usd]`, ascending. */
export type CellLevel = [number, number, number];

export type MarketBody =
  | { book: BookBody }
  | { constant_product: ConstantProductBody }
  | { clmm: ClmmBody }
  | { dlmm: DlmmBody }
  | { cells: CellLevel[] };

/** A market's identity as a row states it. */
export interface MarketHead {
  source: string;
  exchange_type: ExchangeType;
  type: MarketType;
  address: string | null;
  pair: string | null;
}

export type DemoMarketRow = MarketHead & MarketBody;

/** A row of dataset `snapshots`. */
export interface DemoSnapshotRow {
  chain: Chain;
  address: string;
  t: number;
  tier: Tier;
  price_usd: number;
  markets: DemoMarketRow[];
}

/** A row of dataset `tokens`. */
export interface DemoTokenRow {
  chain: Chain;
  address: string;
  symbol: string;
  name: string;
  icon: string | null;
  decimals: number;
  asset: string | null;
  coverage: 'full' | 'depth_only' | 'excluded';
  price_usd: number | null;
  mcap: number | null;
  liquidity_usd: number | null;
  last_refresh: number;
}

/** A row of dataset `dca_orders`. */
export interface DemoDcaOrderRow {
  dca_address: string;
  token_address: string;
  direction: Direction;
  paired_symbol: string;
  deposited_usd: number;
  remaining_usd: number;
  cycle_usd: number;
  cycle_frequency: number;
  next_cycle_at: number;
  min_usd: number | null;
  max_usd: number | null;
  closed: boolean;
}

/** A row of dataset `limit_orders`. */
export interface DemoLimitOrderRow {
  order_address: string;
  chain: Chain;
  token_address: string;
  direction: Direction;
  platform: string;
  paired_symbol: string;
  maker: string;
  usd_price: number;
  remaining_usd: number;
  pct_complete: number;
  created_at: number;
  closed: boolean;
}

/** A row of dataset `holders`. */
export interface DemoHolderRow {
  token_address: string;
  t: number;
  owner: string;
  balance: number;
}

/** A row of dataset `dlmm_pools`. */
export interface DemoDlmmPoolRow {
  pubkey: string;
  bin_step: number;
  active_id: number;
  token_x_mint: string;
  token_y_mint: string;
  token_x_decimals: number;
  token_y_decimals: number;
  reserve_x: number;
  reserve_y: number;
  base_fee_pct: number;
  dynamic_fee_pct: number;
  num_positions: number;
  num_wallets: number;
}

/** A row of dataset `dlmm_hours`. */
export interface DemoDlmmHourRow {
  pubkey: string;
  hour: number;
  fees_usd: number;
  volume_usd: number;
  tvl_usd: number;
}

/** A row of dataset `token_hours`. */
export interface DemoTokenHourRow {
  chain: Chain;
  address: string;
  hour: number;
  organic_volume_usd: number;
}
