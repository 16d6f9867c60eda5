/** A limit order on one leg of an asset (data.md sections 3 and 4). */
import type { Chain } from '../market.js';
import type { Direction } from './dca-order.js';

/** A row of dataset `limit_orders` that is active: not closed, and `remainingUsd > 0`. */
export interface LimitOrder {
  orderAddress: string;
  chain: Chain;
  tokenAddress: string;
  direction: Direction;
  /** Name of the order platform, as given. */
  platform: string;
  pairedSymbol: string;
  /** Wallet address. */
  maker: string;
  /** > 0. */
  usdPrice: number;
  remainingUsd: number;
  /** Fraction that has been filled. */
  pctComplete: number;
  /** Epoch seconds. */
  createdAtS: number;
}
