/** One token's holder history as a transaction is about to leave it. */
import { ownersOfBlock } from '../../compute/holders/block-decoder.js';
import { OwnerTable, pickNames } from '../../compute/holders/owners.js';
import type {
  EncodedHolderBlock,
  HolderRewrite,
  rewriteHolderBlocks,
} from '../../compute/holders/rewrite.js';
import type { Statements } from '../duckdb/database.js';
import {
  deleteBlocks,
  type HolderBlockRef,
  insertBlock,
  readBlocks,
  writeChunks,
} from './holder-blocks.js';
import type { HolderRegistry } from './holder-tokens.js';
import { packNames } from './owner-names.js';
import type { TokenState } from './token-states.js';

/** Runs compute's rewriteHolderBlocks, in a pool where there is one. */
export type RewriteHolders = (
  input: HolderRewrite,
) => Promise<ReturnType<typeof rewriteHolderBlocks>>;

/** What a token's history is written with. */
export interface HolderTools {
  tx: Statements;
  registry: HolderRegistry;
  rewrite: RewriteHolders;
}

/** Owners that a token may gain before those that nothing names any more are looked for. */
const SPARE_OWNERS = 4096;

export class StagedToken {
  constructor(
    private readonly tools: HolderTools,
    readonly holderId: number,
    readonly state: TokenState,
  ) {
    this.writtenOwners = state.owners.size;
  }

  /** Owners whose names are in their table. */
  private writtenOwners: number;

  get refs(): readonly HolderBlockRef[] {
    return this.state.refs;
  }

  get owners(): OwnerTable {
    return this.state.owners;
  }

  /** Stored blocks of those entries, in order. */
  async blocksOf(refs: readonly HolderBlockRef[]): Promise<Uint8Array[]> {
    const ids = refs.map(({ blockId }) => blockId);
    const blocks = await readBlocks(this.tools.tx, ids);
    return ids.map((id) => {
      const block = blocks.get(id);
      if (block === undefined) throw new Error(`holder block ${id} is in no table`);
      return block;
    });
  }

  /** Puts blocks in place of the stored ones `from <= i < to`. */
  async replace(from: number, to: number, blocks: readonly EncodedHolderBlock[]): Promise<void> {
    const { tx, registry } = this.tools;
    const refs: HolderBlockRef[] = [];
    for (const block of blocks) {
      refs.push(await insertBlock(tx, this.holderId, registry.nextBlockId(), block));
    }
    const replaced = this.state.refs.splice(from, to - from, ...refs);
    await deleteBlocks(
      tx,
      replaced.map(({ blockId }) => blockId),
    );
  }

  /** Writes the names that are new, without those in no use once they may be many. */
  async finish(): Promise<void> {
    if (this.owners.size > 2 * this.state.countedOwners + SPARE_OWNERS) await this.dropUnused();
    await this.writeNames();
  }

  /**
   * Counts the owners that any block names; where they are no more than half, the others are dropped
   * and every block is written anew under new numbers.
   */
  async dropUnused(): Promise<void> {
    const used = new Uint8Array(this.owners.size);
    for (const ref of this.refs) {
      const [block] = await this.blocksOf([ref]);
      for (const owner of ownersOfBlock(block)) used[owner] = 1;
    }
    const kept = [...used.keys()].filter((owner) => used[owner] === 1);
    if (2 * kept.length <= this.owners.size) await this.renumber(kept);
    this.state.countedOwners = this.owners.size;
    await this.tools.tx.run('UPDATE holder_tokens SET counted_owners = ? WHERE holder_id = ?', [
      this.state.countedOwners,
      this.holderId,
    ]);
  }

  private async renumber(kept: readonly number[]): Promise<void> {
    const renumbered = new Uint32Array(this.owners.size);
    kept.forEach((owner, i) => (renumbered[owner] = i));
    for (let i = this.refs.length - 1; i >= 0; i--) {
      const ref = this.refs[i];
      const stored = await this.blocksOf([ref]);
      const input = { stored, added: null, renumbered, times: ref.times, always: true };
      await this.replace(i, i + 1, (await this.tools.rewrite(input)) ?? []);
    }
    this.state.owners = new OwnerTable(pickNames(this.owners.names(), kept));
    this.writtenOwners = 0;
    await this.tools.tx.run('DELETE FROM holder_owners WHERE holder_id = ?', [this.holderId]);
  }

  private async writeNames(): Promise<void> {
    const { tx } = this.tools;
    if (this.writtenOwners === this.owners.size) return;
    // The last chunk is filled up, so that a few names at a time make no chunk each.
    const [[last]] = await tx.rows(
      'SELECT max(first_owner) FROM holder_owners WHERE holder_id = ?',
      [this.holderId],
    );
    const from = (last as number | null) ?? 0;
    await writeChunks(tx, this.holderId, packNames(this.owners.names(), from));
    this.writtenOwners = this.owners.size;
  }
}
