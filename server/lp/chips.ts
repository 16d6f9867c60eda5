/** Marks of the pools that lead their token's pools this hour. */
import type { ChipKey } from '../../compute/lp/dlmm-board.js';

/** What each key's chip says. */
export const CHIP_DEFINITIONS: readonly { key: ChipKey; label: string; tip: string }[] = [
  {
    key: 'feesPerAvgTvl',
    label: 'Best fees per TVL',
    tip: "The most fees this hour for each dollar of the pool's TVL, of this token's pools.",
  },
  {
    key: 'rangeYield',
    label: 'Best range yield',
    tip: "The most fees this hour for each dollar of liquidity within the prices that the hour went through, of this token's pools.",
  },
  { key: 'fees', label: 'Most fees', tip: "The most fees this hour, of this token's pools." },
];
