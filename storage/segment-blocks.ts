/**
 * Segments' rows and blocks in their tables. A block that is not small is kept in parts: a row group
 * is written anew as a whole while it still fills up, and a read of one value goes through it, so that
 * both cost what a row group holds. Thousands of parts hold a few megabytes, thousands of blocks a
 * hundred.
 */
import { crc32 } from 'node:zlib';
import type { SqlRow, Statements } from './duckdb/database.js';
import { isOneOf, joinedParts } from './value-parts.js';

/**
 * Greatest bytes of a block that stands in its entry's row: those of fresh runs, which compaction soon
 * takes away again, lie apart from what stays.
 */
export const MAX_INLINE_BYTES = 16 * 1024;
/** Bytes of a part: DuckDB keeps values of more than 4,096 in blocks of their own. */
export const PART_BYTES = 4000;

/**
 * The blocks of those of the segments that are stored, by id, each in an ArrayBuffer of its own.
 * @throws Error where a block's checksum does not fit
 */
export async function readBlocks(
  statements: Pick<Statements, 'rows'>,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> {
  if (ids.length === 0) return new Map();
  // In one statement: no commit comes in between an entry and its parts.
  const rows = await statements.rows(
    `SELECT segment_id, 0 AS part, data, crc32 FROM segments WHERE ${areIn(ids)}
     UNION ALL
     SELECT segment_id, part, data, NULL FROM segment_parts WHERE ${areIn(ids)}`,
  );
  return blocksOf(rows);
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

const areIn = (ids: readonly number[]): string => isOneOf('segment_id', ids);

function checkedBlock(id: number, parts: readonly Uint8Array[], checksum: number): Uint8Array {
  const block = joinedParts(parts);
  if (crc32(block) !== checksum) {
    throw new Error(`segment ${id} is damaged: its checksum does not fit`);
  }
  return block;
}
