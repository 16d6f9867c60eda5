/** Generated DCA orders and their market, a function of the seed. */
import { base58Address, hash, keyOf, normal, unit } from '../../demo/hash.js';
import { BASE58_DIGITS } from '../../compute/base58.js';
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import type { BinSums } from '../../compute/segment/snapshots.js';
import { BENCH_SEED, benchAddress, START_S } from './pages.js';

export const FLOW_TOKENS = 1_000;
export const FLOW_ORDERS = 200_000;

/** Bins on each side of the price. */
const REACH = 120;
export const PRICE_USD = 2;
const MEDIAN_CENTS = 75_000;
const MEDIAN_ORDER_USD = 900;
const SIGMA = 1.3;
const FREQUENCIES_S = [60, 300, 600, 3_600, 21_600, 86_400];
/**
 * The first digits of an order's address come from a hash, the others number tokens and orders. With 32-bit hashes alone,
 * some of a hundred thousand orders would share an address.
 */
const HASHED_DIGITS = 32;
/** Orders without a price range. */
const OPEN_SHARE = 0.7;

/** Four base58 digits for a number below 58^4. */
function base58Number(value: number): string {
  let text = '';
  for (let rest = value; text.length < 4; rest = Math.floor(rest / 58)) {
    text = BASE58_DIGITS[rest % 58] + text;
  }
  return text;
}

/** A token's orders; every token has the same number. */
export function benchOrders(token: number): DcaOrder[] {
  const key = keyOf(hash(BENCH_SEED, token), 'dca orders');
  const tokenAddress = benchAddress(token);
  const addressStart = base58Address(`bench orders ${token}`).slice(0, HASHED_DIGITS);
  return Array.from({ length: FLOW_ORDERS / FLOW_TOKENS }, (_, i) => {
    const draw = (field: number) => hash(hash(key, i), field);
    const remainingUsd = MEDIAN_ORDER_USD * Math.exp(SIGMA * normal(draw(0)));
    const every = Math.floor(unit(draw(1)) * FREQUENCIES_S.length);
    const open = unit(draw(2)) < OPEN_SHARE;
    return {
      dcaAddress: addressStart + base58Number(token) + base58Number(i),
      tokenAddress,
      direction: unit(draw(3)) < 0.5 ? 'BUY' : 'SELL',
      pairedSymbol: 'USDC',
      depositedUsd: 2 * remainingUsd,
      remainingUsd,
      cycleUsd: remainingUsd / (1 + Math.floor(unit(draw(4)) * 50)),
      cycleFrequencyS: FREQUENCIES_S[every],
      nextCycleAtS: START_S - 3_600 + Math.floor(unit(draw(5)) * 7_200),
      minUsd: open ? null : PRICE_USD * (0.8 + 0.3 * unit(draw(6))),
      maxUsd: open ? null : PRICE_USD * (0.9 + 0.3 * unit(draw(7))),
    };
  });
}

/** Support and resistance of a token around PRICE_USD; every token has the same bins. */
export function benchLadder(token: number): BinSums {
  const key = keyOf(hash(BENCH_SEED, token), 'flow ladder');
  const cents = (bin: number) =>
    Math.round(MEDIAN_CENTS * Math.exp(SIGMA * normal(hash(key, bin))));
  const bins = Array.from({ length: 2 * REACH + 1 }, (_, i) => i - REACH);
  return {
    firstBin: -REACH,
    supportCents: Float64Array.from(bins, (bin) => (bin <= 0 ? cents(bin + REACH) : 0)),
    resistanceCents: Float64Array.from(bins, (bin) => (bin >= 0 ? cents(bin + REACH) : 0)),
  };
}
