/** If the log of an open store is removed, shortened or replaced, its contents are written into the database. */
import { cpSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import type { Store } from '../../storage/store.js';
import {
  commitRows,
  DataDirectory,
  openStore,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

const log = (directory: string): string => path.join(directory, `${DATABASE_FILE}.wal`);

const newDirectory = (): string => new DataDirectory().path;

/** The directory as a process would leave it if killed now. */
function killed(directory: string): string {
  const copy = newDirectory();
  cpSync(directory, copy, { recursive: true, filter: (name) => !name.endsWith('.sock') });
  return copy;
}

async function opened(directory: string, notices: string[] = []): Promise<Store> {
  const store = await openStore(directory, { onNotice: (text) => notices.push(text) });
  stores.push(store);
  return store;
}

async function times(directory: string): Promise<number[]> {
  const store = await opened(directory);
  return (await storedSnapshots(store, tokenOf(store))).map(({ t }) => t);
}

const harms: Record<string, (directory: string) => void> = {
  removed: (directory) => rmSync(log(directory)),
  emptied: (directory) => truncateSync(log(directory)),
  'cut short': (directory) => truncateSync(log(directory), 100),
  'replaced by another file': (directory) => {
    const other = path.join(directory, 'other');
    writeFileSync(other, 'no log '.repeat(100_000));
    renameSync(other, log(directory));
  },
};

describe.each(Object.entries(harms))('a log that is %s', (_, harm) => {
  it('by the next commit', async () => {
    const directory = newDirectory();
    const notices: string[] = [];
    const store = await opened(directory, notices);
    await commitRows(store, [snapshot(100)]);
    harm(directory);
    await commitRows(store, [snapshot(200)]);
    expect(notices).toEqual([expect.stringContaining('removed, shortened or replaced')]);
    expect(await times(killed(directory))).toEqual([100, 200]);
    await commitRows(store, [snapshot(300)]);
    expect(await times(killed(directory))).toEqual([100, 200, 300]);
    expect(notices).toHaveLength(1);
  });

  it('and was taken over from a killed process', async () => {
    const before = newDirectory();
    await commitRows(await opened(before), [snapshot(100)]);
    const directory = killed(before);
    const store = await opened(directory);
    harm(directory);
    await commitRows(store, [snapshot(200)]);
    expect(await times(killed(directory))).toEqual([100, 200]);
  });

  it('without a further commit, as soon as the store is probed', async () => {
    const directory = newDirectory();
    const store = await opened(directory);
    await commitRows(store, [snapshot(100)]);
    harm(directory);
    await store.probe();
    expect(await times(killed(directory))).toEqual([100]);
  });
});

it('a log that has only grown is no cause for a checkpoint', async () => {
  const directory = newDirectory();
  const notices: string[] = [];
  const store = await opened(directory, notices);
  for (let t = 100; t < 110; t++) await commitRows(store, [snapshot(t)]);
  await store.probe();
  expect(notices).toEqual([]);
});
