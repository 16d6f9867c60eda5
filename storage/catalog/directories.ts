/** Loads tokens' directories when they are first asked for and keeps the latest used in memory. */
import { TIERS } from '../../compute/market/market.js';
import type { Database, SqlRow, Statements } from '../duckdb/database.js';
import { firstT, type Directory, type SegmentRef } from './directory.js';

/** Snapshots in all directories kept in memory, at 8 bytes each: 128 MiB. */
export const MAX_CACHED_SNAPSHOTS = 16 * 1024 * 1024;

export class Directories {
  /** Least recently used first. */
  private readonly cached = new Map<number, { directory: Directory; snapshots: number }>();
  private readonly loading = new Map<number, Promise<Directory>>();
  private cachedSnapshots = 0;

  constructor(private readonly database: Database) {}

  /** A token's directory as last committed. */
  async get(tokenId: number): Promise<Directory> {
    const hit = this.cached.get(tokenId);
    if (hit !== undefined) {
      this.cached.delete(tokenId);
      this.cached.set(tokenId, hit);
      return hit.directory;
    }
    let load = this.loading.get(tokenId);
    if (load === undefined) {
      load = this.load(tokenId);
      this.loading.set(tokenId, load);
    }
    return load;
  }

  /** Puts what a commit made of a token's directory in place of what was known. */
  publish(tokenId: number, directory: Directory): void {
    this.loading.delete(tokenId);
    const before = this.cached.get(tokenId);
    if (before !== undefined) this.cachedSnapshots -= before.snapshots;
    this.cached.delete(tokenId);
    const snapshots = countSnapshots(directory);
    this.cached.set(tokenId, { directory, snapshots });
    this.cachedSnapshots += snapshots;
    for (const [oldest, { snapshots: freed }] of this.cached) {
      if (this.cachedSnapshots <= MAX_CACHED_SNAPSHOTS || oldest === tokenId) break;
      this.cached.delete(oldest);
      this.cachedSnapshots -= freed;
    }
  }

  private async load(tokenId: number): Promise<Directory> {
    try {
      const directory = await loadDirectory(this.database, tokenId);
      // A commit that published meanwhile knows better than what was read before it.
      const published = this.cached.get(tokenId);
      if (published !== undefined) return published.directory;
      this.publish(tokenId, directory);
      return directory;
    } finally {
      this.loading.delete(tokenId);
    }
  }
}

/** Reads a token's directory, within a transaction or outside. */
export async function loadDirectory(statements: Statements, tokenId: number): Promise<Directory> {
  const rows = await statements.rows(
    'SELECT segment_id, tier, cells, times, band_cells FROM segments WHERE token_id = ?',
    [tokenId],
  );
  const refs = rows.map(refOfColumns).sort((a, b) => firstT(a) - firstT(b));
  return {
    raw: refs.filter((ref) => ref.tier === 'raw'),
    '15m': refs.filter((ref) => ref.tier === '15m'),
    '1h': refs.filter((ref) => ref.tier === '1h'),
  };
}

function refOfColumns([segmentId, tier, cells, times, bandCells]: SqlRow): SegmentRef {
  return {
    segmentId: segmentId as number,
    tier: TIERS[tier as number],
    cells: cells as number,
    times: uint32Of(times as Uint8Array),
    bandCells: uint32Of(bandCells as Uint8Array),
  };
}

function uint32Of(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer);
}

function countSnapshots(directory: Directory): number {
  let snapshots = 0;
  for (const tier of TIERS) for (const ref of directory[tier]) snapshots += ref.times.length;
  return snapshots;
}
