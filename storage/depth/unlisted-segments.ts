/**
 * The entries of all segments that are in no list (each token's newest), in memory. Finding one token's entries among
 * the newest rows of `segments` would cost more with every stored segment, because DuckDB checks every row group.
 */
import { TIERS } from '../../compute/market.js';
import type { Database } from '../duckdb/database.js';
import { byFirstColumn } from '../duckdb/statements.js';
import {
  ENTRY_BYTES,
  SNAPSHOT_BYTES,
  entryBytes,
  firstT,
  type Directory,
  type SegmentRef,
} from './directory.js';
import type { Cutoffs } from './retention-steps.js';
import { ENTRY_COLUMNS, refOfColumns } from './segment-lists.js';

/**
 * Bytes of entries in memory: more than what full segments take while they wait for a list. If one commit exceeds it,
 * the table is read until the segments are listed.
 */
const MAX_KEPT_ENTRY_BYTES = 96 * 1024 * 1024;

const NONE: readonly SegmentRef[] = [];

export class UnlistedSegments {
  private byToken: Map<number, readonly SegmentRef[]> | null = null;
  private bytes = 0;

  private constructor(private readonly maxBytes: number) {}

  /** Without entries: the table is read. */
  static unknown(): UnlistedSegments {
    return new UnlistedSegments(0);
  }

  /** Call while nothing is being committed. */
  static async load(
    database: Pick<Database, 'rows'>,
    listedId: number,
    maxBytes = MAX_KEPT_ENTRY_BYTES,
  ): Promise<UnlistedSegments> {
    const unlisted = new UnlistedSegments(maxBytes);
    await unlisted.reload(database, listedId);
    return unlisted;
  }

  /** A token's entries, in no order; null if the table must be read. */
  of(tokenId: number): readonly SegmentRef[] | null {
    return this.byToken === null ? null : (this.byToken.get(tokenId) ?? NONE);
  }

  /** Tokens with a segment of a tier that begins before its cut-off; null if the table must be read. */
  before(cutoffs: Cutoffs): number[] | null {
    if (this.byToken === null) return null;
    const isOld = (ref: SegmentRef): boolean => firstT(ref) < cutoffs[ref.tier];
    return Array.from(this.byToken).flatMap(([id, refs]) => (refs.some(isOld) ? [id] : []));
  }

  /** Takes over a token's directory as a commit made it. */
  publish(tokenId: number, directory: Directory, listedId: number): void {
    if (this.byToken === null) return;
    const refs = TIERS.flatMap((tier) => directory[tier].filter((ref) => ref.segmentId > listedId));
    this.put(tokenId, refs);
    if (this.bytes > this.maxBytes) this.byToken = null;
  }

  /** Removes the entries up to this id, which are now listed. Call while nothing is being committed. */
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
    // `times` has four bytes per snapshot.
    const [[bytes]] = await database.rows(
      `SELECT count(*) * ${ENTRY_BYTES} + coalesce(sum(octet_length(times)), 0) * ${SNAPSHOT_BYTES / 4}
       FROM segments WHERE segment_id > ${listedId}`,
    );
    if ((bytes as number) > this.maxBytes) return;
    const rows = await database.rows(
      `SELECT token_id, ${ENTRY_COLUMNS} FROM segments
       WHERE segment_id > ${listedId}`,
    );
    const groups = byFirstColumn(rows);
    this.byToken = new Map(Array.from(groups, ([id, own]) => [id, own.map(refOfColumns)]));
    this.bytes = 0;
    for (const refs of this.byToken.values()) this.bytes += bytesOf(refs);
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
