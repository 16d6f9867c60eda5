/** The damaged part of a token's holder history, which a commit skips. */
import { DamageError, isDamage } from '../../compute/damage.js';
import { ownersOfBlock } from '../../compute/holders/block-decoder.js';
import type { Database } from '../duckdb/database.js';
import { readBlocks, readRefs } from './holder-blocks.js';
import { readNames } from './owner-names.js';

/** A token's holder history, or part of it, cannot be read during a commit. */
export class UnreadableHoldersError extends DamageError {
  constructor(
    readonly holderId: number,
    cause: Error,
  ) {
    super(cause.message, { cause });
  }
}

/** Ids of blocks; 'all' if the names are lost: without them no block can be read. */
export type LostBlocks = ReadonlySet<number> | 'all';

export async function findLostBlocks(database: Database, holderId: number): Promise<LostBlocks> {
  const isReadable = (read: () => Promise<unknown>): Promise<boolean> =>
    read().then(
      () => true,
      (error: unknown) => {
        if (isDamage(error)) return false;
        throw error;
      },
    );
  if (!(await isReadable(() => readNames(database, holderId)))) return 'all';
  const lost = new Set<number>();
  for (const { blockId } of await readRefs(database, holderId)) {
    const read = async (): Promise<unknown> => {
      const block = (await readBlocks(database, [blockId])).get(blockId);
      return ownersOfBlock(block ?? new Uint8Array(0));
    };
    if (!(await isReadable(read))) lost.add(blockId);
  }
  return lost;
}
