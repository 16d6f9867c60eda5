/** Holder blocks and owners' names in their tables. */
import type { OwnerNames } from '../../compute/holders/owners.js';
import type { BlockSize, EncodedHolderBlock } from '../../compute/holders/rewrite.js';
import type { Statements } from '../duckdb/database.js';
import { isOneOf, joinedParts, partsOf } from '../duckdb/values.js';
import { unpackNames, type OwnerChunk } from './owner-names.js';

type Rows = Pick<Statements, 'rows'>;

/** A stored block's entry. */
export interface HolderBlockRef extends Omit<BlockSize, 'snapshots'> {
  blockId: number;
  /** Epoch seconds, ascending; never empty. */
  times: Uint32Array;
}

/** The entries of a token's blocks, ascending and without overlap. */
export async function readRefs(statements: Rows, holderId: number): Promise<HolderBlockRef[]> {
  const rows = await statements.rows(
    'SELECT block_id, times, changes, first_changes FROM holder_blocks WHERE holder_id = ?',
    [holderId],
  );
  return rows
    .map(([blockId, times, changes, firstChanges]) => ({
      blockId: blockId as number,
      times: new Uint32Array((times as Uint8Array).slice().buffer),
      changes: changes as number,
      firstChanges: firstChanges as number,
    }))
    .sort((a, b) => a.times[0] - b.times[0]);
}

export async function insertBlock(
  tx: Statements,
  holderId: number,
  blockId: number,
  { block, times, changes, firstChanges }: EncodedHolderBlock,
): Promise<HolderBlockRef> {
  const { buffer, byteOffset, byteLength } = times;
  const timeBytes = new Uint8Array(buffer, byteOffset, byteLength);
  await tx.run('INSERT INTO holder_blocks VALUES (?, ?, ?, ?, ?)', [
    blockId,
    holderId,
    timeBytes,
    changes,
    firstChanges,
  ]);
  for (const [part, data] of partsOf(block).entries()) {
    await tx.run('INSERT INTO holder_block_parts VALUES (?, ?, ?)', [blockId, part, data]);
  }
  return { blockId, times, changes, firstChanges };
}

export async function deleteBlocks(tx: Statements, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(`DELETE FROM holder_blocks WHERE ${isOneOf('block_id', ids)}`);
  await tx.run(`DELETE FROM holder_block_parts WHERE ${isOneOf('block_id', ids)}`);
}

/** Those of the blocks that are stored, by id, each in an ArrayBuffer of its own. */
export async function readBlocks(
  statements: Rows,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> {
  if (ids.length === 0) return new Map();
  const rows = await statements.rows(
    `SELECT block_id, part, data FROM holder_block_parts WHERE ${isOneOf('block_id', ids)}`,
  );
  return blocksOf(rows as BlockPart[]);
}

/** The token's names, and those of the blocks that are stored, as one commit left both. */
export async function readNamesAndBlocks(
  statements: Rows,
  holderId: number,
  ids: readonly number[],
): Promise<{ names: OwnerNames; blocks: Map<number, Uint8Array> }> {
  const rows = await statements.rows(
    `SELECT block_id AS id, part, data, NULL AS crc32
     FROM holder_block_parts WHERE ${ids.length === 0 ? 'false' : isOneOf('block_id', ids)}
     UNION ALL
     SELECT first_owner, -1, data, crc32 FROM holder_owners WHERE holder_id = ?`,
    [holderId],
  );
  const isName = (part: unknown): boolean => part === -1;
  const chunks = rows.filter(([, part]) => isName(part));
  const parts = rows.filter(([, part]) => !isName(part));
  return {
    names: unpackNames(chunks.map(([first, , data, crc32]) => chunkOf(first, crc32, data))),
    blocks: blocksOf(parts as unknown as BlockPart[]),
  };
}

export async function readNames(statements: Rows, holderId: number): Promise<OwnerNames> {
  const rows = await statements.rows(
    'SELECT first_owner, crc32, data FROM holder_owners WHERE holder_id = ?',
    [holderId],
  );
  return unpackNames(rows.map(([first, crc32, data]) => chunkOf(first, crc32, data)));
}

/** Puts chunks of names in place of the stored ones from the first of them on. */
export async function writeChunks(
  tx: Statements,
  holderId: number,
  chunks: readonly OwnerChunk[],
): Promise<void> {
  if (chunks.length === 0) return;
  await tx.run('DELETE FROM holder_owners WHERE holder_id = ? AND first_owner >= ?', [
    holderId,
    chunks[0].firstOwner,
  ]);
  for (const { firstOwner, crc32, data } of chunks) {
    await tx.run('INSERT INTO holder_owners VALUES (?, ?, ?, ?)', [
      holderId,
      firstOwner,
      crc32,
      data,
    ]);
  }
}

/** Columns block_id, part, data. */
type BlockPart = [number, number, Uint8Array];

function blocksOf(rows: readonly BlockPart[]): Map<number, Uint8Array> {
  const parts = new Map<number, Uint8Array[]>();
  for (const [blockId, part, data] of rows) {
    const list = parts.get(blockId) ?? [];
    parts.set(blockId, list);
    list[part] = data;
  }
  return new Map(Array.from(parts, ([blockId, list]) => [blockId, joinedParts(list)]));
}

function chunkOf(firstOwner: unknown, crc32: unknown, data: unknown): OwnerChunk {
  return {
    firstOwner: firstOwner as number,
    crc32: crc32 as number,
    data: data as Uint8Array,
  };
}
