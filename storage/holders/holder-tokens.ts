/**
 * The table `holder_tokens`: the tokens with holder snapshots, their numbers in the other tables, and the histories that
 * the latest commits touched.
 */
import { LRUCache } from 'lru-cache';
import { noNames, type OwnerTable } from '../../compute/holders/owners.js';
import type { HolderBlocks, HolderSource } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import { RefusalError } from '../errors.js';
import { type HolderBlockRef, readNamesAndBlocks, readRefs } from './holder-blocks.js';

/** Tokens with holder snapshots. */
const MAX_HOLDER_TOKENS = 100_000;
/** Owners of all histories in memory, and the bytes of each. */
const MAX_KEPT_OWNERS = 1_000_000;
const OWNER_BYTES = 70;
/** Attempts to read a token's blocks, each with the entries of that moment. */
const MAX_ATTEMPTS = 16;

/** A token's blocks and owners as of its last commit. */
export interface HolderState {
  refs: HolderBlockRef[];
  owners: OwnerTable;
  /** How many owners there were when dropUnused() last ran. */
  countedOwners: number;
}

export class HolderTokens {
  /** As of the last commits. */
  private readonly states: LRUCache<number, HolderState>;

  private constructor(
    private readonly ids: Map<string, number>,
    private lastTokenId: number,
    private lastBlockId: number,
    keptBytes: number,
  ) {
    this.states = new LRUCache({
      maxSize: Math.floor(keptBytes / OWNER_BYTES),
      sizeCalculation: ({ owners }) => Math.max(1, owners.size),
    });
  }

  static async load(
    database: Database,
    keptBytes = MAX_KEPT_OWNERS * OWNER_BYTES,
  ): Promise<HolderTokens> {
    const tokens = await database.rows('SELECT token_address, holder_id FROM holder_tokens');
    const [[lastBlock]] = await database.rows('SELECT max(block_id) FROM holder_blocks');
    const ids = new Map(tokens as unknown as [string, number][]);
    let lastTokenId = 0;
    for (const id of ids.values()) lastTokenId = Math.max(lastTokenId, id);
    return new HolderTokens(ids, lastTokenId, (lastBlock as number | null) ?? 0, keptBytes);
  }

  /** Undefined if the token has no committed holder snapshot. */
  id(tokenAddress: string): number | undefined {
    return this.ids.get(tokenAddress);
  }

  /**
   * A number for a new token; each is assigned once.
   * @param added how many tokens the transaction has added already
   * @throws RefusalError if the store would have too many
   */
  nextTokenId(added: number): number {
    if (this.ids.size + added >= MAX_HOLDER_TOKENS) {
      throw new RefusalError(
        `token_address: the store would have holders of more than ${MAX_HOLDER_TOKENS} tokens`,
      );
    }
    return ++this.lastTokenId;
  }

  nextBlockId(): number {
    return ++this.lastBlockId;
  }

  /**
   * Removes and returns a token's state if it is in memory: a commit changes it and publishes it again, or drops it if it
   * fails.
   */
  takeState(holderId: number): HolderState | undefined {
    const state = this.states.get(holderId);
    this.states.delete(holderId);
    return state;
  }

  /** Publishes the tokens that a commit has added and the histories that it has changed. */
  publish(added: ReadonlyMap<string, number>, states: Iterable<[number, HolderState]>): void {
    for (const [address, id] of added) this.ids.set(address, id);
    for (const [holderId, state] of states) this.states.set(holderId, state);
  }
}

export class HolderReader implements HolderSource {
  constructor(
    private readonly database: Pick<Database, 'rows' | 'values'>,
    private readonly tokens: HolderTokens,
  ) {}

  async times(tokenAddress: string): Promise<Uint32Array> {
    const holderId = this.tokens.id(tokenAddress);
    if (holderId === undefined) return new Uint32Array(0);
    const refs = await readRefs(this.database, holderId);
    return Uint32Array.from(refs.flatMap(({ times }) => [...times]));
  }

  async read(tokenAddress: string, times: readonly number[]): Promise<HolderBlocks> {
    const holderId = this.tokens.id(tokenAddress);
    if (holderId === undefined || times.length === 0) return { names: noNames(), blocks: [] };
    const wanted = new Set(times);
    for (let attempt = 1; ; attempt++) {
      const refs = await readRefs(this.database, holderId);
      const ids = refs
        .filter((ref) => ref.times.some((t) => wanted.has(t)))
        .map(({ blockId }) => blockId);
      const { names, blocks } = await readNamesAndBlocks(this.database, holderId, ids);
      const found = ids.flatMap((id) => blocks.get(id) ?? []);
      // A commit may have replaced blocks and renumbered owners: read names and blocks together once more.
      if (found.length === ids.length) return { names, blocks: found };
      if (attempt === MAX_ATTEMPTS) throw new Error('holder blocks are in no table');
    }
  }
}
