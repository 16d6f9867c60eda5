/** Long holder histories: how much the store keeps of them. */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { Database } from '../../storage/duckdb/database.js';
import { keptReference } from '../reference/holder-retention.js';
import {
  commitHolders,
  encodeHolderBlock,
  holderSnapshot,
  storedHolders,
  held,
  type Held,
} from '../support/holders.js';
import { freshDirectory, MINT, openStore } from '../support/stores.js';

const START = 1_794_600_000;

const directory = freshDirectory();

/** The wallets of a crowd, some of which have traded at `t`. */
function crowd(count: number, t: number): Held {
  return new Map(
    Array.from({ length: count }, (_, i) => [`wallet${i}`, 1 + Math.floor((t / 60 + i) / 100)]),
  );
}

/** Rows of each of the tables. */
async function tableSizes(data: string): Promise<Record<string, number>> {
  const database = await Database.openFile(path.join(data, DATABASE_FILE), {
    memoryLimitMiB: 256,
    threads: 1,
  });
  const tables = ['holder_tokens', 'holder_owners', 'holder_blocks', 'holder_block_parts'];
  const counts = await Promise.all(
    tables.map(async (table) => {
      const [[count]] = await database.rows(`SELECT count(*) FROM ${table}`);
      return [table.slice('holder_'.length), count as number];
    }),
  );
  await database.close();
  return Object.fromEntries(counts) as Record<string, number>;
}

describe('Stored holder snapshots', () => {
  it('of a token that arrive every minute take few blocks, and little beyond the changes', async () => {
    const data = directory.path;
    const store = await openStore(data);
    const owners = 200;
    const minutes = 55 * 60;
    const t = (minute: number) => START + minute * 60;
    // Most at once, the rest as a collector would send it.
    const first = 54 * 60;
    const day = Array.from({ length: first }, (_, i) => [t(i), crowd(owners, t(i))] as const);
    await commitHolders(store, [[MINT, new Map(day)]]);
    for (let i = first; i < minutes; i++) {
      await commitHolders(store, [[MINT, new Map([[t(i), crowd(owners, t(i))]])]]);
    }
    const times = [...(await store.holders.times(MINT))];
    expect(times).toEqual(keptReference(Array.from({ length: minutes }, (_, i) => t(i))));
    const { blocks } = await store.holders.read(MINT, times);
    // 64 minutes per block, and at least three blocks for the six hours before that.
    expect(blocks.length).toBeLessThanOrEqual(Math.ceil(times.length / 64) + 4);
    const last = [...crowd(owners, t(minutes - 1)).values()].map((b, i) => [i, b] as const);
    const wholeBytes = encodeHolderBlock([holderSnapshot(1, last)]).length;
    const bytes = blocks.reduce((sum, block) => sum + block.length, 0);
    expect(bytes).toBeLessThan(times.length * 0.1 * wholeBytes);
    await store.close();
    expect(await tableSizes(data)).toMatchObject({ tokens: 1, owners: 1, blocks: blocks.length });
  });

  it('of ever-changing wallets keep no more names than needed', async () => {
    const data = directory.path;
    const store = await openStore(data);
    const latest = (i: number) => held(500, i, i * 400);
    let most = 0;
    for (let i = 0; i < 60; i++) {
      await commitHolders(store, [[MINT, new Map([[START + (i % 6) * 60, latest(i)]])]]);
      const { names } = await store.holders.read(MINT, [...(await store.holders.times(MINT))]);
      most = Math.max(most, names.offsets.length - 1);
    }
    // There were 24,100 wallets; six snapshots of 500 are stored.
    expect(most).toBeLessThan(4 * (6 * 500) + 4096 + 500);
    const stored = await storedHolders(store.holders, MINT);
    expect([...stored.values()]).toEqual([54, 55, 56, 57, 58, 59].map(latest));
    await store.close();
  });
});
