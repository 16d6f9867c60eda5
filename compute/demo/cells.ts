import { LadderAccumulator } from '../ingest/accumulator.js';
import { addConstantProduct } from '../ingest/constant-product.js';
import { MAX_BIN, MIN_BIN, centsOfUsd } from '../ladder.js';
import type { BookBody, CellLevel, ConstantProductBody } from './rows.js';

function cellsOf(ladder: LadderAccumulator, first: number, last: number): CellLevel[] {
  const cells: CellLevel[] = [];
  for (let bin = first; bin <= last; bin++) {
    const support = centsOfUsd(ladder.supportUsd[bin - MIN_BIN]) / 100;
    const resistance = centsOfUsd(ladder.resistanceUsd[bin - MIN_BIN]) / 100;
    if (support > 0 || resistance > 0) cells.push([bin, support, resistance]);
  }
  return cells;
}

/** A book as ready-made cells, the form in which some collectors hand over on-chain orders. */
export function cellsOfBook(book: BookBody, priceUsd: number): CellLevel[] {
  const ladder = new LadderAccumulator();
  ladder.reset(priceUsd);
  for (const [price, size] of book.bids) ladder.addLevel(ladder.supportUsd, price, price * size);
  for (const [price, size] of book.asks) ladder.addLevel(ladder.resistanceUsd, price, price * size);
  return cellsOf(ladder, MIN_BIN, MAX_BIN);
}

/** Constant-product pools together, in the bins from `first` to `last` alone. */
export function cellsOfPools(
  pools: readonly ConstantProductBody[],
  priceUsd: number,
  first: number,
  last: number,
): CellLevel[] {
  const ladder = new LadderAccumulator();
  ladder.reset(priceUsd);
  for (const { reserve_token, reserve_quote, quote_usd } of pools) {
    addConstantProduct(ladder, {
      reserveToken: reserve_token,
      reserveQuote: reserve_quote,
      quoteUsd: quote_usd,
    });
  }
  return cellsOf(ladder, first, last);
}
