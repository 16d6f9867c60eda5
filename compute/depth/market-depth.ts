/** Price levels of a snapshot, and their totals (docs/definitions.md#market-depth). */
import { BIN_COUNT, BIN_FACTORS, type BinRange, binsOfBand, MIN_BIN } from '../ladder.js';
import {
  CONSTANT_PRODUCT_MARKET,
  EXCHANGE_TYPES,
  type ExchangeType,
  type Market,
  venueKey,
} from '../market.js';
import type { SnapshotCells } from '../segment/snapshots.js';

type DepthFilter = ExchangeType | 'ALL';

export interface DepthQuery {
  exchangeType: DepthFilter;
  /** Fractions of the price: a bin is kept if `1 + low <= 1.01^b <= 1 + high`. */
  lowChange: number;
  highChange: number;
  /** USD per unit of the currency; amounts and prices are divided by it. */
  usdPerUnit: number;
}

/** A bin; amounts in the query's currency. */
interface DepthLevel {
  price: number;
  /** Without constant-product. */
  support: number;
  resistance: number;
  /** Support + resistance of the constant-product market. */
  constant_product: number;
}

interface DepthSummary {
  by_exchange_type: { exchange_type: ExchangeType; support: number; resistance: number }[];
  by_source: { source: string; support: number; resistance: number }[];
  constant_product: number;
}

/**
 * The bins between two fractions of the price, with the ladder's tolerance at both ends: a request for
 * the price of a level in a reply returns that level.
 */
export function binsOfChange(lowChange: number, highChange: number): BinRange {
  return binsOfBand(lowChange * 100, highChange * 100);
}

/** Whether the market is the sum of a token's constant-product pools. */
const isConstantProduct = (market: Market): boolean =>
  venueKey(market.source) === CONSTANT_PRODUCT_MARKET.source;

const isKept = (market: Market, filter: DepthFilter): boolean =>
  filter === 'ALL' || market.exchangeType === filter;

/** The exchange type that has all of the depth, if the filter excludes all of it; otherwise null. */
export function otherExchangeType(
  cells: SnapshotCells,
  markets: readonly Market[],
  filter: DepthFilter,
): ExchangeType | null {
  if (filter === 'ALL' || cells.market.length === 0) return null;
  const hasOwn = cells.market.some((index) => markets[index].exchangeType === filter);
  return hasOwn ? null : markets[cells.market[0]].exchangeType;
}

/** Sums of `depthLevels` by bin, in cents. They are reused: four new arrays would take longer than summing the cells. */
const support = new Float64Array(BIN_COUNT);
const resistance = new Float64Array(BIN_COUNT);
const constantProduct = new Float64Array(BIN_COUNT);
/** Whether a market has a cell in the bin. */
const held = new Uint8Array(BIN_COUNT);

/** One level per nonempty bin in the range, ascending by price. */
export function depthLevels(
  cells: SnapshotCells,
  markets: readonly Market[],
  query: DepthQuery,
): DepthLevel[] {
  for (const sums of [support, resistance, constantProduct, held]) sums.fill(0);
  const range = binsOfChange(query.lowChange, query.highChange);
  forEachMarket(cells, markets, query.exchangeType, (market, from, to) => {
    const pooled = isConstantProduct(market);
    for (let i = from; i < to; i++) {
      const b = cells.bin[i] - MIN_BIN;
      held[b] = 1;
      if (pooled) constantProduct[b] += cells.supportCents[i] + cells.resistanceCents[i];
      else {
        support[b] += cells.supportCents[i];
        resistance[b] += cells.resistanceCents[i];
      }
    }
  });
  const levels: DepthLevel[] = [];
  for (let bin = range.first; bin <= range.last; bin++) {
    const b = bin - MIN_BIN;
    if (held[b] === 0) continue;
    levels.push({
      price: (cells.priceUsd * BIN_FACTORS[b]) / query.usdPerUnit,
      support: amountOf(support[b], query),
      resistance: amountOf(resistance[b], query),
      constant_product: amountOf(constantProduct[b], query),
    });
  }
  return levels;
}

/**
 * Totals over the same markets and bins, by exchange type and by source (as imported, in code unit order),
 * without constant product; entries without depth in the range are left out.
 */
export function depthSummary(
  cells: SnapshotCells,
  markets: readonly Market[],
  query: DepthQuery,
): DepthSummary {
  const range = binsOfChange(query.lowChange, query.highChange);
  const byType = new Map<ExchangeType, Total>();
  const bySource = new Map<string, Total>();
  let pooledCents = 0;
  forEachMarket(cells, markets, query.exchangeType, (market, from, to) => {
    const total = { support: 0, resistance: 0 };
    for (let i = from; i < to; i++) {
      if (cells.bin[i] < range.first || cells.bin[i] > range.last) continue;
      total.support += cells.supportCents[i];
      total.resistance += cells.resistanceCents[i];
    }
    if (isConstantProduct(market)) pooledCents += total.support + total.resistance;
    else if (total.support + total.resistance > 0) {
      addTotal(byType, market.exchangeType, total);
      addTotal(bySource, market.source, total);
    }
  });
  const amounts = ({ support, resistance }: Total) => ({
    support: amountOf(support, query),
    resistance: amountOf(resistance, query),
  });
  return {
    by_exchange_type: EXCHANGE_TYPES.flatMap((exchangeType) => {
      const total = byType.get(exchangeType);
      return total === undefined ? [] : [{ exchange_type: exchangeType, ...amounts(total) }];
    }),
    by_source: [...bySource]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([source, total]) => ({ source, ...amounts(total) })),
    constant_product: amountOf(pooledCents, query),
  };
}

/** In cents. */
interface Total {
  support: number;
  resistance: number;
}

function addTotal<K>(totals: Map<K, Total>, key: K, { support, resistance }: Total): void {
  const total = totals.get(key);
  if (total === undefined) totals.set(key, { support, resistance });
  else {
    total.support += support;
    total.resistance += resistance;
  }
}

/** Calls `body` with each kept market that has cells, and their indexes: `from <= i < to`. */
function forEachMarket(
  cells: SnapshotCells,
  markets: readonly Market[],
  filter: DepthFilter,
  body: (market: Market, from: number, to: number) => void,
): void {
  for (let from = 0; from < cells.market.length;) {
    const index = cells.market[from];
    let to = from + 1;
    while (to < cells.market.length && cells.market[to] === index) to++;
    if (isKept(markets[index], filter)) body(markets[index], from, to);
    from = to;
  }
}

const amountOf = (cents: number, { usdPerUnit }: DepthQuery): number => cents / 100 / usdPerUnit;
