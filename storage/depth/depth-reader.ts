/** The first seam as DuckDB serves it: a token's segments by time. */
import type { Chain, Market } from '../../compute/market.js';
import { decodeSegment, type StoredBlock } from '../../compute/segment/segment.js';
import {
  type DepthSource,
  type MarketSource,
  type NewestSnapshots,
  type PagePlan,
  type PlanRequest,
  SegmentGoneError,
  type SnapshotKey,
  type TokenDetails,
  type TokenRecord,
} from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { Catalog, TokenEntry } from './catalog.js';
import { type Directories, directoriesAround } from './directories.js';
import { newestSnapshots, overlapping, planSnapshots } from './directory.js';
import { readBlocks, readChecksums, readStoredBlocks } from './segments.js';

export class DepthReader implements DepthSource {
  constructor(
    private readonly database: Database,
    private readonly catalog: Catalog,
    private readonly directories: Directories,
  ) {}

  token(chain: Chain, address: string): TokenRecord | null {
    const entry = this.catalog.token(chain, address);
    return entry === undefined ? null : tokenRecord(entry);
  }

  mainchainLeg(token: TokenRecord): TokenRecord | null {
    if (token.asset === null || token.chain === 'mainchain') return null;
    const entry = this.catalog.leg(token.asset, 'mainchain');
    return entry === undefined ? null : tokenRecord(entry);
  }

  async plan(request: PlanRequest): Promise<PagePlan> {
    const directory = await this.directories.get(request.tokenId);
    // The markets are read after the directory: a commit in between only appends to them.
    const markets = this.catalog.tokenById(request.tokenId)?.markets ?? [];
    return { ...planSnapshots(directory, request), markets };
  }

  async readSegments(ids: readonly number[]): Promise<Uint8Array[]> {
    return inOrder(ids, await readBlocks(this.database, ids));
  }

  async readStoredBlocks(ids: readonly number[]): Promise<StoredBlock[]> {
    return inOrder(ids, await readStoredBlocks(this.database, ids));
  }

  segmentChecksums(ids: readonly number[]): Promise<Map<number, number>> {
    return readChecksums(this.database, ids);
  }
}

/** @throws SegmentGoneError */
function inOrder<T>(ids: readonly number[], found: ReadonlyMap<number, T>): T[] {
  return ids.map((id) => {
    const one = found.get(id);
    if (one === undefined) throw new SegmentGoneError(`segment ${id} was replaced`);
    return one;
  });
}

function tokenRecord(entry: TokenEntry): TokenRecord {
  const { chain, address, symbol, name, asset } = entry.row;
  return { tokenId: entry.tokenId, chain, address, symbol, name, asset };
}

// The tokens and their newest snapshots as DuckDB serves them.

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

  async newestSnapshots(tokenId: number, nowS: number, delayS: number): Promise<NewestSnapshots> {
    return newestSnapshots(await this.directories.get(tokenId), nowS, delayS);
  }

  async *allNewestSnapshots(
    nowS: number,
    delayS: number,
  ): AsyncIterable<Map<number, NewestSnapshots>> {
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
          newestSnapshots(directory, nowS, delayS),
        ]),
      );
    }
  }

  readSegments(ids: readonly number[]): Promise<Uint8Array[]> {
    return this.depth.readSegments(ids);
  }
}

// Prices of stored snapshots, read from their segments.

/** Reads of one segment's prices, each from a new look at the directory, before giving up. */
const MAX_READS = 10;

/** Price of each snapshot named, NaN where it is not stored. Neighbours share one read. */
export async function snapshotPrices(
  keys: readonly SnapshotKey[],
  catalog: Catalog,
  directories: Directories,
  reader: DepthReader,
): Promise<Float64Array> {
  const prices = new Float64Array(keys.length).fill(NaN);
  let segmentId = 0;
  let priceAt = new Map<number, number>();
  for (const [i, { chain, address, tier, t }] of keys.entries()) {
    const token = catalog.token(chain, address);
    if (token === undefined) continue;
    for (let reads = 1; ; reads++) {
      const directory = (await directories.get(token.tokenId))[tier];
      const { from, to } = overlapping(directory, t, t);
      if (from === to || !directory[from].times.includes(t)) break;
      try {
        if (directory[from].segmentId !== segmentId) {
          priceAt = await readPrices(reader, directory[from].segmentId);
          segmentId = directory[from].segmentId;
        }
        prices[i] = priceAt.get(t) ?? NaN;
        break;
      } catch (error) {
        // Small segments are joined in the background: look again where this one went.
        if (!(error instanceof SegmentGoneError) || reads === MAX_READS) throw error;
      }
    }
  }
  return prices;
}

async function readPrices(reader: DepthReader, segmentId: number): Promise<Map<number, number>> {
  const [block] = await reader.readSegments([segmentId]);
  const run = decodeSegment(block);
  return new Map(Array.from(run.t, (time, row) => [time, run.priceUsd[row]]));
}
