/**
 * Segments' rows and blocks in their tables. A block that is not small is kept in parts: a row group
 * is written anew as a whole while it still fills up, and a read of one value goes through it, so that
 * both cost what a row group holds. Thousands of parts hold some megabytes, thousands of blocks a
 * hundred.
 */
import { checkedBlock, type StoredBlock } from '../compute/segment/stored-block.js';
import type { Statements } from './duckdb/database.js';
import { isOneOf } from './value-parts.js';

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
