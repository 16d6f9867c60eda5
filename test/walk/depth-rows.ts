/** Random rows of `snapshots`, `cells` and `levels`, and what they bring. */
import { type Chain, type ExchangeType, type MarketType, type Tier } from '../../compute/market.js';
import { MAX_BIN, MIN_BIN, MIN_CELL_CENTS } from '../../compute/ladder.js';
import { marketName } from '../../storage/depth/market-names.js';
import { type Brought, depthRow, depthText, snapshotName } from './model.js';

/** A random whole number below an end. */
export type Below = (end: number) => number;

interface MarketRow {
  source: string;
  exchange_type: ExchangeType;
  type: MarketType;
  address: string | null;
  pair: string | null;
  /** `[bin, support, resistance]` in USD. */
  cells: number[][];
}

/** A row of `snapshots`. */
export interface SnapshotRow {
  chain: Chain;
  address: string;
  t: number;
  tier: Tier;
  price_usd: number;
  markets: MarketRow[];
}

const AMM = { exchange_type: 'DEX', type: 'onchain_pool' } as const;
const CEX = { exchange_type: 'CEX', type: 'cex_spot', address: null } as const;
const BOOK = { exchange_type: 'DEX', type: 'onchain_limit_order', address: null } as const;
/** Some share a venue; one has neither address nor pair. */
const MARKETS: Omit<MarketRow, 'cells'>[] = [
  { ...AMM, source: 'Orca', address: 'pool-1', pair: 'A/B' },
  { ...AMM, source: 'Orca', address: 'pool-2', pair: null },
  { ...AMM, source: 'orca!', address: 'pool-1', pair: null },
  { ...BOOK, source: 'Phoenix', pair: 'A/B' },
  { ...CEX, source: 'Binance', pair: 'A/USDT' },
  { ...CEX, source: 'Binance', pair: null },
];
const MOST_MARKETS = 4;
/** Tells a file's amounts from those of every other one. */
const OWN_BIN = 3;
/** The market of files with one. */
const ONE_MARKET = { ...AMM, source: 'Orca', address: 'p', pair: null };
const FIRST_BIN = -12;

const nameOf = ({ exchange_type: exchangeType, ...rest }: Omit<MarketRow, 'cells'>) =>
  marketName({ ...rest, exchangeType });

export const chainOf = (address: string): Chain =>
  address.startsWith('0x') ? 'evmchain' : 'mainchain';

/** A snapshot of one market, whose every amount is the file's number of cents, above the least that is stored. */
export function evenSnapshot(n: number, address: string, t: number, bins: number): SnapshotRow {
  const usd = (MIN_CELL_CENTS + n) / 100;
  const cells = Array.from({ length: bins }, (_, i) => [FIRST_BIN + i, usd, usd]);
  const markets = [{ ...ONE_MARKET, cells }];
  return { chain: chainOf(address), address, t, tier: 'raw', price_usd: n, markets };
}

/** The same snapshot as rows of `cells` or `levels`. */
export function flatRows(row: SnapshotRow, dataset: 'cells' | 'levels'): object[] {
  const { markets, ...head } = row;
  return markets.flatMap(({ cells, address, ...market }) =>
    cells.flatMap(([bin, support, resistance]): object[] => {
      const flat = { ...head, ...market, market_address: address };
      if (dataset === 'cells') {
        return [{ ...flat, bin, support_usd: support, resistance_usd: resistance }];
      }
      const price = head.price_usd * 1.01 ** bin;
      return [
        { ...flat, side: 'ask', price, size: resistance / price },
        { ...flat, side: 'bid', price, size: support / price },
      ];
    }),
  );
}

interface Shape {
  /** Whether markets and snapshots may be without cells. */
  hasEmpty: boolean;
}

/** Markets with a few cells; some amounts are below the least stored one, some bins outside the ladder. */
export function someMarkets(n: number, below: Below, { hasEmpty }: Shape): MarketRow[] {
  const picked = MARKETS.map((market) => ({ market, at: below(1000) }))
    .sort((a, b) => a.at - b.at)
    .slice(0, hasEmpty ? below(MOST_MARKETS + 1) : 1 + below(MOST_MARKETS));
  return picked.map(({ market }) => {
    const cells = new Map<number, number[]>();
    for (let i = below(4); i > 0; i--) {
      const bin = below(521) - 260;
      cells.set(bin, [bin, someUsd(below), someUsd(below)]);
    }
    if (!hasEmpty || below(3) > 0) {
      cells.set(OWN_BIN, [OWN_BIN, (MIN_CELL_CENTS + n) / 100, 0]);
    }
    return { ...market, cells: [...cells.values()] };
  });
}

/** Some exceed 32 bits of cents, which widens a segment's columns. */
const someUsd = (below: Below): number => (below(4) === 0 ? below(9e9) : below(300)) / 100;

export function snapshotRow(
  address: string,
  t: number,
  rest: Pick<SnapshotRow, 'tier' | 'price_usd' | 'markets'>,
): SnapshotRow {
  return { chain: chainOf(address), address, t, ...rest };
}

/** What a file of these rows brings: a later row of a snapshot replaces an earlier one, or is merged into it. */
export function broughtBy(rows: readonly SnapshotRow[], merge: boolean): Brought {
  const brought = new Map<string, Map<string, string | null>>();
  const snapshots = new Map<string, number>();
  const arrivals: [string, string][] = [];
  for (const { address, t, tier, price_usd: price, markets } of rows) {
    const name = snapshotName(address, t, tier);
    const own = (merge ? brought.get(name) : undefined) ?? new Map<string, string | null>();
    for (const market of markets) {
      const cells = market.cells.flatMap(([bin, support, resistance]) => {
        const cents = [Math.round(support * 100), Math.round(resistance * 100)];
        const isStored = bin >= MIN_BIN && bin <= MAX_BIN && cents[0] + cents[1] >= MIN_CELL_CENTS;
        return isStored ? [[bin, ...cents]] : [];
      });
      own.set(depthRow(name, nameOf(market)), cells.length > 0 ? depthText(price, cells) : null);
      arrivals.push([address, nameOf(market)]);
    }
    brought.set(name, own);
    snapshots.set(name, price);
  }
  const all = [...brought.values()].flatMap((own) => [...own]);
  return { rows: new Map(all), snapshots, arrivals };
}
