/** The tokens with holder snapshots, in memory, and the numbers that stand for them in the tables. */
import type { OwnerTable } from '../../compute/holders/owners.js';
import type { Database } from '../duckdb/database.js';
import { InputError } from '../errors.js';
import type { HolderBlockRef } from './holder-blocks.js';

/** Tokens with holder snapshots that a store takes. */
export const MAX_HOLDER_TOKENS = 100_000;

export class HolderRegistry {
  /** Of committed transactions alone. */
  readonly states = new HolderStates();

  private constructor(
    private readonly ids: Map<string, number>,
    private lastTokenId: number,
    private lastBlockId: number,
  ) {}

  static async load(database: Database): Promise<HolderRegistry> {
    const tokens = await database.rows('SELECT token_address, holder_id FROM holder_tokens');
    const [[lastBlock]] = await database.rows('SELECT max(block_id) FROM holder_blocks');
    const ids = new Map(tokens as unknown as [string, number][]);
    return new HolderRegistry(ids, Math.max(0, ...ids.values()), (lastBlock as number | null) ?? 0);
  }

  /** Undefined where no holder snapshot of the token has been committed. */
  id(tokenAddress: string): number | undefined {
    return this.ids.get(tokenAddress);
  }

  /**
   * A number for a token that has none, handed out once.
   * @param fresh how many tokens the transaction has added already
   * @throws InputError where the store would have too many
   */
  nextTokenId(fresh: number): number {
    if (this.ids.size + fresh >= MAX_HOLDER_TOKENS) {
      throw new InputError(
        `token_address: the store would have holders of more than ${MAX_HOLDER_TOKENS} tokens`,
      );
    }
    return ++this.lastTokenId;
  }

  nextBlockId(): number {
    return ++this.lastBlockId;
  }

  /** Makes tokens that a commit added known to readers. */
  publish(added: ReadonlyMap<string, number>): void {
    for (const [address, id] of added) this.ids.set(address, id);
  }
}

// What the latest commits left of tokens' holder histories, so that the next ones need not read it.

/** Owners of all states in memory, at about 70 bytes each: 70 MB. */
const MAX_KEPT_OWNERS = 1_000_000;

/** A token's blocks and owners as its last commit left them. */
export interface HolderState {
  refs: HolderBlockRef[];
  owners: OwnerTable;
  /** Owners when those in use were last counted. */
  countedOwners: number;
}

export class HolderStates {
  /** Least recently kept first. */
  private readonly states = new Map<number, HolderState>();
  private owners = 0;

  /** Takes a state out: whoever changes it keeps the result, or nothing where that came to nothing. */
  take(holderId: number): HolderState | undefined {
    const state = this.states.get(holderId);
    if (state !== undefined) {
      this.states.delete(holderId);
      this.owners -= state.owners.size;
    }
    return state;
  }

  keep(holderId: number, state: HolderState): void {
    this.take(holderId);
    this.states.set(holderId, state);
    this.owners += state.owners.size;
    for (const oldest of this.states.keys()) {
      if (this.owners <= MAX_KEPT_OWNERS) break;
      this.take(oldest);
    }
  }
}
