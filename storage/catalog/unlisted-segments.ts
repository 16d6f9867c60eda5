/**
 * The entries of all segments that stand in no list, in memory: the newest of every token. They lie
 * all over the newest part of their table, and to look for one token's there costs the more the more
 * is stored: DuckDB looks at what every row group holds.
 */
import { TIERS } from '../../compute/market/market.js';
import type { Database } from '../duckdb/database.js';
import type { Directory, SegmentRef } from './directory.js';
import { refOfColumns } from './segment-rows.js';

/**
 * Entries kept at most, some 700 bytes each: as many as are listed at once, and those that wait for it.
 * Where one commit has brought more, the table is asked until they are listed.
 */
export const MAX_KEPT_SEGMENTS = 96 * 1024;

const NONE: readonly SegmentRef[] = [];

export class UnlistedSegments {
  private byToken: Map<number, readonly SegmentRef[]> | null = null;
  private count = 0;

  private constructor(private readonly limit: number) {}

  /** Where nothing is kept: the table is asked. */
  static unknown(): UnlistedSegments {
    return new UnlistedSegments(0);
  }

  /** Reads them. To be called while nothing is being committed. */
  static async load(
    database: Pick<Database, 'rows'>,
    listedId: number,
    limit = MAX_KEPT_SEGMENTS,
  ): Promise<UnlistedSegments> {
    const unlisted = new UnlistedSegments(limit);
    await unlisted.reload(database, listedId);
    return unlisted;
  }

  /** A token's, in no order; null where the table has to be asked. */
  of(tokenId: number): readonly SegmentRef[] | null {
    return this.byToken === null ? null : (this.byToken.get(tokenId) ?? NONE);
  }

  /** Takes up what a commit made of a token's directory. */
  publish(tokenId: number, directory: Directory, listedId: number): void {
    if (this.byToken === null) return;
    const refs = TIERS.flatMap((tier) => directory[tier].filter((ref) => ref.segmentId > listedId));
    this.put(tokenId, refs);
    if (this.count > this.limit) this.byToken = null;
  }

  /**
   * Lets go of those that are listed now, up to this id. To be called while nothing is being
   * committed.
   */
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
    const [[count]] = await database.rows(
      `SELECT count(*) FROM segments WHERE segment_id > ${listedId}`,
    );
    if ((count as number) > this.limit) return;
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
    this.count = rows.length;
  }

  private put(tokenId: number, refs: readonly SegmentRef[]): void {
    if (this.byToken === null) return;
    this.count += refs.length - (this.byToken.get(tokenId)?.length ?? 0);
    if (refs.length === 0) this.byToken.delete(tokenId);
    else this.byToken.set(tokenId, refs);
  }
}
