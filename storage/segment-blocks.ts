/** Segments' rows and blocks in their tables. A long block is kept in parts. */
import { crc32 } from 'node:zlib';
import { TIERS, type Tier } from '../compute/market/market.js';
import type { EncodedSegment } from '../compute/segment/split.js';
import { MAX_VALUE_BYTES, type Statements } from './duckdb/database.js';

/** Where a new segment belongs. */
export interface SegmentPlace {
  segmentId: number;
  tokenId: number;
  tier: Tier;
}

/** Writes a segment: its entry with the block's first part, then the parts that are left. */
export async function insertSegment(
  tx: Statements,
  { segmentId, tokenId, tier }: SegmentPlace,
  { block, times, bandCells, cells }: EncodedSegment,
): Promise<void> {
  await tx.run('INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)', [
    segmentId,
    tokenId,
    TIERS.indexOf(tier),
    cells,
    bytesOf(times),
    bytesOf(bandCells),
    crc32(block),
    block.subarray(0, MAX_VALUE_BYTES),
  ]);
  for (let from = MAX_VALUE_BYTES; from < block.length; from += MAX_VALUE_BYTES) {
    await tx.run('INSERT INTO segment_parts VALUES (?, ?, ?)', [
      segmentId,
      from / MAX_VALUE_BYTES,
      block.subarray(from, from + MAX_VALUE_BYTES),
    ]);
  }
}

/**
 * The blocks of those of the segments that are stored, by id, each in an ArrayBuffer of its own.
 * @throws Error where a block's checksum does not fit
 */
export async function readBlocks(
  statements: Pick<Statements, 'rows'>,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> {
  if (ids.length === 0) return new Map();
  const list = ids.join(',');
  // One statement: another one might see the store after the next commit.
  const rows = await statements.rows(
    `SELECT segment_id, 0 AS part, data, crc32 FROM segments WHERE segment_id IN (${list})
     UNION ALL
     SELECT segment_id, part, data, NULL FROM segment_parts WHERE segment_id IN (${list})`,
  );
  const stored = new Map<number, { checksum: number; parts: Uint8Array[] }>();
  for (const [id, part, data, checksum] of rows) {
    const block = stored.get(id as number) ?? { checksum: 0, parts: [] };
    block.parts[part as number] = data as Uint8Array;
    if (part === 0) block.checksum = checksum as number;
    stored.set(id as number, block);
  }
  return new Map(
    Array.from(stored, ([id, { parts, checksum }]) => [id, checkedBlock(id, parts, checksum)]),
  );
}

/** Removes segments with all that belongs to them. */
export async function deleteSegments(tx: Statements, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const list = ids.join(',');
  await tx.run(`DELETE FROM segments WHERE segment_id IN (${list})`);
  await tx.run(`DELETE FROM segment_parts WHERE segment_id IN (${list})`);
}

function checkedBlock(id: number, parts: readonly Uint8Array[], checksum: number): Uint8Array {
  const block = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    block.set(part, at);
    at += part.length;
  }
  if (crc32(block) !== checksum) {
    throw new Error(`segment ${id} is damaged: its checksum does not fit`);
  }
  return block;
}

function bytesOf(column: Uint32Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}
