/** The tokens and their newest snapshots as DuckDB serves them. */
import type { Chain, Market } from '../compute/market.js';
import type { Catalog } from './catalog/catalog.js';
import type { Directories } from './catalog/directories.js';
import { directoriesAround } from './catalog/directories-around.js';
import { newestPlaces } from './catalog/newest.js';
import type { DepthReader } from './depth-reader.js';
import type { Database } from './duckdb/database.js';
import type { MarketSource, NewestPlaces, TokenDetails } from './seams.js';

/** Tokens of one query at the start. */
const TOKENS_AT_ONCE = 5000;

export class MarketReader implements MarketSource {
  constructor(
    private readonly database: Database,
    private readonly catalog: Catalog,
    private readonly directories: Directories,
    private readonly depth: DepthReader,
  ) {}

  *tokenIds(): Iterable<number> {
    const end = this.catalog.nextTokenId;
    for (let tokenId = 0; tokenId < end; tokenId++) {
      if (this.catalog.tokenById(tokenId) !== undefined) yield tokenId;
    }
  }

  hasRecord(chain: Chain, address: string): boolean {
    return this.catalog.token(chain, address) !== undefined;
  }

  tokenDetails(tokenId: number): TokenDetails | null {
    const row = this.catalog.tokenById(tokenId)?.row;
    if (row === undefined) return null;
    const { chain, address, symbol, name, asset, icon, decimals, coverage, mcap } = row;
    return {
      tokenId,
      chain,
      address,
      symbol,
      name,
      asset,
      icon,
      decimals,
      coverage,
      priceUsd: row.price_usd,
      mcap,
      liquidityUsd: row.liquidity_usd,
      lastRefreshS: row.last_refresh,
    };
  }

  markets(tokenId: number): readonly Market[] {
    return this.catalog.tokenById(tokenId)?.markets ?? [];
  }

  async newestPlaces(tokenId: number, nowS: number, delayS: number): Promise<NewestPlaces> {
    return newestPlaces(await this.directories.get(tokenId), nowS, delayS);
  }

  async *allNewestPlaces(nowS: number, delayS: number): AsyncIterable<Map<number, NewestPlaces>> {
    const end = this.catalog.nextTokenId;
    for (let first = 0; first < end; first += TOKENS_AT_ONCE) {
      const directories = await directoriesAround(
        this.database,
        [first, first + TOKENS_AT_ONCE - 1],
        [nowS, nowS - delayS],
        this.directories.lists.listedId,
      );
      yield new Map(
        Array.from(directories, ([tokenId, directory]) => [
          tokenId,
          newestPlaces(directory, nowS, delayS),
        ]),
      );
    }
  }

  readSegments(ids: readonly number[]): Promise<Uint8Array[]> {
    return this.depth.readSegments(ids);
  }
}
