/** The first seam as DuckDB serves it: a token's segments by time. */
import type { Chain } from '../compute/market.js';
import type { StoredBlock } from '../compute/segment/stored-block.js';
import type { Catalog, TokenEntry } from './catalog/catalog.js';
import type { Directories } from './catalog/directories.js';
import { planSnapshots } from './catalog/directory.js';
import type { Database } from './duckdb/database.js';
import {
  SegmentGoneError,
  type DepthSource,
  type PagePlan,
  type PlanRequest,
  type TokenRecord,
} from './seams.js';
import { readBlocks, readChecksums, readStoredBlocks } from './segment-blocks.js';

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
