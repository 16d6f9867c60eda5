/** What is remembered of the commits that changed snapshots already shown. */
import { cpSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bundleFile } from '../../storage/bundle.js';
import { LOG_FOLDER } from '../../storage/data-directory.js';
import { EMPTY_DIRECTORY } from '../../storage/depth/directory.js';
import { shownChanges } from '../../storage/depth/shown-changes.js';
import { markOf } from '../../storage/log/mark.js';
import { readMeta } from '../../storage/meta.js';
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
/** Positions of the stored revisions. */
const remembered = async (): Promise<number[]> => {
  const rows = await held.store['parts'].database.rows(
    'SELECT position FROM depth_revisions ORDER BY position',
  );
  return rows.flat() as number[];
};
const reachesBack = (): boolean[] => [1, 2, 3].map((at) => held.store.depth.remembers(at));

/** An entry of a cluster's log. */
const mark = (position: number) => ({
  logId: 'log',
  position,
  entryId: `${position}`,
  timeMs: 0,
  isOwn: false,
});

async function follow(position: number, row: SnapshotRow): Promise<void> {
  const made = await bundleOf(held.store, [row]);
  const bundle = readFileSync(bundleFile(held.store.directory, made.name));
  await made.discard();
  await held.store.applied.apply({ kind: 'bundle', bundle }, mark(position));
}

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
    expect(await remembered()).toEqual([2, 3]);
    expect(reachesBack()).toEqual([true, true, true]);
    expect(held.store.depth.remembers(4)).toBe(false);
    vi.setSystemTime(T * 1000 + 25 * HOUR_MS);
    await revise();
    for (const step of ['as committed', 'as stored']) {
      expect([step, await remembered()]).toEqual([step, [3, 4]]);
      expect([step, reachesBack()]).toEqual([step, [false, true, true]]);
      await held.reopen();
    }
  });

  it('of the last 100,000 commits are remembered', async () => {
    await follow(1, revised());
    await held.store['parts'].database.run(
      `INSERT INTO depth_revisions SELECT n, token_id, committed_at, times, last_t
       FROM depth_revisions, range(2, 100001) AS numbers(n)`,
    );
    await held.store.applied.pass(mark(100_000));
    await held.reopen();
    expect(held.store.depth.position).toBe(100_000);
    expect(reachesBack()).toEqual([true, true, true]);
    await follow(100_001, revised());
    expect(held.store.depth.remembers(0)).toBe(false);
    expect(reachesBack()).toEqual([true, true, true]);
    expect((await remembered()).slice(0, 2)).toEqual([2, 3]);
  });

  it('of a log have the positions of its entries; those of a store that left it begin again', async () => {
    await revise();
    vi.setSystemTime(T * 1000 + 25 * HOUR_MS);
    await revise();
    expect(reachesBack()[0]).toBe(false);
    const before = held.store.depth.commitHistory;
    await held.store.applied.pass(mark(6));
    expect(held.store.depth.commitHistory).toBe('log');
    await follow(7, revised());
    await follow(8, snapshot(T));
    await held.store.applied.pass(mark(9));
    for (const step of ['as applied', 'as stored']) {
      const { commitHistory, position } = held.store.depth;
      const { lastRevision } = await viewed();
      expect([step, commitHistory, position, lastRevision]).toEqual([step, 'log', 9, 7]);
      expect(await remembered()).toEqual([7]);
      // The cursor of a client may come from a node that is ahead.
      expect([0, 10].map((at) => held.store.depth.remembers(at))).toEqual([true, true]);
      await held.reopen();
    }
    expect(await held.store.leaveLog()).toMatchObject({ position: 9 });
    for (const step of ['as left', 'as stored']) {
      // No client has a cursor with this name and one of the positions that begin again.
      expect([before, 'log']).not.toContain(held.store.depth.commitHistory);
      expect([step, await remembered()]).toEqual([step, []]);
      expect([step, held.store.depth.position, held.store.depth.remembers(0)]).toEqual([
        step,
        0,
        true,
      ]);
      expect([step, (await viewed()).lastRevision]).toEqual([step, 0]);
      await held.reopen();
    }
    vi.setSystemTime(T * 1000 + 50 * HOUR_MS);
    await revise();
    expect([held.store.depth.position, await remembered()]).toEqual([1, [1]]);
  });
});

describe('Positions of a store that was copied', () => {
  const copied = (isWithLog: boolean): DataDirectory => {
    const directory = new DataDirectory();
    cpSync(held.store.directory, directory.path, { recursive: true });
    if (!isWithLog) rmSync(path.join(directory.path, LOG_FOLDER), { recursive: true });
    return directory;
  };

  it.each([true, false])('count on, with the log: %s', async (isWithLog) => {
    await revise();
    const { commitHistory, position } = held.store.depth;
    const store = await openStore(copied(isWithLog).path);
    expect([store.depth.commitHistory, store.depth.position]).toEqual([commitHistory, position]);
    // What the copied store has committed since is unknown here.
    expect([store.depth.remembers(position), store.depth.remembers(position + 1)]).toEqual([
      true,
      false,
    ]);
    await commitRows(store, [revised()]);
    expect(store.depth.position).toBe(position + 1);
    // Without the log it begins another one: the same position would be of another commit there.
    expect(store.depth.commitHistory === commitHistory).toBe(isWithLog);
    await store.close();
  });

  it('count on in another log whose first entry is refused', async () => {
    await revise();
    const { commitHistory, position } = held.store.depth;
    const directory = copied(false).path;
    const store = await openStore(directory);
    const refused = snapshot(T, [{ ...orca(), exchange_type: 'CEX' }]);
    await expect(commitRows(store, [refused])).rejects.toThrow(
      'venue orca is onchain_pool in the store',
    );
    // The database still has the log before, and has forgotten its revisions.
    const kept = markOf(await readMeta(store['parts'].database));
    expect([kept?.logId, kept?.position]).toEqual([commitHistory, position]);
    expect([position - 1, position].map((at) => store.depth.remembers(at))).toEqual([false, true]);
    await store.close();
    const again = await openStore(directory);
    expect(again.depth.commitHistory).not.toBe(commitHistory);
    await commitRows(again, [revised()]);
    const { database } = again['parts'];
    // The place of the refused entry stays in the log.
    const rows = await database.rows('SELECT position FROM depth_revisions ORDER BY ALL');
    expect(rows).toEqual([[position + 2]]);
    await again.close();
  });
});
