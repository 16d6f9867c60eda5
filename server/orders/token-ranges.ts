/** Ranges of market cap and Support Liquidity that a request keeps tokens by. */
import type { Static, TObject } from 'typebox';
import { invalidParameter } from '../api/errors.js';
import type { LiveToken } from '../tokens/token-table.js';
import type { tokenRanges } from '../tokens/size-range-fields.js';

/** The parameters as read; what was not sent is undefined. */
export type RangeParameters = Static<TObject<typeof tokenRanges>>;

/** USD, both ends included; undefined: open. */
interface Range {
  min: number | undefined;
  max: number | undefined;
}

export interface TokenRanges {
  mcap: Range;
  liquidity: Range;
}

/** @throws ApiError 400 invalid_parameter where a least is above its most */
export function readTokenRanges(query: RangeParameters): TokenRanges {
  return {
    mcap: range('mcap', query.min_mcap, query.max_mcap),
    liquidity: range('liquidity', query.min_liquidity, query.max_liquidity),
  };
}

/** Whether a token lies within every range that was sent; what is not known of it does not. */
export function isWithinRanges(
  { details, newest }: Pick<LiveToken, 'details' | 'newest'>,
  { mcap, liquidity }: TokenRanges,
): boolean {
  return isWithin(details.mcap, mcap) && isWithin(newest?.supportLiquidityUsd ?? null, liquidity);
}

function range(name: string, min: number | undefined, max: number | undefined): Range {
  if (min !== undefined && max !== undefined && min > max) {
    throw invalidParameter(`min_${name}`, `expected at most max_${name}, ${max}; was ${min}`);
  }
  return { min, max };
}

function isWithin(value: number | null, { min, max }: Range): boolean {
  if (min === undefined && max === undefined) return true;
  return value !== null && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
}
