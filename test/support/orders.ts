/** Orders for tests, and random ones that often tie. */
import fc from 'fast-check';
import { DIRECTIONS, type DcaOrder } from '../../compute/orders/dca-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';

export function limitOrder(fields: Partial<LimitOrder> = {}): LimitOrder {
  return {
    orderAddress: 'order',
    chain: 'mainchain',
    tokenAddress: 'token',
    direction: 'BUY',
    platform: 'jupiter',
    pairedSymbol: 'USDC',
    maker: 'maker',
    usdPrice: 1,
    remainingUsd: 10,
    pctComplete: 0.25,
    createdAtS: 1_794_000_000,
    ...fields,
  };
}

export function dcaOrder(fields: Partial<DcaOrder> = {}): DcaOrder {
  return {
    dcaAddress: 'order',
    tokenAddress: 'token',
    direction: 'BUY',
    pairedSymbol: 'USDC',
    depositedUsd: 1000,
    remainingUsd: 500,
    cycleUsd: 10,
    cycleFrequencyS: 60,
    nextCycleAtS: 1_794_659_700,
    minUsd: null,
    maxUsd: null,
    ...fields,
  };
}

/** Prices that tie with each other and with both sides of 2, mixed with arbitrary ones. */
const price = fc.oneof(
  fc.constantFrom(0.5, 1, 1.5, 1.75, 2, 2.25, 2.5, 3, 4, 20, 22),
  fc.double({ min: 0.001, max: 50, noNaN: true }),
);

/** A leg's orders, each address once. */
export const limitOrders = (chain: LimitOrder['chain'], tokenAddress: string) =>
  fc
    .uniqueArray(fc.record({ id: fc.nat(5000), usdPrice: price, side: fc.boolean() }), {
      selector: ({ id }) => id,
      maxLength: 40,
    })
    .map((rows) =>
      rows.map(({ id, usdPrice, side }) =>
        limitOrder({
          orderAddress: `${chain}-${id}`,
          chain,
          tokenAddress,
          usdPrice,
          direction: side ? 'BUY' : 'SELL',
          remainingUsd: 1 + id,
        }),
      ),
    );

/** A token's DCA orders in whole dollars, each address once: equal sizes tie exactly. */
export const dcaOrders = (nowS: number, tokenAddress = 'token') =>
  fc
    .uniqueArray(
      fc.record({
        id: fc.nat(5000),
        direction: fc.constantFrom(...DIRECTIONS),
        remainingUsd: fc.oneof(fc.constantFrom(5, 50, 500), fc.integer({ min: 1, max: 100_000 })),
        cycleUsd: fc.oneof(fc.constantFrom(1, 10), fc.integer({ min: 1, max: 5000 })),
        cycleFrequencyS: fc.constantFrom(300, 3600, 86_400, 100_000),
        nextCycleAtS: fc.integer({ min: nowS - 200_000, max: nowS + 200_000 }),
        minUsd: fc.option(fc.integer({ min: 0, max: 4 })),
        maxUsd: fc.option(fc.integer({ min: 0, max: 4 })),
      }),
      { selector: ({ id }) => id, maxLength: 60 },
    )
    .map((rows) =>
      rows.map(({ id, ...fields }) =>
        dcaOrder({ ...fields, dcaAddress: `dca-${id}`, tokenAddress, depositedUsd: 100_000 }),
      ),
    );
