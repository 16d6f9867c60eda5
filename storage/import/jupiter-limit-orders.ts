/**
 * Jupiter's limit orders as rows of `limit_orders`: those of its Trigger API, with amounts in tokens, and the accounts
 * that `openOrders` of its earlier API returned, with raw amounts.
 */
import type { JsonFields } from './fields.js';
import { hasCloseTx, noPrice, type OrderPrices } from './jupiter-orders.js';

/** An order in a common layout. Amounts of the input side are `making`, of the output side `taking`. */
interface LimitOrder {
  key: string;
  maker: string;
  fields: JsonFields;
  making: number;
  taking: number;
  remainingMaking: number;
  /** Whether amounts are raw units. */
  isRaw: boolean;
  isClosed: boolean;
}

/** @throws InputError */
export function readLimitOrder(order: JsonFields, prices: OrderPrices) {
  if (order.has('inDeposited')) {
    throw order.fault('inDeposited', 'this is a recurring order: import it as jupiter-dca');
  }
  const found = order.has('account') ? accountOf(order) : triggerOf(order);
  const { key, maker, fields, making, taking, remainingMaking } = found;
  const [input, output] = [fields.mint('inputMint'), fields.mint('outputMint')];
  const sides = prices.sidesOf(input, output);
  if (sides === null) return null;
  const [makingUnit, takingUnit] = [input, output].map((address) =>
    found.isRaw ? unitOf(prices.decimalsOf(address)) : 1,
  );
  if (makingUnit === null || takingUnit === null) {
    const address = makingUnit === null ? input : output;
    return { reason: `no decimals of ${address}: --decimals ${address}=N` };
  }
  const otherUsd = prices.usdOf(sides.other, found.isClosed);
  if (otherUsd === null) return noPrice(sides.other);
  const [made, took] = [making / makingUnit, taking / takingUnit];
  const usdPrice = otherUsd * (sides.direction === 'BUY' ? made / took : took / made);
  const otherLeft =
    sides.direction === 'BUY' ? remainingMaking / makingUnit : took * (remainingMaking / making);
  const row = {
    order_address: key,
    chain: 'mainchain',
    token_address: sides.token,
    direction: sides.direction,
    platform: 'jupiter',
    paired_symbol: sides.pairedSymbol,
    maker,
    usd_price: usdPrice,
    remaining_usd: otherLeft * otherUsd,
    pct_complete: 1 - remainingMaking / making,
    created_at: fields.timeS('createdAt'),
    closed: found.isClosed,
  };
  return { row };
}

function triggerOf(fields: JsonFields): LimitOrder {
  const status = fields.textOrNull('status');
  return {
    key: fields.text('orderKey'),
    maker: fields.text('userPubkey'),
    fields,
    ...amountsOf(fields, 'makingAmount', 'takingAmount', 'remainingMakingAmount'),
    isRaw: false,
    isClosed: (status !== null && status !== 'Open') || hasCloseTx(fields),
  };
}

function accountOf(order: JsonFields): LimitOrder {
  const fields = order.child('account');
  return {
    key: order.text('publicKey'),
    maker: fields.text('maker'),
    fields,
    ...amountsOf(fields, 'oriMakingAmount', 'oriTakingAmount', 'makingAmount'),
    isRaw: true,
    isClosed: false,
  };
}

function amountsOf(
  fields: JsonFields,
  makingField: string,
  takingField: string,
  leftField: string,
) {
  const [making, taking, remainingMaking] = [makingField, takingField, leftField].map((field) =>
    fields.amount(field),
  );
  if (!(making > 0)) throw fields.fault(makingField, 'expected a number above 0');
  if (!(taking > 0)) throw fields.fault(takingField, 'expected a number above 0');
  if (remainingMaking > making) throw fields.fault(leftField, `expected at most ${makingField}`);
  return { making, taking, remainingMaking };
}

function unitOf(decimals: number | null): number | null {
  return decimals === null ? null : 10 ** decimals;
}
