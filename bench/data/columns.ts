/** A history as the flat columns of dataset `cells`, the way bulk files come. */
import type { CellColumns } from '../../compute/ingest/cell-columns.js';
import type { TokenHistory } from './pages.js';

/** One row a cell, in the history's order. */
export function cellColumns({ run, markets }: TokenHistory): CellColumns {
  const rows = run.bin.length;
  const snapshotOf = new Uint32Array(rows);
  for (let s = 0; s < run.t.length; s++) {
    snapshotOf.fill(s, run.cellOffsets[s], run.cellOffsets[s + 1]);
  }
  const numbers = (of: (i: number) => number) =>
    Float64Array.from({ length: rows }, (_, i) => of(i));
  const texts = (of: (i: number) => unknown) => Array.from({ length: rows }, (_, i) => of(i));
  return {
    chain: texts(() => run.chain),
    address: texts(() => run.address),
    tier: texts(() => run.tier),
    source: texts((i) => markets[run.market[i]].source),
    exchange_type: texts((i) => markets[run.market[i]].exchangeType),
    type: texts((i) => markets[run.market[i]].type),
    market_address: texts((i) => markets[run.market[i]].address),
    pair: texts((i) => markets[run.market[i]].pair),
    t: numbers((i) => run.t[snapshotOf[i]]),
    price_usd: numbers((i) => run.priceUsd[snapshotOf[i]]),
    bin: numbers((i) => run.bin[i]),
    support_usd: numbers((i) => run.supportCents[i] / 100),
    resistance_usd: numbers((i) => run.resistanceCents[i] / 100),
  };
}
