/** Chips: which of a token's pools leads by what this hour (api.md 2.9). */
import type { BoardPeriod } from './board-period.js';

export const CHIP_KEYS = ['feesPerAvgTvl', 'rangeYield', 'fees'] as const;
export type ChipKey = (typeof CHIP_KEYS)[number];

/**
 * The row that leads each key among `rows` of this hour's board: the greatest value, of equal ones
 * the first address. Null leads nothing, and neither does 0: no fees are nothing to lead by. A key
 * that nobody leads is left out.
 */
export function chipLeaders(
  hour: Pick<BoardPeriod, ChipKey>,
  rows: Iterable<number>,
): Partial<Record<ChipKey, number>> {
  const ascending = [...rows].sort((a, b) => a - b);
  const leaders: Partial<Record<ChipKey, number>> = {};
  for (const key of CHIP_KEYS) {
    let most = 0;
    for (const row of ascending) {
      if (!(hour[key][row] > most)) continue;
      most = hour[key][row];
      leaders[key] = row;
    }
  }
  return leaders;
}
