/** Valid rows of every dataset, which tests with random input damage. */
import { readFileSync } from 'node:fs';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { FLAT_ROWS } from '../support/flat.js';
import { cells, MINT, snapshot } from '../support/ingest.js';
import type { Json } from '../support/tables.js';

/** Epoch seconds of the first snapshots. */
export const T = 1_794_600_000;
const token = { chain: 'mainchain', address: MINT, symbol: 'SOL', name: 'Sol', decimals: 9 };
const { row: market } = JSON.parse(readFileSync('test/fixtures/binning/snapshot.json', 'utf8')) as {
  row: Json;
};

export const ROWS: Readonly<Record<Dataset, Json[]>> = {
  tokens: [
    token,
    { ...token, address: '0x00000000000000000000000000000000000000aa', chain: 'evmchain' },
  ],
  snapshots: [market, snapshot(T), snapshot(T + 60)],
  cells: [...cells(T), ...cells(T + 60)],
  levels: [T, T + 60].flatMap((t) =>
    ['bid', 'ask'].map((side) => ({
      chain: 'mainchain',
      address: MINT,
      t,
      tier: null,
      price_usd: null,
      source: 'Kraken',
      exchange_type: 'CEX',
      type: 'cex_spot',
      market_address: null,
      pair: 'A/B',
      quote_usd: 1,
      side,
      price: side === 'bid' ? 1.9 : 2.1,
      size: 500,
    })),
  ),
  dca_orders: [
    FLAT_ROWS.dca_orders(),
    FLAT_ROWS.dca_orders({ dca_address: 'dca-2', closed: true }),
  ],
  limit_orders: ['order-1', 'order-2'].map((order_address) =>
    FLAT_ROWS.limit_orders({ order_address, platform: 'uniswapx' }),
  ),
  holders: ['a', 'b'].map((owner) => ({ token_address: MINT, t: T, owner, balance: 2.5 })),
  dlmm_pools: [FLAT_ROWS.dlmm_pools(), FLAT_ROWS.dlmm_pools({ pubkey: 'pool-2' })],
  dlmm_hours: [FLAT_ROWS.dlmm_hours(), FLAT_ROWS.dlmm_hours({ pubkey: 'pool-2' })],
  token_hours: [FLAT_ROWS.token_hours()],
};
