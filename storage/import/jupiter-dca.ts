/** Jupiter's recurring orders (DCA), as its API returns them, as rows of `dca_orders`. */
import type { JsonFields } from './fields.js';
import { hasCloseTx, noPrice, type OrderPrices } from './jupiter-orders.js';

/** @throws InputError */
export function readDcaOrder(order: JsonFields, prices: OrderPrices) {
  if (order.has('makingAmount')) {
    throw order.fault('makingAmount', 'this is a limit order: import it as jupiter-limit-orders');
  }
  const [input, output] = [order.mint('inputMint'), order.mint('outputMint')];
  const sides = prices.sidesOf(input, output);
  if (sides === null) return null;
  if (order.has('orderInterval') && !order.has('cycleFrequency')) {
    return { reason: 'an order by value (orderInterval) has no fixed amount for each cycle' };
  }
  const frequencyS = order.amount('cycleFrequency');
  if (!(frequencyS > 0)) throw order.fault('cycleFrequency', 'expected seconds above 0');
  const perCycle = order.amount('inAmountPerCycle');
  if (!(perCycle > 0)) throw order.fault('inAmountPerCycle', 'expected a number above 0');
  const [deposited, used] = [order.amount('inDeposited'), order.amount('inUsed')];
  const withdrawn = order.has('inWithdrawn') ? order.amount('inWithdrawn') : 0;
  const closed = order.object.userClosed === true || hasCloseTx(order);
  const inputUsd = prices.usdOf(input, closed);
  if (inputUsd === null) return noPrice(input);
  const least = order.has('minOutAmount') ? order.amount('minOutAmount') : 0;
  const most = order.has('maxOutAmount') ? order.amount('maxOutAmount') : 0;
  const isBuy = sides.direction === 'BUY';
  const otherUsd = least + most > 0 ? prices.usdOf(sides.other, closed) : 0;
  if (otherUsd === null) return noPrice(sides.other);
  const cycleUsd = perCycle * inputUsd;
  /** The token's USD price at which a cycle gives this amount; null: no bound. */
  const priceAt = (out: number): number | null => {
    if (out === 0) return null;
    return isBuy ? cycleUsd / out : (out * otherUsd) / perCycle;
  };
  const startS = order.timeS(order.has('startAt') ? 'startAt' : 'createdAt');
  const row = {
    dca_address: order.text('orderKey'),
    token_address: sides.token,
    direction: sides.direction,
    paired_symbol: sides.pairedSymbol,
    deposited_usd: deposited * inputUsd,
    remaining_usd: Math.max(0, deposited - used - withdrawn) * inputUsd,
    cycle_usd: cycleUsd,
    cycle_frequency: frequencyS,
    next_cycle_at: Math.floor(startS + Math.ceil(used / perCycle) * frequencyS),
    min_usd: priceAt(isBuy ? most : least),
    max_usd: priceAt(isBuy ? least : most),
    closed,
  };
  return { row };
}
