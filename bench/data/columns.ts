/** A history as flat columns of dataset `cells`, as in bulk files. */
import { cellColumnsOfRows, type CellColumns } from '../../compute/ingest/cell-columns.js';
import { snapshotsOfCells, type TokenHistory } from './pages.js';

/** One row per cell, in the history's order. */
export function cellColumns({ run, markets }: TokenHistory): CellColumns {
  const snapshotOf = snapshotsOfCells(run);
  const rows = Array.from(run.bin, (bin, i) => {
    const { source, exchangeType, type, address, pair } = markets[run.market[i]];
    return {
      chain: run.chain,
      address: run.address,
      tier: run.tier,
      source,
      exchange_type: exchangeType,
      type,
      market_address: address,
      pair,
      t: run.t[snapshotOf[i]],
      price_usd: run.priceUsd[snapshotOf[i]],
      bin,
      support_usd: run.supportCents[i] / 100,
      resistance_usd: run.resistanceCents[i] / 100,
    };
  });
  return cellColumnsOfRows(rows);
}
