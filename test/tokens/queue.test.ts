import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../storage/duckdb/database.js';
import type { Statements } from '../../storage/duckdb/statements.js';
import { MAX_QUEUED_TOKENS, WaitingTokens } from '../../storage/queue.js';
import { ensureSchema } from '../../storage/schema.js';
import { commitTokens, DataDirectory, MINT, openStore, OTHER_MINT } from '../support/stores.js';

let directory: DataDirectory;
beforeEach(() => {
  directory = new DataDirectory();
});

/** A real database with the queue's table, whose writes can be made to fail. */
async function openQueueDatabase() {
  await mkdir(directory.path, { recursive: true });
  const file = path.join(directory.path, 'queue.duckdb');
  const database = await Database.openFile(file, { memoryLimitMiB: 128, threads: 1 });
  await ensureSchema(database, file);
  const state = { fails: false, writes: 0 };
  return {
    state,
    rows: (sql: string) => database.rows(sql),
    close: () => database.close(),
    shortTransaction<T>(body: (tx: Statements) => Promise<T>): Promise<T> {
      state.writes++;
      return state.fails
        ? Promise.reject(new Error('the disk is full'))
        : database.shortTransaction(body);
    },
  };
}

const addressesOf = async ({ rows }: Awaited<ReturnType<typeof openQueueDatabase>>) =>
  (await rows('SELECT address FROM queue ORDER BY address')).flat();

describe('the queue', () => {
  it('survives reopening the store, in the order of the first requests', async () => {
    const store = await openStore(directory.path);
    expect(store.queue.request('mainchain', OTHER_MINT)).toBe(true);
    expect(store.queue.request('mainchain', MINT)).toBe(true);
    expect(store.queue.request('mainchain', OTHER_MINT)).toBe(false);
    const before = store.queue.list();
    expect(before.find(({ address }) => address === OTHER_MINT)?.requests).toBe(2);
    await store.close();

    const again = await openStore(directory.path);
    expect(again.queue.list()).toEqual(before);
    expect(await again.listQueue()).toEqual(before);
    await commitTokens(again, [{ address: MINT }]);
    expect(again.queue.list().map(({ address }) => address)).toEqual([OTHER_MINT]);
    // A mint with a record is no longer queued.
    expect(again.queue.request('mainchain', MINT)).toBe(false);
    await again.close();

    const last = await openStore(directory.path);
    expect(last.queue.list().map(({ address }) => address)).toEqual([OTHER_MINT]);
    await last.close();
  });

  it('is bounded: one more replaces the one least recently requested', async () => {
    const database = await openQueueDatabase();
    let nowS = 100;
    const queue = await WaitingTokens.load(database, {
      hasRecord: () => false,
      onError: () => undefined,
      nowS: () => nowS++,
      maxTokens: 3,
    });
    for (const address of ['a', 'b', 'c', 'a', 'd']) queue.request('mainchain', address);
    expect(queue.list().map(({ address, requests }) => [address, requests])).toEqual([
      ['a', 2],
      ['c', 1],
      ['d', 1],
    ]);
    await queue.close();
    expect(await addressesOf(database)).toEqual(['a', 'c', 'd']);
    const loaded = await WaitingTokens.load(database, {
      hasRecord: () => false,
      onError: () => undefined,
    });
    expect(loaded.list()).toEqual(queue.list());
    expect(MAX_QUEUED_TOKENS).toBe(100_000);
    await database.close();
  });

  it('retries failed writes, and writes many rows in few statements', async () => {
    const database = await openQueueDatabase();
    const failed: unknown[] = [];
    const queue = await WaitingTokens.load(database, {
      hasRecord: () => false,
      onError: (error) => failed.push(error),
    });
    database.state.fails = true;
    for (let n = 0; n < 1200; n++) queue.request('mainchain', `token-${n}`);
    await queue.close();
    expect(failed).toEqual([new Error('the disk is full')]);
    expect(database.state.writes).toBe(1);
    database.state.fails = false;
    await queue.close();
    expect(await addressesOf(database)).toHaveLength(1200);
    expect(database.state.writes).toBe(4);
    await database.close();
  });
});
