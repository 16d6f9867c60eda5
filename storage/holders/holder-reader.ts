/** Holder history as DuckDB serves it. */
import type { Database } from '../duckdb/database.js';
import type { HolderBlocks, HolderSource } from '../contract.js';
import { noNames } from '../../compute/holders/owners.js';
import type { HolderRegistry } from './holder-tokens.js';
import { readNamesAndBlocks, readRefs } from './holder-blocks.js';

/** How often blocks are looked for again that a commit replaced before they were read. */
const MAX_ATTEMPTS = 16;

export class HolderReader implements HolderSource {
  constructor(
    private readonly database: Pick<Database, 'rows'>,
    private readonly registry: HolderRegistry,
  ) {}

  async times(tokenAddress: string): Promise<Uint32Array> {
    const holderId = this.registry.id(tokenAddress);
    if (holderId === undefined) return new Uint32Array(0);
    const refs = await readRefs(this.database, holderId);
    const all = new Uint32Array(refs.reduce((sum, { times }) => sum + times.length, 0));
    let at = 0;
    for (const { times } of refs) {
      all.set(times, at);
      at += times.length;
    }
    return all;
  }

  async read(tokenAddress: string, times: readonly number[]): Promise<HolderBlocks> {
    const holderId = this.registry.id(tokenAddress);
    if (holderId === undefined || times.length === 0) return { names: noNames(), blocks: [] };
    const wanted = new Set(times);
    for (let attempt = 1; ; attempt++) {
      const refs = await readRefs(this.database, holderId);
      const ids = refs
        .filter((ref) => ref.times.some((t) => wanted.has(t)))
        .map(({ blockId }) => blockId);
      const { names, blocks } = await readNamesAndBlocks(this.database, holderId, ids);
      const found = ids.flatMap((id) => blocks.get(id) ?? []);
      // Owners' numbers may be others once blocks were replaced: names and blocks go together.
      if (found.length === ids.length) return { names, blocks: found };
      if (attempt === MAX_ATTEMPTS) throw new Error('holder blocks are in no table');
    }
  }
}
