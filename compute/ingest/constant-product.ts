/** Constant-product pools as depth. */
import { addLiquidityRange, type LadderAccumulator } from './accumulator.js';
import { type FaultLog, type Fields, NOT_NEGATIVE, POSITIVE, readNumber } from './fields.js';

/** A constant-product pool: reserves in human units, and the other side's price in USD. */
interface ConstantProductBody {
  reserveToken: number;
  reserveQuote: number;
  quoteUsd: number;
}

/** Reads a `constant_product` body; null and faults if a field is wrong. */
export function readConstantProduct(
  body: Fields,
  path: string,
  faults: FaultLog,
): ConstantProductBody | null {
  const before = faults.count;
  const pool = {
    reserveToken: readNumber(body, 'reserve_token', NOT_NEGATIVE, path, faults),
    reserveQuote: readNumber(body, 'reserve_quote', NOT_NEGATIVE, path, faults),
    quoteUsd: readNumber(body, 'quote_usd', POSITIVE, path, faults),
  };
  return faults.count === before ? pool : null;
}

/**
 * Adds a pool's depth (docs/definitions.md#constant-product) in USD to the ladder. A pool with an
 * empty side has no price and no depth: it adds nothing.
 */
export function addConstantProduct(into: LadderAccumulator, pool: ConstantProductBody): void {
  const { reserveToken, reserveQuote, quoteUsd } = pool;
  if (reserveToken === 0 || reserveQuote === 0) return;
  const liquidity = Math.sqrt(reserveToken * reserveQuote * quoteUsd);
  const sqrtPool = Math.sqrt((reserveQuote * quoteUsd) / reserveToken);
  const everywhere = { sqrtLow: 0, sqrtHigh: Infinity, usdPerSqrt: liquidity };
  addLiquidityRange(into, everywhere, Math.sqrt(into.priceUsd), sqrtPool, 0);
}
