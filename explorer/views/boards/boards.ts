/** The boards by their names in the address. */
import type { BoardName } from '../../state/url.js';
import { dcaPressure } from './dca-pressure.js';
import { dlmmPools } from './dlmm-pools.js';
import { feeDensity } from './fee-density.js';
import { orders } from './orders.js';
import { scores } from './scores.js';
import { whales } from './whales.js';

export const BOARD_SPECS = {
  scores,
  orders,
  'dca-pressure': dcaPressure,
  'dlmm-pools': dlmmPools,
  'fee-density': feeDensity,
  whales,
} as const satisfies Record<BoardName, unknown>;
