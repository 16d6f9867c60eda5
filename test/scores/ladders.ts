/** Random ladders, and simple ones in the columns that Fathom keeps. */
import fc from 'fast-check';
import type { SnapshotCells } from '../../compute/segment/snapshots.js';
import type { Market } from '../../compute/market.js';
import { narrowCents } from '../../compute/segment/run.js';
import type { PlainLadderMarket } from '../reference/score.js';

const VENUES = [
  { source: 'Orca', exchangeType: 'DEX', type: 'onchain_pool' },
  { source: 'constant-product', exchangeType: 'DEX', type: 'onchain_pool' },
  { source: 'Phoenix v1', exchangeType: 'DEX', type: 'onchain_limit_order' },
  { source: 'Binance', exchangeType: 'CEX', type: 'cex_spot' },
  { source: 'Binance Perps', exchangeType: 'CEX', type: 'cex_perp' },
] as const satisfies Omit<PlainLadderMarket, 'cells'>[];

/** Some markets of the five kinds, each with some cells of at least one dollar. */
export function plainMarkets(): fc.Arbitrary<PlainLadderMarket[]> {
  const cents = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 900_000_00 }));
  const bin = fc.oneof(fc.integer({ min: -35, max: 30 }), fc.integer({ min: -232, max: 242 }));
  const cell = fc
    .record({ bin, support: cents, resistance: cents })
    .filter(({ support, resistance }) => support + resistance >= 100);
  const market = fc.record({
    venue: fc.constantFrom(...VENUES),
    cells: fc.uniqueArray(cell, { maxLength: 25, selector: (one) => one.bin }),
  });
  return fc
    .array(market, { maxLength: 6 })
    .map((markets) => markets.map(({ venue, cells }) => ({ ...venue, cells })));
}

export function marketsOf(markets: readonly PlainLadderMarket[]): Market[] {
  return markets.map(({ source, exchangeType, type }, index) => ({
    source,
    exchangeType,
    type,
    address: `market-${index}`,
    pair: null,
  }));
}

/** The columns of a snapshot; market `m` has index `m`. */
export function cellsOf(markets: readonly PlainLadderMarket[], priceUsd = 2.5): SnapshotCells {
  const cells = markets.flatMap((market, index) =>
    [...market.cells].sort((a, b) => a.bin - b.bin).map((cell) => ({ ...cell, index })),
  );
  const cents = (side: 'support' | 'resistance') =>
    narrowCents(
      cells.map((cell) => cell[side]),
      cells.length,
    );
  return {
    t: 1_794_659_696,
    priceUsd,
    market: Uint16Array.from(cells, (cell) => cell.index),
    bin: Int16Array.from(cells, (cell) => cell.bin),
    supportCents: cents('support'),
    resistanceCents: cents('resistance'),
  };
}
