/** What is remembered of the commits that changed snapshots already shown. */
import { appendFileSync, cpSync, readFileSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bundleFile } from '../../storage/bundle.js';
import { LOG_FILE } from '../../storage/data-directory.js';
import { EMPTY_DIRECTORY } from '../../storage/depth/directory.js';
import { shownChanges } from '../../storage/depth/shown-changes.js';
import { Turns } from '../../storage/turns.js';
import {
  bundleOf,
  commitRows,
  DataDirectory,
  FreshStore,
  openStore,
  orca,
  type SnapshotRow,
  snapshot,
  tokenOf,
} from '../support/stores.js';

const T = 1_794_000_000;
const HOUR_MS = 3600_000;

const held = new FreshStore();
let versions = 0;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: T * 1000 });
  await commitRows(held.store, [snapshot(T - 600), snapshot(T - 300)]);
});
afterEach(() => vi.useRealTimers());

/** Another version of a stored snapshot. */
const revised = (): SnapshotRow => snapshot(T - 600, [orca([[0, 10 + versions++, 5]])]);
const revise = (): Promise<unknown> => commitRows(held.store, [revised()]);

const viewed = () => held.store.depth.view(tokenOf(held.store));
/** Positions of the stored revisions in the present history. */
const remembered = async (): Promise<number[]> => {
  const { depth } = held.store;
  const rows = await held.store['parts'].database.rows(
    'SELECT position FROM depth_revisions WHERE starts_with(?, history) ORDER BY position',
    [depth.commitHistory],
  );
  return rows.flat() as number[];
};
const reachesBack = (): boolean[] => [0, 1, 2].map((at) => held.store.depth.remembers(at));

describe('Revisions', () => {
  it('of each token take a turn: a commit may touch twenty thousand', async () => {
    const turns = new Turns();
    const take = vi.spyOn(turns, 'take');
    for (let i = 0; i < 3; i++) await shownChanges(EMPTY_DIRECTORY, EMPTY_DIRECTORY, turns);
    expect(take).toHaveBeenCalledTimes(3);
  });

  it('are remembered for a day, also by a store that is opened again', async () => {
    await revise();
    vi.setSystemTime(T * 1000 + 23 * HOUR_MS);
    await revise();
    expect(await remembered()).toEqual([1, 2]);
    expect(reachesBack()).toEqual([true, true, true]);
    expect(held.store.depth.remembers(3)).toBe(false);
    vi.setSystemTime(T * 1000 + 25 * HOUR_MS);
    await revise();
    for (const step of ['as committed', 'as stored']) {
      expect([step, await remembered()]).toEqual([step, [2, 3]]);
      expect([step, reachesBack()]).toEqual([step, [false, true, true]]);
      await held.reopen();
    }
  });

  it('of the last 100,000 commits are remembered', async () => {
    await revise();
    await held.store['parts'].database.run(
      `INSERT INTO depth_revisions SELECT history, n, token_id, committed_at, times, last_t
       FROM depth_revisions, range(2, 100001) AS numbers(n)`,
    );
    await held.reopen();
    expect(held.store.depth.position).toBe(100_000);
    expect(reachesBack()).toEqual([true, true, true]);
    await revise();
    expect(reachesBack()).toEqual([false, true, true]);
    expect((await remembered()).slice(0, 2)).toEqual([2, 3]);
  });

  it('of a log have the positions of its entries; those of a store that left it begin again', async () => {
    const mark = (position: number) => ({ logId: 'log', position, entryId: `${position}` });
    const follow = async (position: number, row: SnapshotRow): Promise<void> => {
      const made = await bundleOf(held.store, [row]);
      const bundle = readFileSync(bundleFile(held.store.directory, made.name));
      await made.discard();
      await held.store.log.apply({ kind: 'bundle', bundle }, mark(position));
    };
    await revise();
    vi.setSystemTime(T * 1000 + 25 * HOUR_MS);
    await revise();
    expect(reachesBack()[0]).toBe(false);
    const before = held.store.depth.commitHistory;
    await held.store.log.pass(mark(6));
    expect(held.store.depth.commitHistory).toBe('log');
    await follow(7, revised());
    await follow(8, snapshot(T));
    await held.store.log.pass(mark(9));
    for (const step of ['as applied', 'as stored']) {
      const { commitHistory, position } = held.store.depth;
      const { lastRevision } = await viewed();
      expect([step, commitHistory, position, lastRevision]).toEqual([step, 'log', 9, 7]);
      expect(await remembered()).toEqual([7]);
      // The cursor of a client may come from a node that is ahead.
      expect([0, 10].map((at) => held.store.depth.remembers(at))).toEqual([true, true]);
      await held.reopen();
    }
    expect(await held.store.leaveLog()).toBe(9);
    const { commitHistory } = held.store.depth;
    // No client has a cursor with this name and one of the positions that begin again.
    expect([before, 'log']).not.toContain(commitHistory);
    for (const step of ['as left', 'as stored']) {
      expect([step, held.store.depth.commitHistory]).toEqual([step, commitHistory]);
      expect([step, held.store.depth.position, reachesBack()[0]]).toEqual([step, 0, true]);
      expect([step, (await viewed()).lastRevision]).toEqual([step, 0]);
      await held.reopen();
    }
    vi.setSystemTime(T * 1000 + 50 * HOUR_MS);
    await revise();
    expect([held.store.depth.position, await remembered()]).toEqual([1, [1]]);
    const { database } = held.store['parts'];
    expect(await database.rows('SELECT position FROM depth_revisions')).toEqual([[1]]);
  });
});

/** What happened to a log before the store is opened again, and whether its positions may be given a second time. */
const LOGS: [string, (log: string) => void, boolean][] = [
  ['whole', () => undefined, false],
  [
    'torn in a commit that nobody has seen',
    (log) => appendFileSync(log, Buffer.alloc(100, 7)),
    false,
  ],
  [
    'that ends in zeros, as if the disk had lost a commit',
    (log) => appendFileSync(log, Buffer.alloc(600)),
    true,
  ],
  ['cut to nothing, which the operator accepts', (log) => truncateSync(log, 0), true],
];

describe('A killed store with a log', () => {
  it.each(LOGS)('%s', async (_, happened, isOtherHistory) => {
    await revise();
    const { commitHistory } = held.store.depth;
    const directory = new DataDirectory();
    cpSync(held.store.directory, directory.path, { recursive: true });
    happened(path.join(directory.path, LOG_FILE));
    const store = await openStore(directory.path, { acceptDamagedLog: true });
    expect(store.depth.commitHistory !== commitHistory).toBe(isOtherHistory);
    const again = store.depth.commitHistory;
    await store.close();
    const reopened = await openStore(directory.path);
    expect(reopened.depth.commitHistory).toBe(again);
    await reopened.close();
  });
});
