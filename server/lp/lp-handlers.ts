/** The endpoints of the LP tools, answered from the boards in memory. */
import { dlmmPoolsHandler, type DlmmPoolsServices } from './dlmm-pools.js';
import { dlmmHandler, type DlmmServices } from './dlmm.js';
import { lpCheatSheetHandler, type LpCheatSheetServices } from './lp-cheat-sheet.js';

/** Makes the handlers of the LP tools. */
export function lpHandlers(services: DlmmServices & DlmmPoolsServices & LpCheatSheetServices) {
  return {
    getDlmm: dlmmHandler(services),
    getDlmmPools: dlmmPoolsHandler(services),
    getLpCheatSheet: lpCheatSheetHandler(services),
  };
}
