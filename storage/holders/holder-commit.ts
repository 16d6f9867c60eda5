/** Adds holder snapshots to the stored ones and thins old ones, within one transaction. */
import { DamageError, isDamage } from '../../compute/damage.js';
import { ownersOfBlock } from '../../compute/holders/block-decoder.js';
import {
  MAX_OWNERS_PER_TOKEN,
  noNames,
  OwnerTable,
  pickNames,
} from '../../compute/holders/owners.js';
import {
  type EncodedHolderBlock,
  type HolderRewrite,
  type rewriteHolderBlocks,
} from '../../compute/holders/rewrite.js';
import { keptTimes } from '../../compute/holders/thinning.js';
import { isoOf } from '../../compute/time.js';
import type { DeleteHoldersFrame, HoldersFrame } from '../bundle.js';
import { damageOf } from '../damaged-span.js';
import type { Database } from '../duckdb/database.js';
import type { Statements } from '../duckdb/statements.js';
import { RefusalError } from '../errors.js';
import { Turns } from '../turns.js';
import {
  deleteBlocks,
  type HolderBlockRef,
  insertBlock,
  readBlocks,
  readRefs,
} from './holder-blocks.js';
import type { HolderState, HolderTokens } from './holder-tokens.js';
import { deleteNames, readNames, writeNames } from './owner-names.js';
import { type PlannedRewrite, planRewrites } from './rewrite-plan.js';

/** Owners of all tokens that a transaction keeps in memory, at about 70 bytes each: 140 MiB. */
const MAX_STAGED_OWNERS = 2 * 1024 * 1024;

/** Names looked up in one turn, which takes a millisecond or two. */
const NAMES_PER_TURN = 16_384;
/** Owners that a token may gain before unused ones are dropped. */
const SPARE_OWNERS = 4096;

/** Runs compute's rewriteHolderBlocks. */
export type RewriteHolders = (
  input: HolderRewrite,
) => Promise<ReturnType<typeof rewriteHolderBlocks>>;

interface HolderTools {
  tx: Statements;
  tokens: HolderTokens;
  rewrite: RewriteHolders;
  database: Database;
}

export class HolderCommit {
  private readonly staged = new Map<string, StagedHolders>();
  private readonly added = new Map<string, number>();
  private readonly changed = new Set<string>();

  constructor(private readonly tools: HolderTools) {}

  /** Mints whose stored snapshots have changed. */
  get changedTokens(): string[] {
    return [...this.changed];
  }

  /**
   * Adds a token's snapshots, or replaces those of the same time; omits those that thinning would not keep
   * (docs/definitions.md#holder-retention).
   * @throws RefusalError if the token would have too many owners
   * @throws DamagedSpanError if stored snapshots that it needs are damaged
   */
  add(frame: HoldersFrame): Promise<void> {
    return this.namingDamage(frame.tokenAddress, () => this.addTo(frame));
  }

  /**
   * Deletes a token's snapshots of `fromS <= t < toS`: whole blocks, and a whole history, without reading them.
   * @returns how many
   * @throws RefusalError if there are none | DamagedSpanError
   */
  delete(frame: DeleteHoldersFrame): Promise<number> {
    return this.namingDamage(frame.address, () => this.deleteFrom(frame));
  }

  private async addTo(frame: HoldersFrame): Promise<void> {
    const token = await this.stage(frame.tokenAddress);
    const stored = token.refs.flatMap(({ times }) => [...times]);
    const all = [...new Set([...stored, ...frame.times])].sort((a, b) => a - b);
    const kept = new Set(keptTimes(all));
    const added = [...frame.times].filter((t) => kept.has(t));
    if (added.length === 0) return;
    const ids = await numbersOf(token, frame);
    // From last to first, to keep the indexes of earlier blocks valid.
    for (const rewrite of planRewrites(token.refs, added, kept).reverse()) {
      const isChanged = await this.rewrite(token, rewrite, { block: frame.block, ids });
      if (isChanged) this.changed.add(frame.tokenAddress);
    }
    if (this.stagedOwners() <= MAX_STAGED_OWNERS) return;
    await this.finish();
    this.staged.clear();
  }

  private async deleteFrom({ chain, address, fromS, toS }: DeleteHoldersFrame): Promise<number> {
    const holderId = chain === 'mainchain' ? this.holderId(address) : undefined;
    const refs = holderId === undefined ? [] : await this.refsOf(address, holderId);
    const stored = refs.flatMap(({ times }) => [...times]);
    const kept = new Set(stored.filter((t) => t < fromS || t >= toS));
    if (holderId === undefined || kept.size === stored.length) {
      const has = stored.length === 0 ? 'none at all' : spanText(stored);
      throw new RefusalError(
        `nothing to delete: ${chain}:${address} has no holder snapshot in the window; it has ${has}`,
      );
    }
    if (kept.size === 0) {
      this.tools.tokens.takeState(holderId);
      this.staged.set(address, await StagedHolders.emptied(this.tools, holderId, refs));
    } else {
      const token = await this.stage(address);
      for (const rewrite of planRewrites(refs, [], kept).reverse()) {
        await this.rewrite(token, rewrite, null);
      }
    }
    this.changed.add(address);
    return stored.length - kept.size;
  }

  /** Writes what is waiting: call right before the commit. */
  async finish(): Promise<void> {
    for (const [address, token] of this.staged) {
      await this.namingDamage(address, () => token.finish());
    }
  }

  /** Has an error about a token's damaged history say which snapshots are damaged. */
  private async namingDamage<T>(address: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const holderId = this.tools.tokens.id(address);
      if (holderId === undefined || !isDamage(error)) throw error;
      throw await damagedHolders(error, this.tools.database, address, holderId);
    }
  }

  private holderId(address: string): number | undefined {
    return this.tools.tokens.id(address) ?? this.added.get(address);
  }

  /** The entries of a token's blocks as the transaction has left them. */
  private async refsOf(address: string, holderId: number): Promise<readonly HolderBlockRef[]> {
    return this.staged.get(address)?.refs ?? readRefs(this.tools.tx, holderId);
  }

  /** Shows readers the new tokens, once the transaction has committed. */
  publish(): void {
    const states = Array.from(
      this.staged.values(),
      ({ holderId, state }): [number, HolderState] => [holderId, state],
    );
    this.tools.tokens.publish(this.added, states);
  }

  /** @returns whether it changed anything */
  private async rewrite(
    token: StagedHolders,
    { from, to, times, adds, drops }: PlannedRewrite,
    added: HolderRewrite['added'],
  ): Promise<boolean> {
    const wanted = new Set(times);
    const refs = token.refs.slice(from, to).filter((ref) => ref.times.some((t) => wanted.has(t)));
    if (times.length === 0) {
      await token.replace(from, to, []);
      return true;
    }
    const blocks = await this.tools.rewrite({
      stored: await token.blocksOf(refs),
      added: adds ? added : null,
      renumbered: null,
      times: Uint32Array.from(times),
      always: drops,
    });
    if (blocks === null) return false;
    await token.replace(from, to, blocks);
    return true;
  }

  private async stage(tokenAddress: string): Promise<StagedHolders> {
    let token = this.staged.get(tokenAddress);
    if (token === undefined) {
      const holderId = this.holderId(tokenAddress);
      token =
        holderId === undefined
          ? await this.create(tokenAddress)
          : new StagedHolders(this.tools, holderId, await this.load(holderId));
      this.staged.set(tokenAddress, token);
    }
    return token;
  }

  private async load(holderId: number): Promise<HolderState> {
    const { tx, tokens } = this.tools;
    const kept = tokens.takeState(holderId);
    if (kept !== undefined) return kept;
    const [[counted]] = await tx.rows(
      'SELECT counted_owners FROM holder_tokens WHERE holder_id = ?',
      [holderId],
    );
    return {
      refs: await readRefs(tx, holderId),
      owners: new OwnerTable(await readNames(tx, holderId)),
      countedOwners: counted as number,
    };
  }

  private async create(tokenAddress: string): Promise<StagedHolders> {
    const holderId = this.tools.tokens.nextTokenId(this.added.size);
    await this.tools.tx.append('holder_tokens', [[holderId, tokenAddress, 0]]);
    this.added.set(tokenAddress, holderId);
    const owners = new OwnerTable(noNames());
    return new StagedHolders(this.tools, holderId, { refs: [], owners, countedOwners: 0 });
  }

  private stagedOwners(): number {
    let owners = 0;
    for (const token of this.staged.values()) owners += token.owners.size;
    return owners;
  }
}

/** The error to throw after a token's history could not be read: without its names, no block can be. */
async function damagedHolders(
  error: DamageError,
  database: Database,
  address: string,
  holderId: number,
): Promise<unknown> {
  const span = { chain: 'mainchain' as const, address, tier: null };
  const refs = await readRefs(database, holderId);
  if (refs.length === 0) return error;
  const whole = Uint32Array.from(refs.flatMap(({ times }) => [...times]));
  const names = { ...span, id: holderId, times: whole };
  const ofNames = await damageOf(error, database.directory, [names], (id) =>
    readNames(database, id),
  );
  if (ofNames !== error) return ofNames;
  const blocks = refs.map(({ blockId: id, times }) => ({ ...span, id, times }));
  return damageOf(error, database.directory, blocks, async (id) =>
    ownersOfBlock((await readBlocks(database, [id])).get(id) ?? new Uint8Array(0)),
  );
}

function spanText(times: readonly number[]): string {
  return `${times.length} from ${isoOf(times[0])} to ${isoOf(times[times.length - 1])}`;
}

async function numbersOf(token: StagedHolders, frame: HoldersFrame): Promise<Uint32Array> {
  const { names, tokenAddress } = frame;
  const fits = (): boolean =>
    token.owners.size + names.offsets.length - 1 <= MAX_OWNERS_PER_TOKEN ||
    token.owners.size + token.owners.countNew(names) <= MAX_OWNERS_PER_TOKEN;
  if (!fits()) await token.dropUnused();
  if (!fits()) {
    throw new RefusalError(
      `owner: the stored snapshots of ${tokenAddress} would name more than ${MAX_OWNERS_PER_TOKEN} owners`,
    );
  }
  const numbers = new Uint32Array(names.offsets.length - 1);
  const turns = new Turns();
  for (let from = 0; from < numbers.length; from += NAMES_PER_TURN) {
    const to = Math.min(from + NAMES_PER_TURN, numbers.length);
    token.owners.number(names, from, to, numbers);
    await turns.take();
  }
  return numbers;
}

/** A token's holder history, as the transaction changes it. */
class StagedHolders {
  /** How many owners' names are stored. */
  private writtenOwners: number;

  constructor(
    private readonly tools: HolderTools,
    readonly holderId: number,
    readonly state: HolderState,
  ) {
    this.writtenOwners = state.owners.size;
  }

  /** A token without the blocks that it had, and without names. */
  static async emptied(
    tools: HolderTools,
    holderId: number,
    refs: readonly HolderBlockRef[],
  ): Promise<StagedHolders> {
    const state = { refs: [], owners: new OwnerTable(noNames()), countedOwners: 0 };
    await deleteBlocks(
      tools.tx,
      refs.map(({ blockId }) => blockId),
    );
    await deleteNames(tools.tx, holderId);
    const emptied = new StagedHolders(tools, holderId, state);
    await emptied.writeCounted();
    return emptied;
  }

  get refs(): readonly HolderBlockRef[] {
    return this.state.refs;
  }

  get owners(): OwnerTable {
    return this.state.owners;
  }

  /** The blocks of these entries, in order. */
  async blocksOf(refs: readonly HolderBlockRef[]): Promise<Uint8Array[]> {
    const ids = refs.map(({ blockId }) => blockId);
    const blocks = await readBlocks(this.tools.tx, ids);
    return ids.map((id) => {
      const block = blocks.get(id);
      if (block === undefined) throw new DamageError(`holder block ${id} is in no table`);
      return block;
    });
  }

  /** Replaces the stored blocks `from <= i < to`. */
  async replace(from: number, to: number, blocks: readonly EncodedHolderBlock[]): Promise<void> {
    const { tx, tokens } = this.tools;
    const refs: HolderBlockRef[] = [];
    for (const block of blocks) {
      refs.push(await insertBlock(tx, this.holderId, tokens.nextBlockId(), block));
    }
    const replaced = this.state.refs.splice(from, to - from, ...refs);
    await deleteBlocks(
      tx,
      replaced.map(({ blockId }) => blockId),
    );
  }

  /** Writes the new names, after dropping unused ones if there may be many. */
  async finish(): Promise<void> {
    if (this.owners.size > 2 * this.state.countedOwners + SPARE_OWNERS) await this.dropUnused();
    if (this.writtenOwners === this.owners.size) return;
    await writeNames(this.tools.tx, this.holderId, this.owners.names());
    this.writtenOwners = this.owners.size;
  }

  /**
   * Counts the owners in use. If half or fewer are in use, drops the others and rewrites every block with new numbers.
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
    await this.writeCounted();
  }

  private async writeCounted(): Promise<void> {
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
    await deleteNames(this.tools.tx, this.holderId);
  }
}
