/**
 * The entries of all segments that stand in no list, in memory: the newest of every token. They are
 * spread over the newest rows of `segments`, and searching there for one token's costs more with every
 * segment stored: DuckDB checks what every row group holds.
 */
import { TIERS } from '../../compute/market.js';
import type { Database } from '../duckdb/database.js';
import {
  ENTRY_BYTES,
  SNAPSHOT_BYTES,
  entryBytes,
  type Directory,
  type SegmentRef,
} from './directory.js';
import { refOfColumns } from './segment-lists.js';

/**
 * Greatest bytes of entries kept: more than full segments take that wait for a list. Where one commit
 * has brought more, the table is read until they are listed.
 */
const MAX_KEPT_ENTRY_BYTES = 96 * 1024 * 1024;

const NONE: readonly SegmentRef[] = [];

export class UnlistedSegments {
  private byToken: Map<number, readonly SegmentRef[]> | null = null;
  private bytes = 0;

  private constructor(private readonly maxBytes: number) {}

  /** Keeps nothing: the table is read. */
  static unknown(): UnlistedSegments {
    return new UnlistedSegments(0);
  }

  /** Reads them, while nothing is being committed. */
  static async load(
    database: Pick<Database, 'rows'>,
    listedId: number,
    maxBytes = MAX_KEPT_ENTRY_BYTES,
  ): Promise<UnlistedSegments> {
    const unlisted = new UnlistedSegments(maxBytes);
    await unlisted.reload(database, listedId);
    return unlisted;
  }

  /** A token's, in no order; null where the table has to be read. */
  of(tokenId: number): readonly SegmentRef[] | null {
    return this.byToken === null ? null : (this.byToken.get(tokenId) ?? NONE);
  }

  /** Takes up what a commit made of a token's directory. */
  publish(tokenId: number, directory: Directory, listedId: number): void {
    if (this.byToken === null) return;
    const refs = TIERS.flatMap((tier) => directory[tier].filter((ref) => ref.segmentId > listedId));
    this.put(tokenId, refs);
    if (this.bytes > this.maxBytes) this.byToken = null;
  }

  /** Drops those that are listed now, up to this id, while nothing is being committed. */
  async settle(database: Pick<Database, 'rows'>, listedId: number): Promise<void> {
    if (this.byToken === null) return this.reload(database, listedId);
    for (const [tokenId, refs] of [...this.byToken]) {
      this.put(
        tokenId,
        refs.filter(({ segmentId }) => segmentId > listedId),
      );
    }
  }

  private async reload(database: Pick<Database, 'rows'>, listedId: number): Promise<void> {
    // Four bytes a snapshot in the table.
    const [[bytes]] = await database.rows(
      `SELECT count(*) * ${ENTRY_BYTES} + coalesce(sum(octet_length(times)), 0) * ${SNAPSHOT_BYTES / 4}
       FROM segments WHERE segment_id > ${listedId}`,
    );
    if ((bytes as number) > this.maxBytes) return;
    const rows = await database.rows(
      `SELECT token_id, segment_id, tier, cells, times, band_cells FROM segments
       WHERE segment_id > ${listedId}`,
    );
    const byToken = new Map<number, SegmentRef[]>();
    for (const [tokenId, ...columns] of rows) {
      const refs = byToken.get(tokenId as number);
      const ref = refOfColumns(columns);
      if (refs === undefined) byToken.set(tokenId as number, [ref]);
      else refs.push(ref);
    }
    this.byToken = byToken;
    this.bytes = 0;
    for (const refs of byToken.values()) this.bytes += bytesOf(refs);
  }

  private put(tokenId: number, refs: readonly SegmentRef[]): void {
    if (this.byToken === null) return;
    this.bytes += bytesOf(refs) - bytesOf(this.byToken.get(tokenId) ?? NONE);
    if (refs.length === 0) this.byToken.delete(tokenId);
    else this.byToken.set(tokenId, refs);
  }
}

function bytesOf(refs: readonly SegmentRef[]): number {
  return refs.reduce((sum, { times }) => sum + entryBytes(times.length), 0);
}
