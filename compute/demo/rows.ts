import type { Chain, ExchangeType, MarketType, Tier } from '../market/market.js';

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
