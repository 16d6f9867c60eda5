/** The tables `tokens` and `markets` in memory, with the venues; only commits change them. */
import {
  type Chain,
  type ExchangeType,
  type Market,
  marketKey,
  type MarketType,
  venueKey,
} from '../../compute/market.js';
import type { TokenRow } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import { byFirstColumn, type SqlRow } from '../duckdb/statements.js';
import { LargeMap } from '../../compute/large-map.js';

/** The row of a token that is known only from snapshots: its coverage is `full`. */
export function bareTokenRow(chain: Chain, address: string): TokenRow {
  return {
    chain,
    address,
    symbol: null,
    name: null,
    icon: null,
    decimals: null,
    asset: null,
    coverage: 'full',
    price_usd: null,
    mcap: null,
    liquidity_usd: null,
    last_refresh: null,
  };
}

/** Tokens of a store; a commit that would exceed this is refused. */
export const MAX_TOKENS = 1_000_000;

/** Columns of `tokens` after the token's id, in the table's order. */
export const TOKEN_COLUMNS = [
  'chain',
  'address',
  'symbol',
  'name',
  'icon',
  'decimals',
  'asset',
  'coverage',
  'price_usd',
  'mcap',
  'liquidity_usd',
  'last_refresh',
] as const satisfies readonly (keyof TokenRow)[];

/** A token. A commit that changes it replaces the whole entry. */
export interface TokenEntry {
  readonly tokenId: number;
  readonly row: TokenRow;
  /** In order of first arrival. */
  readonly markets: readonly Market[];
  /** Market key -> index. */
  readonly marketIndexes: ReadonlyMap<string, number>;
}

export const tokenKey = (chain: Chain, address: string): string => `${chain}:${address}`;

export class Catalog {
  private readonly byKey = new LargeMap<string, TokenEntry>();
  private readonly byId = new LargeMap<number, TokenEntry>();
  private readonly legs = new LargeMap<string, Map<Chain, TokenEntry>>();
  private readonly venues = new Map<string, MarketType>();
  /** The id that the next new token gets. */
  nextTokenId = 0;

  static async load(database: Database): Promise<Catalog> {
    const catalog = new Catalog();
    const marketRows = await database.rows(
      'SELECT token_id, source, exchange_type, type, address, pair FROM markets ORDER BY token_id, market_idx',
    );
    const rowsByToken = byFirstColumn(marketRows);
    const tokenRows = await database.rows(
      `SELECT token_id, ${TOKEN_COLUMNS.join(', ')} FROM tokens`,
    );
    for (const [tokenId, ...columns] of tokenRows) {
      const markets = (rowsByToken.get(tokenId as number) ?? []).map(marketOfColumns);
      catalog.put(tokenEntry(tokenId as number, rowOfColumns(columns), markets));
    }
    return catalog;
  }

  token(chain: Chain, address: string): TokenEntry | undefined {
    return this.byKey.get(tokenKey(chain, address));
  }

  tokenById(tokenId: number): TokenEntry | undefined {
    return this.byId.get(tokenId);
  }

  /** The leg of an asset on `chain`. */
  leg(asset: string, chain: Chain): TokenEntry | undefined {
    return this.legs.get(asset)?.get(chain);
  }

  /** The type of a venue's markets; undefined if none is known. */
  venueType(key: string): MarketType | undefined {
    return this.venues.get(key);
  }

  get tokenCount(): number {
    return this.byKey.size;
  }

  /** Adds a token, or replaces its earlier state. */
  put(entry: TokenEntry): void {
    const key = tokenKey(entry.row.chain, entry.row.address);
    const before = this.byKey.get(key);
    if (before !== undefined && before.row.asset !== null) {
      const legs = this.legs.get(before.row.asset);
      if (legs?.get(entry.row.chain) === before) legs.delete(entry.row.chain);
    }
    this.byKey.set(key, entry);
    this.byId.set(entry.tokenId, entry);
    this.nextTokenId = Math.max(this.nextTokenId, entry.tokenId + 1);
    if (entry.row.asset !== null) {
      const legs = this.legs.get(entry.row.asset) ?? new Map<Chain, TokenEntry>();
      legs.set(entry.row.chain, entry);
      this.legs.set(entry.row.asset, legs);
    }
    for (const market of entry.markets.slice(before?.markets.length ?? 0)) {
      this.venues.set(venueKey(market.source), market.type);
    }
  }
}

function tokenEntry(tokenId: number, row: TokenRow, markets: readonly Market[]): TokenEntry {
  return {
    tokenId,
    row,
    markets,
    marketIndexes: new Map(markets.map((market, index) => [marketKey(market), index])),
  };
}

function marketOfColumns(columns: SqlRow): Market {
  const [source, exchangeType, type, address, pair] = columns;
  return {
    source: source as string,
    exchangeType: exchangeType as ExchangeType,
    type: type as MarketType,
    address: address as string | null,
    pair: pair as string | null,
  };
}

/** @param columns in the order of TOKEN_COLUMNS */
function rowOfColumns(columns: SqlRow): TokenRow {
  const [chain, address] = columns as [Chain, string];
  const row: Record<keyof TokenRow, unknown> = bareTokenRow(chain, address);
  for (const [i, name] of TOKEN_COLUMNS.entries()) row[name] = columns[i];
  return row as TokenRow;
}
