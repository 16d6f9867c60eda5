/** The tokens, markets and segments that a transaction changes; readers see the changes once it has committed. */
import {
  type Chain,
  type Market,
  marketKey,
  type MarketType,
  MAX_MARKETS_PER_TOKEN,
  type Tier,
  venueKey,
} from '../../compute/market.js';
import type { ArchivedDay } from '../archive/archived-day.js';
import type { TokenRow } from '../contract.js';
import type { SqlValue, Statements } from '../duckdb/statements.js';
import { RefusalError } from '../errors.js';
import { LargeMap } from '../../compute/large-map.js';
import { Turns } from '../turns.js';
import {
  bareTokenRow,
  type Catalog,
  MAX_TOKENS,
  TOKEN_COLUMNS,
  type TokenEntry,
  tokenKey,
} from './catalog.js';
import { type Directories, sizedDirectory, type SizedDirectory } from './directories.js';
import { marketName } from './market-names.js';
import { byTier, type Directory, EMPTY_DIRECTORY, type SegmentRef } from './directory.js';
import { SegmentWriter } from './segments.js';

/** Rows of tokens or markets written at once: written singly, each row costs DuckDB a block of memory. */
const ROWS_AT_ONCE = 1000;

// Shared: most tokens of a long list have neither markets nor depth.
const NO_MARKETS: readonly Market[] = [];
const NO_INDEXES: ReadonlyMap<string, number> = new Map();
const NO_DEPTH: SizedDirectory = { directory: EMPTY_DIRECTORY, bytes: 0 };

/** An object of the archive. */
type ArchiveObject = Pick<ArchivedDay, 'key' | 'sha256' | 'bytes'>;

/** A token as the transaction leaves it. */
export interface StagedToken {
  readonly tokenId: number;
  row: TokenRow;
  readonly isNew: boolean;
  /** Whether the row differs from the stored one. */
  isRowChanged: boolean;
  /** The stored markets, until the transaction adds one. */
  markets: readonly Market[];
  marketIndexes: ReadonlyMap<string, number>;
  /** Copies of both for the transaction to change; null if it has added no market. */
  ownMarkets: { list: Market[]; indexes: Map<string, number> } | null;
  /** The directory before the transaction; empty until the transaction touches the token's depth. */
  stored: Directory;
  /** Null until the transaction touches the token's depth. */
  directory: Record<Tier, SegmentRef[]> | null;
  /** The directory that changedDepth() last returned; null if there was none. */
  lastReturned: Directory | null;
}

export class Stage {
  private readonly tokens = new LargeMap<string, StagedToken>();
  private readonly venues = new Map<string, MarketType>();
  readonly segments: SegmentWriter;
  private marketRows: SqlValue[][] = [];
  /** Ids of the segments that the transaction removes, possibly including some that it made itself. */
  readonly removedSegments: number[] = [];
  private newTokens = 0;
  /** Ids of the tokens touched by the transaction. */
  readonly touched: number[] = [];
  private prepared = new LargeMap<number, SizedDirectory>();
  private readonly visibleListeners: (() => void)[] = [];
  private readonly lastStoredSegment: number;
  private readonly turns = new Turns();

  constructor(
    private readonly catalog: Catalog,
    private readonly directories: Directories,
    readonly tx: Statements,
  ) {
    this.segments = new SegmentWriter(tx);
    this.lastStoredSegment = directories.lastSegmentId;
  }

  /**
   * The staged state of a token; an unknown token is created.
   * @throws RefusalError if the store would have too many tokens
   */
  token(chain: Chain, address: string): StagedToken {
    const key = tokenKey(chain, address);
    const known = this.tokens.get(key);
    if (known !== undefined) return known;
    const staged = this.stageToken(chain, address);
    this.tokens.set(key, staged);
    this.touched.push(staged.tokenId);
    return staged;
  }

  /** The staged state of a token; null if neither the store nor the transaction knows it. */
  knownToken(chain: Chain, address: string): StagedToken | null {
    const isKnown =
      this.tokens.has(tokenKey(chain, address)) || this.catalog.token(chain, address) !== undefined;
    return isKnown ? this.token(chain, address) : null;
  }

  /**
   * Two tokens of one chain that would be legs of one asset, or null. Call after the last row of the
   * transaction: a row may free the leg that an earlier row takes.
   */
  async legConflict(): Promise<{ asset: string; rows: [TokenRow, TokenRow] } | null> {
    const legs = new LargeMap<string, TokenRow>();
    for (const { row } of this.tokens.values()) {
      await this.turns.take();
      if (row.asset === null) continue;
      const leg = `${row.chain}:${row.asset}`;
      const other = legs.get(leg) ?? this.unstagedLeg(row.asset, row.chain);
      if (other !== undefined) return { asset: row.asset, rows: [other, row] };
      legs.set(leg, row);
    }
    return null;
  }

  /** Replaces a token's row. */
  putRow(row: TokenRow): void {
    const staged = this.token(row.chain, row.address);
    if (isSameRow(staged.row, row)) return;
    staged.row = row;
    staged.isRowChanged = true;
  }

  /**
   * Indexes of markets within their token; new ones are appended in the given order.
   * @throws RefusalError if a market contradicts the store, or the token would have too many
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
          throw new RefusalError(
            `markets: ${token.row.address} would have more than ${MAX_MARKETS_PER_TOKEN} markets`,
          );
        }
        appendMarket(token, market, key);
        const { source, exchangeType, type, address, pair } = market;
        this.marketRows.push([token.tokenId, index, source, exchangeType, type, address, pair]);
        if (this.marketRows.length >= ROWS_AT_ONCE) await this.writeMarkets();
      }
      checkExchangeType(token.markets[index], market);
      indexes[i] = index;
    }
    return indexes;
  }

  /** The token's directory, for the transaction to change. */
  async directory(token: StagedToken): Promise<Record<Tier, SegmentRef[]>> {
    if (token.directory === null) {
      // A new token has no stored directory.
      const stored = token.isNew ? EMPTY_DIRECTORY : await this.directories.get(token.tokenId);
      token.stored = stored;
      token.directory = byTier((tier) => [...stored[tier]]);
    }
    return token.directory;
  }

  nextSegmentId(): number {
    return this.directories.nextSegmentId();
  }

  /** The id of an object of the archive; one that the store does not know is added. */
  async objectId({ key, sha256, bytes }: ArchiveObject): Promise<number> {
    const known = await this.tx.rows('SELECT object_id FROM objects WHERE key = ?', [key]);
    if (known.length > 0) {
      const [[objectId]] = known as [[number]];
      await this.tx.run('UPDATE objects SET unused_since = NULL WHERE key = ?', [key]);
      return objectId;
    }
    const [[last]] = await this.tx.rows('SELECT coalesce(max(object_id), 0) FROM objects');
    const objectId = (last as number) + 1;
    await this.tx.append('objects', [[objectId, key, sha256, bytes, null]]);
    return objectId;
  }

  /** Whether the transaction itself has made a segment: no other connection sees it yet. */
  hasMade(segmentId: number): boolean {
    return segmentId > this.lastStoredSegment;
  }

  /** Removes deleted segments from the lists. */
  unlist(token: StagedToken, refs: readonly SegmentRef[]): Promise<void> {
    return this.directories.lists.remove(this.tx, token.tokenId, refs);
  }

  /** Writes the waiting rows, and prepares publish(): call right before the commit. */
  async write(): Promise<void> {
    await this.writeTokens();
    await this.writeMarkets();
    await this.segments.flush();
    await this.prepare();
  }

  /**
   * Shows readers the committed state: first tokens and their markets in turns (invisible without depth), then all
   * depth at once.
   */
  async publish(): Promise<void> {
    for (const token of this.tokens.values()) {
      if (token.isRowChanged || token.ownMarkets !== null) this.catalog.put(entryOf(token));
      await this.turns.take();
    }
    await this.directories.recentBlocks.addAll(this.segments.recent, this.turns);
    this.directories.recentBlocks.delete(this.removedSegments);
    for (const listener of this.visibleListeners) listener();
    await this.directories.publish(this.prepared);
  }

  /** Calls `listener` in the same step in which readers begin to see the changed depth. */
  onVisible(listener: () => void): void {
    this.visibleListeners.push(listener);
  }

  /** Tokens whose depth the transaction has touched, with their directories at the last call and now. */
  *changedDepth(): Generator<{ tokenId: number; before: Directory; now: Directory }> {
    for (const token of this.tokens.values()) {
      const { directory } = token;
      if (directory === null) continue;
      const before = token.lastReturned ?? token.stored;
      const now = byTier((tier) => [...directory[tier]]);
      token.lastReturned = now;
      yield { tokenId: token.tokenId, before, now };
    }
  }

  private async writeTokens(): Promise<void> {
    const rows: SqlValue[][] = [];
    const old: number[] = [];
    const flush = async (): Promise<void> => {
      if (old.length > 0) {
        await this.tx.run(`DELETE FROM tokens WHERE token_id IN (${old.splice(0).join(',')})`);
      }
      await this.tx.append('tokens', rows.splice(0));
    };
    for (const { tokenId, row, isNew, isRowChanged } of this.tokens.values()) {
      await this.turns.take();
      if (!isRowChanged) continue;
      if (!isNew) old.push(tokenId);
      rows.push([tokenId, ...TOKEN_COLUMNS.map((name) => row[name])]);
      if (rows.length === ROWS_AT_ONCE) await flush();
    }
    await flush();
  }

  private async writeMarkets(): Promise<void> {
    const rows = this.marketRows;
    this.marketRows = [];
    if (rows.length > 0) await this.tx.append('markets', rows);
  }

  private async prepare(): Promise<void> {
    this.prepared = new LargeMap();
    for (const { tokenId, isNew, directory } of this.tokens.values()) {
      await this.turns.take();
      if (directory !== null) this.prepared.set(tokenId, sizedDirectory(directory));
      else if (isNew) this.prepared.set(tokenId, NO_DEPTH);
    }
  }

  /** Whether the transaction touched a token that readers know. */
  touches(tokenId: number): boolean {
    const entry = this.catalog.tokenById(tokenId);
    return entry !== undefined && this.tokens.has(tokenKey(entry.row.chain, entry.row.address));
  }

  private stageToken(chain: Chain, address: string): StagedToken {
    const stored = this.catalog.token(chain, address);
    const isNew = stored === undefined;
    if (isNew && this.catalog.tokenCount + this.newTokens >= MAX_TOKENS) {
      throw new RefusalError(`address: the store would have more than ${MAX_TOKENS} tokens`);
    }
    return {
      tokenId: stored?.tokenId ?? this.catalog.nextTokenId + this.newTokens++,
      row: stored?.row ?? bareTokenRow(chain, address),
      isNew,
      isRowChanged: isNew,
      markets: stored?.markets ?? NO_MARKETS,
      marketIndexes: stored?.marketIndexes ?? NO_INDEXES,
      ownMarkets: null,
      stored: EMPTY_DIRECTORY,
      directory: null,
      lastReturned: null,
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
      throw new RefusalError(
        `markets.type: venue ${key} is ${known} in the store, not ${market.type}: give that type, or the venue another name`,
      );
    }
  }
}

/**
 * For merges: an order book under a second spelling of its names would count twice.
 * @throws RefusalError if the token has the order book under another spelling
 */
export function checkSpelling(
  { markets, marketIndexes }: Pick<StagedToken, 'markets' | 'marketIndexes'>,
  market: Market,
): void {
  if (market.address !== null || marketIndexes.has(marketKey(market))) return;
  const pair = market.pair?.toLowerCase();
  const known = markets.find(
    (other) =>
      other.address === null &&
      other.pair?.toLowerCase() === pair &&
      venueKey(other.source) === venueKey(market.source),
  );
  if (known === undefined) return;
  const field = known.source === market.source ? 'pair' : 'source';
  throw new RefusalError(
    `markets.${field}: the store has this market as ${marketName(known)}, not ${marketName(market)}: spell it as there`,
  );
}

function appendMarket(token: StagedToken, market: Market, key: string): void {
  token.ownMarkets ??= { list: [...token.markets], indexes: new Map(token.marketIndexes) };
  const { list, indexes } = token.ownMarkets;
  indexes.set(key, list.length);
  list.push(market);
  token.markets = list;
  token.marketIndexes = indexes;
}

function entryOf({ tokenId, row, markets, marketIndexes }: StagedToken): TokenEntry {
  return { tokenId, row, markets, marketIndexes };
}

/** @throws RefusalError if a market changes its exchange type */
function checkExchangeType(known: Market, market: Market): void {
  if (known.exchangeType === market.exchangeType) return;
  throw new RefusalError(
    `markets.exchange_type: ${market.source} ${market.address ?? market.pair ?? ''} is ${known.exchangeType} in the store, not ${market.exchangeType}`,
  );
}

function isSameRow(a: TokenRow, b: TokenRow): boolean {
  return TOKEN_COLUMNS.every((name) => a[name] === b[name]);
}
