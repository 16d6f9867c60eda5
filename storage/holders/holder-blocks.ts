/** The tables `holder_blocks` and `holder_block_parts`: a token's holder snapshots, compressed. */
import type { OwnerNames } from '../../compute/holders/owners.js';
import type { BlockSize, EncodedHolderBlock } from '../../compute/holders/rewrite.js';
import { whereIdIn, partsOf, type Statements } from '../duckdb/statements.js';
import { bytesOf, uint32Of } from '../typed-arrays.js';
import { type OwnerChunk, ownersUpTo, unpackNames } from './owner-names.js';

/** The entry of a stored block. */
export interface HolderBlockRef extends Omit<BlockSize, 'snapshots'> {
  blockId: number;
  /** Epoch seconds, ascending; never empty. */
  times: Uint32Array;
}

/** The entries of a token's blocks, ascending in time, without overlap. */
export async function readRefs(
  statements: Pick<Statements, 'rows'>,
  holderId: number,
): Promise<HolderBlockRef[]> {
  const rows = await statements.rows(
    'SELECT block_id, times, changes, first_changes FROM holder_blocks WHERE holder_id = ?',
    [holderId],
  );
  return rows
    .map(([blockId, times, changes, firstChanges]) => ({
      blockId: blockId as number,
      times: uint32Of(times as Uint8Array),
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
  await tx.append('holder_blocks', [[blockId, holderId, bytesOf(times), changes, firstChanges]]);
  const parts = partsOf(block).map((data, part) => [blockId, part, data]);
  await tx.append('holder_block_parts', parts);
  return { blockId, times, changes, firstChanges };
}

export async function deleteBlocks(tx: Statements, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(`DELETE FROM holder_blocks WHERE ${whereIdIn('block_id', ids)}`);
  await tx.run(`DELETE FROM holder_block_parts WHERE ${whereIdIn('block_id', ids)}`);
}

/** The query for the parts of blocks, for Statements.values(); a block contains its checksum. */
const partsIn = (ids: readonly number[]): string =>
  `SELECT block_id, part, data, NULL::UINTEGER FROM holder_block_parts
   WHERE ${ids.length === 0 ? 'false' : whereIdIn('block_id', ids)}`;

/** The stored blocks among these, by id, each in a separate ArrayBuffer. */
export async function readBlocks(
  statements: Pick<Statements, 'values'>,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> {
  if (ids.length === 0) return new Map();
  const values = await statements.values(partsIn(ids));
  return new Map(Array.from(values, ([id, { bytes }]) => [id, bytes]));
}

/** The names of the token's owners, and the stored blocks among these, as of one commit. */
export async function readNamesAndBlocks(
  statements: Pick<Statements, 'values'>,
  holderId: number,
  ids: readonly number[],
): Promise<{ names: OwnerNames; blocks: Map<number, Uint8Array> }> {
  const { chunks, blocks } = await readChunksAndBlocks(statements, holderId, ids);
  return { names: unpackNames(chunks), blocks };
}

/** A block if it is stored, and the number of the token's owners, as of one commit. */
export async function readBlockAndOwners(
  statements: Pick<Statements, 'values'>,
  holderId: number,
  blockId: number,
): Promise<{ block: Uint8Array | undefined; owners: number }> {
  const isLast = `first_owner = (SELECT max(first_owner) FROM holder_owners WHERE holder_id = ${holderId})`;
  const { chunks, blocks } = await readChunksAndBlocks(statements, holderId, [blockId], isLast);
  return { block: blocks.get(blockId), owners: chunks.length === 0 ? 0 : ownersUpTo(chunks[0]) };
}

async function readChunksAndBlocks(
  statements: Pick<Statements, 'values'>,
  holderId: number,
  ids: readonly number[],
  chunksWhere = 'true',
): Promise<{ chunks: OwnerChunk[]; blocks: Map<number, Uint8Array> }> {
  // Keys below 0 belong to chunks of names.
  const values = await statements.values(
    `${partsIn(ids)}
     UNION ALL
     SELECT -1 - first_owner::BIGINT, 0, data, crc32 FROM holder_owners
     WHERE holder_id = ${holderId} AND ${chunksWhere}`,
  );
  const chunks = [...values].filter(([key]) => key < 0);
  const blocks = [...values].filter(([key]) => key >= 0);
  return {
    chunks: chunks.map(([key, { bytes, checksum }]) => ({
      firstOwner: -1 - key,
      crc32: checksum,
      data: bytes,
    })),
    blocks: new Map(blocks.map(([id, { bytes }]) => [id, bytes])),
  };
}
