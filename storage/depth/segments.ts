/**
 * Segments' rows and blocks in their tables. A block that is not small is kept in parts: a row group
 * is written anew as a whole while it still fills up, and a read of one value goes through it, so that
 * both cost what a row group holds. Thousands of parts hold some megabytes, thousands of blocks a
 * hundred.
 */
import { crc32 } from 'node:zlib';
import { type Tier, TIERS } from '../../compute/market.js';
import {
  checkedBlock,
  type EncodedSegment,
  type StoredBlock,
} from '../../compute/segment/segment.js';
import type { SqlValue, Statements } from '../duckdb/database.js';
import { ROW_GROUP_ROWS } from '../duckdb/opening.js';
import { isOneOf, partsOf } from '../duckdb/values.js';

/**
 * Greatest bytes of a block that stands in its entry's row: those of fresh runs, which compaction soon
 * takes away again, lie apart from what stays.
 */
export const MAX_INLINE_BYTES = 16 * 1024;
/**
 * Bytes of a part. A row group of them is 4 MB: a checkpoint writes up to three anew where it joins
 * those that are not full, and the file keeps the room of what it wrote before. DuckDB keeps values of
 * more than 4,096 in blocks of their own.
 */
export const PART_BYTES = 2000;

/**
 * The blocks of those of the segments that are stored, by id, not yet held against their checksums.
 * Each is in an ArrayBuffer of its own.
 */
export async function readStoredBlocks(
  statements: Pick<Statements, 'values'>,
  ids: readonly number[],
): Promise<Map<number, StoredBlock>> {
  if (ids.length === 0) return new Map();
  // In one statement: no commit comes in between an entry and its parts.
  const values = await statements.values(
    `SELECT segment_id, 0 AS part, data, crc32 FROM segments WHERE ${areIn(ids)}
     UNION ALL
     SELECT segment_id, part, data, NULL FROM segment_parts WHERE ${areIn(ids)}`,
  );
  return new Map(
    Array.from(values, ([segmentId, { bytes, checksum }]) => [
      segmentId,
      { segmentId, block: bytes, crc32: checksum },
    ]),
  );
}

/**
 * The same, checked.
 * @throws Error where a block's checksum does not fit
 */
export async function readBlocks(
  statements: Pick<Statements, 'values'>,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> {
  const stored = await readStoredBlocks(statements, ids);
  return new Map(Array.from(stored, ([id, one]) => [id, checkedBlock(one)]));
}

/** CRC-32 of the blocks of those of the segments that are stored, by id; no block is read. */
export async function readChecksums(
  statements: Pick<Statements, 'rows'>,
  ids: readonly number[],
): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map();
  const rows = await statements.rows(`SELECT segment_id, crc32 FROM segments WHERE ${areIn(ids)}`);
  return new Map(rows.map(([id, checksum]) => [id as number, checksum as number]));
}

/** Removes segments with all that belongs to them. */
export async function deleteSegments(tx: Statements, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(`DELETE FROM segments WHERE ${areIn(ids)}`);
  await tx.run(`DELETE FROM segment_parts WHERE ${areIn(ids)}`);
}

const areIn = (ids: readonly number[]): string => isOneOf('segment_id', ids);

// Writes segments to their tables, many at once: one by one each costs ten times as much.

/** Bytes of blocks that wait: they are handed over in one turn of the event loop. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Of these the last stay back until the end: enough to cut them so that they fill a row group. */
const HELD_PARTS = ROW_GROUP_ROWS / 4;

/** Where a new segment belongs. */
export interface NewSegment {
  segmentId: number;
  tokenId: number;
  tier: Tier;
}

export class SegmentWriter {
  private entries: SqlValue[][] = [];
  private parts: PartRow[] = [];
  private waitingBytes = 0;
  /** Rows of parts that the transaction has handed over. */
  private writtenParts = 0;

  constructor(private readonly tx: Pick<Statements, 'append'>) {}

  /** Takes a segment: its entry, with the block where it is small, else the block's parts. */
  async add(
    { segmentId, tokenId, tier }: NewSegment,
    { block, times, bandCells, cells }: EncodedSegment,
  ): Promise<void> {
    const isInline = block.length <= MAX_INLINE_BYTES;
    this.entries.push([
      ...[segmentId, tokenId, TIERS.indexOf(tier), cells],
      ...[bytesOf(times), bytesOf(bandCells), crc32(block)],
      isInline ? block : block.subarray(0, 0),
    ]);
    if (!isInline) {
      partsOf(block, PART_BYTES).forEach((part, i) => this.parts.push([segmentId, i + 1, part]));
    }
    this.waitingBytes += block.length + times.byteLength + bandCells.byteLength;
    if (this.waitingBytes >= MAX_WAITING_BYTES) await this.handOver(HELD_PARTS);
  }

  /** Writes what waits if any of these segments does: they are about to be read or deleted. */
  async settle(ids: readonly number[]): Promise<void> {
    // Ids ascend.
    const first = Math.min(idOf(this.entries[0]), idOf(this.parts[0]));
    if (ids.some((id) => id >= first)) await this.handOver(0);
  }

  /** Writes what waits: the last thing before the commit. */
  async flush(): Promise<void> {
    this.parts = fillRowGroup(this.parts, this.writtenParts);
    await this.handOver(0);
  }

  private async handOver(heldParts: number): Promise<void> {
    const { entries } = this;
    const parts = this.parts.splice(0, Math.max(0, this.parts.length - heldParts));
    this.entries = [];
    this.waitingBytes = 0;
    this.writtenParts += parts.length;
    if (entries.length > 0) await this.tx.append('segments', entries);
    if (parts.length > 0) await this.tx.append('segment_parts', parts);
  }
}

/** The id that a row begins with; Infinity where there is none. */
const idOf = (row: readonly SqlValue[] | undefined): number =>
  row === undefined ? Infinity : (row[0] as number);

function bytesOf(column: Uint32Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}

// Has a transaction that adds more than a row group of parts end with a full one. DuckDB makes row
// groups of its own of such an addition, the last one as full as it comes out, and a later checkpoint
// puts those that are not full together with their neighbours: it writes megabytes anew for each, and
// the file keeps the room of what they were, up to as much again as is stored.

/** A part's segment, its number within the block, its bytes. */
export type PartRow = [segmentId: number, part: number, bytes: Uint8Array];

/** No part is cut into smaller ones than this. */
const LEAST_PART_BYTES = 200;

/**
 * The same blocks in so many more parts that, after `written` rows of the transaction, a row group
 * ends with the last one. As they are where that is not needed, or not to be had.
 * @param rows ascending by segment and part; the first segment's earlier parts may be written already
 */
export function fillRowGroup(rows: readonly PartRow[], written: number): PartRow[] {
  const total = written + rows.length;
  let missing = total < ROW_GROUP_ROWS ? 0 : -total & (ROW_GROUP_ROWS - 1);
  const more = rows.map(([, , bytes]) =>
    Math.max(0, Math.floor(bytes.length / LEAST_PART_BYTES) - 1),
  );
  if (missing === 0 || more.reduce((sum, one) => sum + one, 0) < missing) return [...rows];
  const cut: PartRow[] = [];
  let shift = 0;
  for (const [i, [segmentId, part, bytes]] of rows.entries()) {
    if (i === 0 || rows[i - 1][0] !== segmentId) shift = 0;
    const pieces = 1 + Math.min(missing, more[i]);
    for (const [p, piece] of evenly(bytes, pieces).entries()) {
      cut.push([segmentId, part + shift + p, piece]);
    }
    missing -= pieces - 1;
    shift += pieces - 1;
  }
  return cut;
}

/** Cut into exactly so many pieces that differ by a byte at most. */
function evenly(bytes: Uint8Array, pieces: number): Uint8Array[] {
  return Array.from({ length: pieces }, (_, p) =>
    bytes.subarray(
      Math.floor((p * bytes.length) / pieces),
      Math.floor(((p + 1) * bytes.length) / pieces),
    ),
  );
}
