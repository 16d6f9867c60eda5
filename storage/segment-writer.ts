/** Writes segments to their tables, many at once: one by one each costs ten times as much. */
import { crc32 } from 'node:zlib';
import { TIERS, type Tier } from '../compute/market.js';
import type { EncodedSegment } from '../compute/segment/split.js';
import type { SqlValue, Statements } from './duckdb/database.js';
import { ROW_GROUP_ROWS } from './duckdb/row-groups.js';
import { fillRowGroup, type PartRow } from './full-row-groups.js';
import { MAX_INLINE_BYTES, PART_BYTES } from './segment-blocks.js';
import { partsOf } from './value-parts.js';

/** Bytes of blocks that wait: they are handed over in one turn of the event loop. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Of these the last stay back until the end: enough to cut them so that they fill a row group. */
const HELD_PARTS = ROW_GROUP_ROWS / 4;

/** Where a new segment belongs. */
export interface SegmentPlace {
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
    { segmentId, tokenId, tier }: SegmentPlace,
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
