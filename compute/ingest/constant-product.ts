import type { LadderAccumulator } from './accumulator.js';
import { addLiquidityRange } from './constant-liquidity.js';
import type { FaultLog } from './faults.js';
import { NOT_NEGATIVE, POSITIVE, readNumber, type Fields } from './fields.js';

/** A constant-product pool: reserves in human units, the other side's price in USD. */
export interface ConstantProductPool {
  reserveToken: number;
  reserveQuote: number;
  quoteUsd: number;
}

/** Reads a `constant_product` body; null and faults where a field is wrong. */
export function readConstantProduct(
  body: Fields,
  path: string,
  faults: FaultLog,
): ConstantProductPool | null {
  const before = faults.count;
  const pool = {
    reserveToken: readNumber(body, 'reserve_token', NOT_NEGATIVE, path, faults),
    reserveQuote: readNumber(body, 'reserve_quote', NOT_NEGATIVE, path, faults),
    quoteUsd: readNumber(body, 'quote_usd', POSITIVE, path, faults),
  };
  return faults.count === before ? pool : null;
}

/**
 * Adds a pool's depth (data.md section 2, constant product) in USD to the ladder. A pool with an
 * empty side has no price and no depth: it adds nothing.
 */
export function addConstantProduct(into: LadderAccumulator, pool: ConstantProductPool): void {
  const { reserveToken, reserveQuote, quoteUsd } = pool;
  if (reserveToken === 0 || reserveQuote === 0) return;
  const liquidity = Math.sqrt(reserveToken * reserveQuote * quoteUsd);
  const sqrtPool = Math.sqrt((reserveQuote * quoteUsd) / reserveToken);
  const everywhere = { sqrtLow: 0, sqrtHigh: Infinity, usdPerSqrt: liquidity };
  addLiquidityRange(into, everywhere, Math.sqrt(into.priceUsd), sqrtPool, 0);
}
