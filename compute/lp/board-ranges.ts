/** The ranges of all base tokens' pools in one, as the board takes them. */
import { DLMM_PERIODS, LONGEST_PERIOD_H } from './hours.js';
import type { PoolRanges } from './pool-range.js';

/** Index `period * pubkeys.length + i` and `hour * pubkeys.length + i`, as in PoolRanges. */
export interface BoardRanges {
  pubkeys: string[];
  rangeTvlUsd: Float64Array;
  hourRangeTvlUsd: Float64Array;
}

/** What poolRanges gave of one base token: pool i of it is `pubkeys[i]`. */
export interface TokenRanges {
  pubkeys: readonly string[];
  ranges: Pick<PoolRanges, 'thisHourS' | 'rangeTvlUsd' | 'hourRangeTvlUsd'>;
}

/** Lays tokens' ranges side by side. @throws Error where one was worked out for another hour */
export function joinRanges(parts: readonly TokenRanges[], thisHourS: number): BoardRanges {
  const pubkeys = parts.flatMap((part) => part.pubkeys);
  const rangeTvlUsd = new Float64Array(DLMM_PERIODS.length * pubkeys.length);
  const hourRangeTvlUsd = new Float64Array(LONGEST_PERIOD_H * pubkeys.length);
  let at = 0;
  for (const { pubkeys: own, ranges } of parts) {
    if (ranges.thisHourS !== thisHourS) {
      throw new Error(`ranges of hour ${ranges.thisHourS}, board of hour ${thisHourS}`);
    }
    layInto(rangeTvlUsd, pubkeys.length, at, ranges.rangeTvlUsd, own.length);
    layInto(hourRangeTvlUsd, pubkeys.length, at, ranges.hourRangeTvlUsd, own.length);
    at += own.length;
  }
  return { pubkeys, rangeTvlUsd, hourRangeTvlUsd };
}

/** Copies a table of `width` columns into one of `intoWidth`, from column `at` on. */
function layInto(
  into: Float64Array,
  intoWidth: number,
  at: number,
  from: Float64Array,
  width: number,
): void {
  if (width === 0) return;
  for (let row = 0; row * width < from.length; row++) {
    into.set(from.subarray(row * width, (row + 1) * width), row * intoWidth + at);
  }
}
