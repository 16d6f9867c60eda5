/** The board of DLMM pools (api.md 2.10, 4.11; data.md section 4, DLMM), by period. */
import { boardPeriod, type BoardPeriod } from './board-period.js';
import type { BoardRanges } from './board-ranges.js';
import { hourTable, type PoolHours } from './hour-table.js';
import { DLMM_PERIODS, PERIODS_H, type DlmmPeriod } from './hours.js';
import type { BoardPools } from './pool-sides.js';
import { inOrderOfAddress } from './rank.js';

export interface DlmmBoardInput {
  pools: BoardPools;
  /** In any order; hours outside the longest period and pools that are not in `pools` are left out. */
  hours: PoolHours;
  /** Of the pools with a market; the others have none. Worked out for `thisHourS`. */
  ranges: BoardRanges;
  thisHourS: number;
}

export interface DlmmBoard {
  thisHourS: number;
  /** By base token, as `pools.baseMints`: its pools in the store, with hours or without. */
  poolsOfBase: Uint32Array;
  periods: Record<DlmmPeriod, BoardPeriod>;
}

/** The pool's task: every period's board. */
export function dlmmBoard(input: DlmmBoardInput): DlmmBoard {
  const { pools, thisHourS } = input;
  const poolsOfBase = new Uint32Array(pools.baseMints.length);
  for (const base of pools.base) poolsOfBase[base]++;
  const table = hourTable(input);
  const byAddress = inOrderOfAddress(pools.pubkeys);
  const periods = DLMM_PERIODS.map((period, index) => [
    period,
    boardPeriod({ base: pools.base, baseCount: pools.baseMints.length, byAddress }, table, {
      hours: PERIODS_H[period],
      index,
    }),
  ]);
  return {
    thisHourS,
    poolsOfBase,
    periods: Object.fromEntries(periods) as Record<DlmmPeriod, BoardPeriod>,
  };
}
