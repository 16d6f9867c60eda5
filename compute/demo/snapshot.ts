import { binOfPrice } from '../ladder.js';
import { CONSTANT_PRODUCT_MARKET, type Tier } from '../market.js';
import { bookAt, WHOLE_BOOK, type Extent } from './book.js';
import { cellsOfBook, cellsOfPools } from './cells.js';
import { clmmAt } from './clmm.js';
import { constantProductAt } from './constant-product.js';
import { dlmmAt } from './dlmm.js';
import { hash, unit } from './hash.js';
import type { DemoMarket } from './markets.js';
import { poolMoment, tradedPrice, type PriceModel } from './price.js';
import type {
  ConstantProductBody,
  DemoMarketRow,
  DemoSnapshotRow,
  MarketBody,
  MarketHead,
} from './rows.js';
import type { DemoToken } from './tokens.js';

/** What an hourly snapshot keeps: about -25% to +22% around the price. */
const HOURLY_LOW = 0.75;
const HOURLY_HIGH = 1.22;
const HOURLY_EXTENT: Extent = { below: -Math.log(HOURLY_LOW), above: Math.log(HOURLY_HIGH) };
const HOURLY_FIRST_BIN = binOfPrice(HOURLY_LOW, 1);
const HOURLY_LAST_BIN = binOfPrice(HOURLY_HIGH, 1);

/** A venue's feed is down for one of these spans now and then. */
const OUTAGE_S = 600;
const OUTAGE_CHANCE = 0.002;

function isDown(market: DemoMarket, t: number): boolean {
  const key = hash(market.profile.key, 99);
  return unit(hash(key, Math.floor(t / OUTAGE_S))) < OUTAGE_CHANCE;
}

/** A moment of a token at which its markets are looked at. */
interface View {
  price: PriceModel;
  priceUsd: number;
  t: number;
  extent: Extent;
}

function bodyAt(market: DemoMarket, view: View): MarketBody {
  const { t, priceUsd, extent } = view;
  if (market.kind === 'book') return { book: bookAt(market.profile, priceUsd, t, extent) };
  if (market.kind === 'limit_orders') {
    return { cells: cellsOfBook(bookAt(market.profile, priceUsd, t, extent), priceUsd) };
  }
  const { key, feeBp, quote } = market.terms;
  const moment = poolMoment(key, feeBp, view.price, quote, t, priceUsd);
  switch (market.kind) {
    case 'clmm':
      return { clmm: clmmAt(market.profile, moment, extent) };
    case 'dlmm':
      return { dlmm: dlmmAt(market.profile, moment, extent) };
    case 'constant_product':
      return { constant_product: constantProductAt(market.profile, moment) };
  }
}

const CONSTANT_PRODUCT_HEAD: MarketHead = {
  source: CONSTANT_PRODUCT_MARKET.source,
  exchange_type: CONSTANT_PRODUCT_MARKET.exchangeType,
  type: CONSTANT_PRODUCT_MARKET.type,
  address: CONSTANT_PRODUCT_MARKET.address,
  pair: CONSTANT_PRODUCT_MARKET.pair,
};

/** Constant-product pools reach everywhere: an hourly snapshot keeps their cells near the price. */
function narrowed(rows: DemoMarketRow[], priceUsd: number): DemoMarketRow[] {
  const pools: ConstantProductBody[] = [];
  const others = rows.filter((row) => {
    if ('constant_product' in row) pools.push(row.constant_product);
    return !('constant_product' in row);
  });
  if (pools.length === 0) return rows;
  const cells = cellsOfPools(pools, priceUsd, HOURLY_FIRST_BIN, HOURLY_LAST_BIN);
  return [...others, { ...CONSTANT_PRODUCT_HEAD, cells }];
}

/**
 * The row of dataset `snapshots` of one token at one moment: its price and every market's raw
 * state (hourly ones cut to a narrow range). A pure function of the token (hence of the seed), the
 * time and the tier.
 * @param t epoch seconds, one of `demoSnapshotTimes`.
 * @throws RangeError where the token has no price and so no snapshots.
 */
export function demoSnapshotRow(token: DemoToken, t: number, tier: Tier): DemoSnapshotRow {
  if (token.price === null) throw new RangeError(`${token.symbol} has no price and no snapshots`);
  const extent = tier === '1h' ? HOURLY_EXTENT : WHOLE_BOOK;
  const priceUsd = tradedPrice(token.price, t);
  const view = { price: token.price, priceUsd, t, extent };
  const rows = token.markets
    .filter((market, index) => index === 0 || !isDown(market, t))
    .map((market): DemoMarketRow => ({ ...market.head, ...bodyAt(market, view) }));
  const markets = tier === '1h' ? narrowed(rows, priceUsd) : rows;
  return { chain: token.chain, address: token.address, t, tier, price_usd: priceUsd, markets };
}
