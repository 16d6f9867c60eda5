/** What a transaction is about to change, kept apart from the catalogue until it has committed. */
import {
  MAX_MARKETS_PER_TOKEN,
  marketKey,
  venueKey,
  type Chain,
  type Market,
  type MarketType,
  type Tier,
} from '../../compute/market/market.js';
import { MAX_TOKENS, tokenEntry, tokenKey, type Catalog } from '../catalog/catalog.js';
import type { Directories } from '../catalog/directories.js';
import type { SegmentRef } from '../catalog/directory.js';
import { bareTokenRow, type TokenRow } from '../catalog/token-row.js';
import type { Statements } from '../duckdb/database.js';
import { InputError } from '../errors.js';

/** A token as the transaction leaves it. */
export interface StagedToken {
  readonly tokenId: number;
  row: TokenRow;
  readonly markets: Market[];
  readonly marketIndexes: Map<string, number>;
  /** Null until its depth is touched. */
  directory: Record<Tier, SegmentRef[]> | null;
}

export class Stage {
  private readonly tokens = new Map<string, StagedToken>();
  private readonly venues = new Map<string, MarketType>();
  private newTokens = 0;

  constructor(
    private readonly catalog: Catalog,
    private readonly directories: Directories,
    readonly tx: Statements,
  ) {}

  /** The staged state of a token; a token without a record gets one. */
  async token(chain: Chain, address: string): Promise<StagedToken> {
    const key = tokenKey(chain, address);
    const staged = this.tokens.get(key) ?? (await this.stageToken(chain, address));
    this.tokens.set(key, staged);
    return staged;
  }

  /**
   * Two tokens of one chain that would be legs of one asset, or null. To be asked when every row of
   * the transaction is put: a row may free the place that an earlier one takes.
   */
  legConflict(): { asset: string; rows: [TokenRow, TokenRow] } | null {
    const legs = new Map<string, TokenRow>();
    for (const { row } of this.tokens.values()) {
      if (row.asset === null) continue;
      const place = `${row.chain}:${row.asset}`;
      const other = legs.get(place) ?? this.unstagedLeg(row.asset, row.chain);
      if (other !== undefined) return { asset: row.asset, rows: [other, row] };
      legs.set(place, row);
    }
    return null;
  }

  /** Writes a token's row over what is known of it. */
  async putRow(row: TokenRow): Promise<void> {
    const staged = await this.token(row.chain, row.address);
    staged.row = row;
    await writeTokenRow(this.tx, staged.tokenId, row);
  }

  /**
   * Indexes of markets within their token, new ones appended in the order given.
   * @throws InputError where a venue's type contradicts the store's, or a token has too many
   */
  async marketIndexes(token: StagedToken, markets: readonly Market[]): Promise<Uint16Array> {
    const indexes = new Uint16Array(markets.length);
    for (const [i, market] of markets.entries()) {
      this.checkVenue(market);
      const key = marketKey(market);
      let index = token.marketIndexes.get(key);
      if (index === undefined) {
        index = token.markets.length;
        if (index >= MAX_MARKETS_PER_TOKEN) {
          throw new InputError(
            `markets: ${token.row.address} would have more than ${MAX_MARKETS_PER_TOKEN} markets`,
          );
        }
        token.markets.push(market);
        token.marketIndexes.set(key, index);
        await this.tx.run('INSERT INTO markets VALUES (?, ?, ?, ?, ?, ?, ?)', [
          token.tokenId,
          index,
          market.source,
          market.exchangeType,
          market.type,
          market.address,
          market.pair,
        ]);
      }
      indexes[i] = index;
    }
    return indexes;
  }

  /** The token's directory, to be changed by the transaction. */
  async directory(token: StagedToken): Promise<Record<Tier, SegmentRef[]>> {
    if (token.directory === null) {
      const stored = await this.directories.get(token.tokenId);
      token.directory = {
        raw: [...stored.raw],
        '15m': [...stored['15m']],
        '1h': [...stored['1h']],
      };
    }
    return token.directory;
  }

  /** Makes the committed state the one that readers see. */
  publish(): void {
    for (const { tokenId, row, markets, directory } of this.tokens.values()) {
      this.catalog.put(tokenEntry(tokenId, row, markets));
      if (directory !== null) this.directories.publish(tokenId, directory);
    }
  }

  /** Tokens that the transaction touched. */
  get touched(): Iterable<StagedToken> {
    return this.tokens.values();
  }

  private async stageToken(chain: Chain, address: string): Promise<StagedToken> {
    const stored = this.catalog.token(chain, address);
    if (stored !== undefined) {
      return {
        tokenId: stored.tokenId,
        row: stored.row,
        markets: [...stored.markets],
        marketIndexes: new Map(stored.marketIndexes),
        directory: null,
      };
    }
    if (this.catalog.tokenCount + this.newTokens >= MAX_TOKENS) {
      throw new InputError(`address: the store would have more than ${MAX_TOKENS} tokens`);
    }
    const tokenId = this.catalog.nextTokenId + this.newTokens++;
    const row = bareTokenRow(chain, address);
    await writeTokenRow(this.tx, tokenId, row);
    return {
      tokenId,
      row,
      markets: [],
      marketIndexes: new Map(),
      directory: { raw: [], '15m': [], '1h': [] },
    };
  }

  private unstagedLeg(asset: string, chain: Chain): TokenRow | undefined {
    const stored = this.catalog.leg(asset, chain);
    if (stored === undefined) return undefined;
    return this.tokens.has(tokenKey(chain, stored.row.address)) ? undefined : stored.row;
  }

  private checkVenue(market: Market): void {
    const key = venueKey(market.source);
    const known = this.venues.get(key) ?? this.catalog.venueType(key);
    if (known === undefined) this.venues.set(key, market.type);
    else if (known !== market.type) {
      throw new InputError(
        `markets.type: venue ${key} is ${known} in the store, not ${market.type}`,
      );
    }
  }
}

async function writeTokenRow(tx: Statements, tokenId: number, row: TokenRow): Promise<void> {
  await tx.run(
    `INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (token_id) DO UPDATE SET symbol = EXCLUDED.symbol, name = EXCLUDED.name,
       icon = EXCLUDED.icon, decimals = EXCLUDED.decimals, asset = EXCLUDED.asset,
       coverage = EXCLUDED.coverage, price_usd = EXCLUDED.price_usd, mcap = EXCLUDED.mcap,
       liquidity_usd = EXCLUDED.liquidity_usd, last_refresh = EXCLUDED.last_refresh`,
    [
      tokenId,
      row.chain,
      row.address,
      row.symbol,
      row.name,
      row.icon,
      row.decimals,
      row.asset,
      row.coverage,
      row.price_usd,
      row.mcap,
      row.liquidity_usd,
      row.last_refresh,
    ],
  );
}
