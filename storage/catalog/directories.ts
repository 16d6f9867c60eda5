/** Loads tokens' directories when they are first asked for and keeps the latest used in memory. */
import { TIERS } from '../../compute/market/market.js';
import type { Database, SqlRow, Statements } from '../duckdb/database.js';
import { EMPTY_DIRECTORY, firstT, type Directory, type SegmentRef } from './directory.js';

/** Snapshots in all directories kept in memory, at 8 bytes each: 128 MiB. */
export const MAX_CACHED_SNAPSHOTS = 16 * 1024 * 1024;

interface Load {
  directory: Promise<Directory>;
}

export class Directories {
  /** Least recently used first. */
  private readonly cached = new Map<number, { directory: Directory; snapshots: number }>();
  private readonly loading = new Map<number, Load>();
  private committing: { tokenIds: ReadonlySet<number>; ended: Promise<void> } | null = null;
  private cachedSnapshots = 0;

  constructor(private readonly database: Database) {}

  /** A token's directory as last published. */
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
    return load.directory;
  }

  /**
   * Marks tokens as being committed until the function that it returns is called, after publish() or
   * a rollback. A directory of theirs that is loaded meanwhile may hold segments whose markets the
   * catalogue has not got yet: its readers get it once both are published.
   */
  beginCommit(tokenIds: Iterable<number>): () => void {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    this.committing = { tokenIds: new Set(tokenIds), ended };
    return () => {
      this.committing = null;
      end();
    };
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

  private load(tokenId: number): Load {
    const load: Load = { directory: Promise.resolve(EMPTY_DIRECTORY) };
    const read = async (): Promise<Directory> => {
      const directory = await loadDirectory(this.database, tokenId);
      if (this.committing?.tokenIds.has(tokenId) === true) {
        await this.committing.ended;
        return this.loading.get(tokenId) === load ? read() : this.get(tokenId);
      }
      // A commit that published meanwhile knows better than what was read before it.
      if (this.loading.get(tokenId) !== load) return this.get(tokenId);
      this.publish(tokenId, directory);
      return directory;
    };
    load.directory = read().finally(() => {
      if (this.loading.get(tokenId) === load) this.loading.delete(tokenId);
    });
    return load;
  }
}

/** Reads a token's directory, within a transaction or outside. */
export async function loadDirectory(
  statements: Pick<Statements, 'rows'>,
  tokenId: number,
): Promise<Directory> {
  const rows = await statements.rows(
    'SELECT segment_id, tier, cells, times, band_cells FROM segments WHERE token_id = ?',
    [tokenId],
  );
  return directoryOf(rows.map(refOfColumns));
}

/** A directory of some of a token's segments, in whatever order they come. */
export function directoryOf(segments: readonly SegmentRef[]): Directory {
  const refs = [...segments].sort((a, b) => firstT(a) - firstT(b));
  return {
    raw: refs.filter((ref) => ref.tier === 'raw'),
    '15m': refs.filter((ref) => ref.tier === '15m'),
    '1h': refs.filter((ref) => ref.tier === '1h'),
  };
}

/** An entry from columns segment_id, tier, cells, times, band_cells. */
export function refOfColumns([segmentId, tier, cells, times, bandCells]: SqlRow): SegmentRef {
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
