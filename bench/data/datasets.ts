/**
 * Rows of the bots' tokens for every dataset except snapshots: each round has the same keys with different values.
 */
import { DAY_S } from '../../compute/time.js';
import { base58Address } from '../../demo/hash.js';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { dcaOrderRow, ROW_OF } from '../ingest/flat-lines.js';
import { botAddress, botSnapshotLine, botTokenLine } from './bots.js';
import { benchOrders } from './orders.js';
import { START_S } from './pages.js';

export const OTHER_DATASETS = [
  'tokens',
  'cells',
  'dca_orders',
  'limit_orders',
  'holders',
  'dlmm_pools',
  'dlmm_hours',
  'token_hours',
] as const satisfies readonly Dataset[];

/** Rows of a flat dataset per round; a tenth as many for pools, tokens and their hours. */
const ROWS = 500;
/** How many values the changing rows take over the rounds. */
const VALUES = 97;
/** Times of holders' snapshots, a day apart. */
const HOLDER_TIMES = 5;

export function datasetLines(dataset: (typeof OTHER_DATASETS)[number], round: number): string[] {
  const value = 1 + (round % VALUES);
  const rows = (row: (i: number) => object) =>
    Array.from({ length: ROWS }, (_, i) => JSON.stringify(row(i)));
  switch (dataset) {
    case 'tokens':
      return Array.from({ length: ROWS / 10 }, (_, i) =>
        JSON.stringify({ ...(JSON.parse(botTokenLine(i)) as object), mcap: value }),
      );
    case 'cells':
      return cellLines(botSnapshotLine(round % 10, START_S + 60));
    case 'dca_orders': {
      const orders = [0, 1, 2].flatMap(benchOrders);
      return rows((i) => ({ ...dcaOrderRow(orders[i]), remaining_usd: value }));
    }
    case 'limit_orders':
      return rows((i) => ({ ...ROW_OF.limit_orders(i), remaining_usd: value }));
    case 'holders': {
      const t = START_S - (round % HOLDER_TIMES) * DAY_S;
      return rows((i) => ({
        token_address: botAddress(0),
        t,
        owner: base58Address(`owner ${i}`),
        balance: value + i,
      }));
    }
    case 'dlmm_pools':
      return rows((i) => ({ ...ROW_OF.dlmm_pools(i), reserve_x: value }));
    case 'dlmm_hours':
      return rows((i) => ({ ...ROW_OF.dlmm_hours(i, ROWS), fees_usd: value }));
    case 'token_hours':
      return rows((i) => ({ ...ROW_OF.token_hours(i, ROWS), organic_volume_usd: value }));
  }
}

/** The rows of `cells` that are equivalent to a row of `snapshots`. */
function cellLines(snapshot: string): string[] {
  const { markets, ...head } = JSON.parse(snapshot) as { markets: Market[] } & object;
  return markets.flatMap(({ cells, address, ...market }) =>
    cells.map(([bin, support_usd, resistance_usd]) =>
      JSON.stringify({
        ...head,
        ...market,
        market_address: address,
        bin,
        support_usd,
        resistance_usd,
      }),
    ),
  );
}

interface Market {
  address: string | null;
  cells: [number, number, number][];
}
