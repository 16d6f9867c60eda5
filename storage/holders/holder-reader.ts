/** Holder history as DuckDB serves it. */
import { noNames } from '../../compute/holders/owners.js';
import type { HolderBlocks, HolderSource } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import { readNamesAndBlocks, readRefs } from './holder-blocks.js';
import type { HolderTokens } from './holder-tokens.js';

/** Reads of a token's blocks, each after a new look at its entries, before giving up. */
const MAX_ATTEMPTS = 16;

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
      // A commit that replaces blocks may number owners anew: names and blocks go together.
      if (found.length === ids.length) return { names, blocks: found };
      if (attempt === MAX_ATTEMPTS) throw new Error('holder blocks are in no table');
    }
  }
}
