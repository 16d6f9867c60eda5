/** Random DCA orders and tokens with orders, and plain ones in Fathom's form. */
import fc from 'fast-check';
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import type { PlainDcaOrder, PlainFlowToken } from '../reference/flow.js';
import { plainMarkets } from '../scores/ladders.js';

export const NOW_S = 1_794_659_696;

const ALPHABET = [...'123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'];

/** A mint, or an order's address. */
function address(): fc.Arbitrary<string> {
  const letters = fc.array(fc.constantFrom(...ALPHABET), { minLength: 32, maxLength: 44 });
  return letters.map((list) => list.join(''));
}

/** A price, or null; orders of `plainOrders` have ends of their ranges at some of them. */
function plainPrice(): fc.Arbitrary<number | null> {
  return fc.oneof(fc.constantFrom(null, 0.5, 1, 2), fc.double({ min: 0.1, max: 4, noNaN: true }));
}

function plainOrders(
  constraints: { minLength?: number; maxLength?: number } = {},
): fc.Arbitrary<PlainDcaOrder[]> {
  const usd = fc.oneof(
    fc.constantFrom(1, 10, 100),
    fc.double({ min: 0.01, max: 1e6, noNaN: true }),
  );
  const end = fc.constantFrom(null, null, 0.5, 1, 2);
  const order: fc.Arbitrary<PlainDcaOrder> = fc.record({
    address: address(),
    direction: fc.constantFrom('BUY', 'SELL'),
    remaining: usd,
    cycle: usd,
    frequency: fc.oneof(fc.constantFrom(60, 300, 3600), fc.integer({ min: 40, max: 100_000 })),
    nextCycleAt: fc.integer({ min: NOW_S - 100_000, max: NOW_S + 100_000 }),
    min: end,
    max: end,
  });
  return fc.uniqueArray(order, { ...constraints, selector: (one) => one.address });
}

/** Tokens with orders, some without a price, a ladder, or a side of it. */
export function plainTokens(maxLength: number, minLength = 0): fc.Arbitrary<PlainFlowToken[]> {
  const token: fc.Arbitrary<PlainFlowToken> = fc.record({
    address: address(),
    price: plainPrice(),
    markets: fc.oneof(fc.constant(null), plainMarkets(), plainMarkets()),
    mcap: fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 1000 })),
    orders: plainOrders({ minLength: 1, maxLength: 30 }),
  });
  // A token with a snapshot has a price.
  const priced = token.map((one) => (one.price === null ? { ...one, markets: null } : one));
  return fc.uniqueArray(priced, { minLength, maxLength, selector: (one) => one.address });
}

/** A plain order in Fathom's form. */
function dcaOrderOf(plain: PlainDcaOrder, tokenAddress: string): DcaOrder {
  return {
    dcaAddress: plain.address,
    tokenAddress,
    direction: plain.direction,
    pairedSymbol: 'USDC',
    depositedUsd: plain.remaining * 2,
    remainingUsd: plain.remaining,
    cycleUsd: plain.cycle,
    cycleFrequencyS: plain.frequency,
    nextCycleAtS: plain.nextCycleAt,
    minUsd: plain.min,
    maxUsd: plain.max,
  };
}

/** By address ascending, as in the order book. */
export function dcaOrdersOf({ address: token, orders }: PlainFlowToken): DcaOrder[] {
  return orders
    .map((plain) => dcaOrderOf(plain, token))
    .sort((a, b) => (a.dcaAddress < b.dcaAddress ? -1 : 1));
}
