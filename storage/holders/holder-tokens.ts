/**
 * The table `holder_tokens`: tokens with holder snapshots, the numbers that stand for them in the
 * other tables, and the histories that the latest commits touched.
 */
import { LRUCache } from 'lru-cache';
import type { OwnerTable } from '../../compute/holders/owners.js';
import type { Database } from '../duckdb/database.js';
import { InputError } from '../errors.js';
import type { HolderBlockRef } from './holder-blocks.js';

/** Tokens with holder snapshots that a store takes. */
const MAX_HOLDER_TOKENS = 100_000;
/** Owners of all histories in memory, at about 70 bytes each: 70 MB. */
const MAX_KEPT_OWNERS = 1_000_000;

/** A token's blocks and owners as its last commit left them. */
export interface HolderState {
  refs: HolderBlockRef[];
  owners: OwnerTable;
  /** Owners when those in use were last counted. */
  countedOwners: number;
}

export class HolderTokens {
  /** Of committed transactions alone. */
  private readonly states = new LRUCache<number, HolderState>({
    maxSize: MAX_KEPT_OWNERS,
    sizeCalculation: ({ owners }) => Math.max(1, owners.size),
  });

  private constructor(
    private readonly ids: Map<string, number>,
    private lastTokenId: number,
    private lastBlockId: number,
  ) {}

  static async load(database: Database): Promise<HolderTokens> {
    const tokens = await database.rows('SELECT token_address, holder_id FROM holder_tokens');
    const [[lastBlock]] = await database.rows('SELECT max(block_id) FROM holder_blocks');
    const ids = new Map(tokens as unknown as [string, number][]);
    let lastTokenId = 0;
    for (const id of ids.values()) lastTokenId = Math.max(lastTokenId, id);
    return new HolderTokens(ids, lastTokenId, (lastBlock as number | null) ?? 0);
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

  /**
   * Takes a token's state out, where it is in memory: a commit changes it and publishes it again, or
   * drops it when it fails.
   */
  takeState(holderId: number): HolderState | undefined {
    const state = this.states.get(holderId);
    this.states.delete(holderId);
    return state;
  }

  /** Makes known what a commit added, and what it left of tokens' histories. */
  publish(added: ReadonlyMap<string, number>, states: Iterable<[number, HolderState]>): void {
    for (const [address, id] of added) this.ids.set(address, id);
    for (const [holderId, state] of states) this.states.set(holderId, state);
  }
}
