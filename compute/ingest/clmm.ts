/** Concentrated-liquidity pools as depth. */
import { BIN_COUNT } from '../ladder.js';
import { addLiquidityRange, type LadderAccumulator } from './accumulator.js';
import {
  DECIMALS,
  type FaultLog,
  type Fields,
  isTuple,
  MAX_TICK,
  POSITIVE,
  readList,
  readNumber,
} from './fields.js';

/** A pool as in Uniswap v3. */
export interface ClmmBody {
  /** Square root of the raw price of token0 in token1 (without the 2^96). */
  sqrtPriceRaw: number;
  /** Ascending. */
  ticks: Int32Array;
  /** Raw liquidity from tick `i` to tick `i + 1`, never negative; the last entry is not used. */
  liquidity: Float64Array;
  /** The first tick at which the liquidity falls below 0; null if it never does. */
  negativeAt: number | null;
  decimals0: number;
  decimals1: number;
  /** Which of the two is the ladder's token. */
  token: 0 | 1;
  /** Price in USD of the other side. */
  quoteUsd: number;
}

const TWO_96 = 2 ** 96;
const UINT160_LIMIT = 1n << 160n;
const INT128_LIMIT = 1n << 127n;
const UNSIGNED_DECIMAL = /^[0-9]{1,49}$/;
const SIGNED_DECIMAL = /^-?[0-9]{1,39}$/;
/** ln(1.0001) / 2, to the last digit: a tick's square root is `exp(tick * this)` without drift. */
const HALF_LN_TICK = Math.log1p(0.0001) / 2;

/** Reads a `clmm` body; null and faults if a field is wrong. */
export function readClmm(body: Fields, path: string, faults: FaultLog): ClmmBody | null {
  const before = faults.count;
  const sqrtPriceRaw = readSqrtPrice(body, path, faults);
  const steps = readTicks(body, path, faults);
  const decimals0 = readNumber(body, 'decimals0', DECIMALS, path, faults);
  const decimals1 = readNumber(body, 'decimals1', DECIMALS, path, faults);
  const token = body.token;
  if (token !== 0 && token !== 1) faults.add(`${path}.token`, 'must be 0 or 1');
  const quoteUsd = readNumber(body, 'quote_usd', POSITIVE, path, faults);
  if (faults.count !== before || steps === null) return null;
  return { sqrtPriceRaw, ...steps, decimals0, decimals1, token: token as 0 | 1, quoteUsd };
}

function readSqrtPrice(body: Fields, path: string, faults: FaultLog): number {
  const text = body.sqrt_price_x96;
  if (typeof text === 'string' && UNSIGNED_DECIMAL.test(text)) {
    const value = BigInt(text);
    if (value > 0n && value < UINT160_LIMIT) return Number(value) / TWO_96;
  }
  faults.add(`${path}.sqrt_price_x96`, 'must be a decimal string, > 0 and below 2^160');
  return NaN;
}

/**
 * Ticks and the running sum of `liquidity_net`, exact until it is converted to a double. Inconsistent
 * chain data can make the sum negative: the pool then holds nothing there, and the sum continues.
 */
function readTicks(
  body: Fields,
  path: string,
  faults: FaultLog,
): Pick<ClmmBody, 'ticks' | 'liquidity' | 'negativeAt'> | null {
  const list = readList(body, 'ticks', path, faults);
  if (list === null) return null;
  const ticks = new Int32Array(list.length);
  const liquidity = new Float64Array(list.length);
  let negativeAt: number | null = null;
  let running = 0n;
  let previous = -Infinity;
  for (let i = 0; i < list.length; i++) {
    const entry = list[i];
    const problem = tickProblem(entry, previous);
    if (problem !== null) {
      faults.add(`${path}.ticks[${i}]`, problem);
      continue;
    }
    const [tick, net] = entry as [number, string];
    ticks[i] = previous = tick;
    running += BigInt(net);
    liquidity[i] = running > 0n ? Number(running) : 0;
    if (running < 0n) negativeAt ??= tick;
  }
  return { ticks, liquidity, negativeAt };
}

function tickProblem(entry: unknown, previous: number): string | null {
  if (!isTuple(entry, 2)) return 'must be [tick, liquidity_net]';
  const [tick, net] = entry;
  if (typeof tick !== 'number' || !Number.isInteger(tick) || Math.abs(tick) > MAX_TICK) {
    return `tick must be an integer from -${MAX_TICK} to ${MAX_TICK}`;
  }
  if (tick <= previous) return `ticks must ascend: ${tick} follows ${previous}`;
  if (typeof net !== 'string' || !SIGNED_DECIMAL.test(net) || !fitsInt128(BigInt(net))) {
    return 'liquidity_net must be a decimal string of a signed 128-bit integer';
  }
  return null;
}

function fitsInt128(value: bigint): boolean {
  return value < INT128_LIMIT && value >= -INT128_LIMIT;
}

/**
 * Adds a pool's depth (docs/definitions.md#clmm) in USD to the ladder: one upward walk over ticks and
 * bins together, in square roots of the token's price in the other token.
 */
export function addClmm(into: LadderAccumulator, pool: ClmmBody): void {
  const { ticks, liquidity, quoteUsd } = pool;
  const inverted = pool.token === 1;
  const sign = inverted ? -1 : 1;
  const sqrtUnit = Math.pow(10, (sign * (pool.decimals0 - pool.decimals1)) / 2);
  const human = Math.pow(10, (pool.decimals0 + pool.decimals1) / 2);
  const sqrtScale = Math.sqrt(into.priceUsd) / Math.sqrt(quoteUsd);
  const sqrtPool = (inverted ? 1 / pool.sqrtPriceRaw : pool.sqrtPriceRaw) * sqrtUnit;
  const sqrtOfTick = (i: number): number => Math.exp(sign * ticks[i] * HALF_LN_TICK) * sqrtUnit;
  const last = ticks.length - 1;
  const range = { sqrtLow: 0, sqrtHigh: 0, usdPerSqrt: 0 };
  for (let step = 0, bin = 0; step < last && bin < BIN_COUNT; step++) {
    const i = inverted ? last - 1 - step : step;
    if (liquidity[i] === 0) continue;
    range.sqrtLow = sqrtOfTick(inverted ? i + 1 : i);
    range.sqrtHigh = sqrtOfTick(inverted ? i : i + 1);
    range.usdPerSqrt = (liquidity[i] / human) * quoteUsd;
    bin = addLiquidityRange(into, range, sqrtScale, sqrtPool, bin);
  }
}
