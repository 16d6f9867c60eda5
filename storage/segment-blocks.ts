/** Segments' rows and blocks in their tables. A long block is kept in parts. */
import { crc32 } from 'node:zlib';
import { TIERS, type Tier } from '../compute/market/market.js';
import type { EncodedSegment } from '../compute/segment/split.js';
import { MAX_VALUE_BYTES, type SqlRow, type Statements } from './duckdb/database.js';

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
  const first = await statements.rows(
    `SELECT segment_id, 0, data, crc32 FROM segments WHERE ${areIn(ids)}`,
  );
  const isWhole = ([, , data]: SqlRow): boolean => (data as Uint8Array).length < MAX_VALUE_BYTES;
  const long = first.filter((row) => !isWhole(row)).map(([id]) => id as number);
  return blocksOf([...first.filter(isWhole), ...(await readLong(statements, long))]);
}

/** Rows of long blocks with all their parts, in one statement: no commit comes in between. */
async function readLong(
  statements: Pick<Statements, 'rows'>,
  ids: readonly number[],
): Promise<SqlRow[]> {
  if (ids.length === 0) return [];
  return statements.rows(
    `SELECT segment_id, 0 AS part, data, crc32 FROM segments WHERE ${areIn(ids)}
     UNION ALL
     SELECT segment_id, part, data, NULL FROM segment_parts WHERE ${areIn(ids)}`,
  );
}

function blocksOf(rows: readonly SqlRow[]): Map<number, Uint8Array> {
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
  await tx.run(`DELETE FROM segments WHERE ${areIn(ids)}`);
  await tx.run(`DELETE FROM segment_parts WHERE ${areIn(ids)}`);
}

/** A condition that lets DuckDB leave out row groups by the range of their ids. */
function areIn(ids: readonly number[]): string {
  let [low] = ids;
  let [high] = ids;
  for (const id of ids) {
    low = Math.min(low, id);
    high = Math.max(high, id);
  }
  return `segment_id BETWEEN ${low} AND ${high} AND segment_id IN (${ids.join(',')})`;
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
