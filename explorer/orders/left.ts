/** Amounts of limit orders. */
import type { LimitOrder } from '../../client/index.js';

/** What is left of a limit order, USD. */
export const leftOf = (order: LimitOrder): number =>
  order.usd_support_amount + order.usd_resistance_amount;
