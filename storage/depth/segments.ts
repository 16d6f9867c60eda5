/**
 * The tables `segments` and `segment_parts`: entries and blocks. A block that is not small is kept in
 * parts: a row group is written anew as a whole while it still fills up, and a read of one value goes
 * through it, so that both cost what a row group holds: of parts some megabytes, of blocks a hundred.
 */
import { crc32 } from 'node:zlib';
import { type Tier, TIERS } from '../../compute/market.js';
import {
  checkedBlock,
  type EncodedSegment,
  type StoredBlock,
} from '../../compute/segment/segment.js';
import {
  isOneOf,
  partsOf,
  ROW_GROUP_ROWS,
  type SqlValue,
  type Statements,
} from '../duckdb/statements.js';

/**
 * Greatest bytes of a block that stands in its entry's row: those of fresh runs, which compaction soon
 * takes away again, lie apart from what stays.
 */
const MAX_INLINE_BYTES = 16 * 1024;
/**
 * Bytes of a part. A row group of them is 4 MB: a checkpoint writes up to three anew where it joins
 * those that are not full, and the file keeps the room of what it wrote before. DuckDB keeps values of
 * more than 4,096 in blocks of their own.
 */
export const PART_BYTES = 2000;
/** No part is cut into smaller ones than this. */
const LEAST_PART_BYTES = 200;
/** Bytes of blocks that wait: they are handed over in one turn. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Parts that stay back until the end: enough to cut them so that they fill a row group. */
const HELD_PARTS = ROW_GROUP_ROWS / 4;

/**
 * Blocks by segment id, of those that are stored, not yet checked against their checksums. Each is in
 * an ArrayBuffer of its own.
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

/** Removes segments with all that belongs to them. */
export async function deleteSegments(tx: Statements, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(`DELETE FROM segments WHERE ${areIn(ids)}`);
  await tx.run(`DELETE FROM segment_parts WHERE ${areIn(ids)}`);
}

const areIn = (ids: readonly number[]): string => isOneOf('segment_id', ids);

/** A new segment's id, token and tier. */
interface NewSegment {
  segmentId: number;
  tokenId: number;
  tier: Tier;
}

/** Writes many segments at once: one by one each costs ten times as much. */
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

/** A part's segment, its number within the block, its bytes. */
export type PartRow = [segmentId: number, part: number, bytes: Uint8Array];

/**
 * Cuts blocks into more parts, so that after `written` rows of the transaction a row group ends with
 * the last one; returns them as they are where that is not needed, or not possible. DuckDB makes row
 * groups of their own of a long addition, the last one as full as it comes out, and a later checkpoint
 * joins those that are not full with their neighbours: it writes megabytes anew for each, and the
 * file keeps the space of the old ones, up to as much again as is stored.
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
    const parts = 1 + Math.min(missing, more[i]);
    for (let p = 0; p < parts; p++) {
      const from = Math.floor((p * bytes.length) / parts);
      const to = Math.floor(((p + 1) * bytes.length) / parts);
      cut.push([segmentId, part + shift + p, bytes.subarray(from, to)]);
    }
    missing -= parts - 1;
    shift += parts - 1;
  }
  return cut;
}
