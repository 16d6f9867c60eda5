/** The log of a single server: when a change is durable, and what becomes of one that cannot be applied. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LOG_FOLDER } from '../../storage/data-directory.js';
import { DiskFullError, PendingError, StoreUnavailableError } from '../../storage/errors.js';
import { packEntry } from '../../storage/log/entry.js';
import { FileLog } from '../../storage/log/file-log.js';
import type { CheckCursor, CheckStep } from '../../storage/operations.js';
import {
  commitDelete,
  commitRows,
  DataDirectory,
  FreshStore,
  MINT,
  openStore,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { eventually } from '../support/waiting.js';

/** Called before a folder's names are flushed to the disk. */
const disk = vi.hoisted(() => ({ sync: (_: string): Promise<void> => Promise.resolve() }));
vi.mock('../../storage/disk.js', async (original) => {
  const real = await original<{ syncFile: (file: string) => Promise<void> }>();
  return {
    ...real,
    syncFile: async (file: string) => {
      await disk.sync(file);
      return real.syncFile(file);
    },
  };
});

const held = new FreshStore();
beforeEach(async () => {
  disk.sync = () => Promise.resolve();
  await commitRows(held.store, [snapshot(100)]);
});

const folder = (): string => path.join(held.store.directory, LOG_FOLDER);
const entries = (): string[] =>
  readdirSync(folder())
    .filter((name) => name.endsWith('.entry'))
    .map((name) => String(Number(name.slice(0, 16))));
const times = async (): Promise<number[]> =>
  (await storedSnapshots(held.store, tokenOf(held.store))).map(({ t }) => t);

describe('A change', () => {
  it('is acknowledged, and visible, only once its name is on the disk', async () => {
    let flush = (): void => undefined;
    const flushed = new Promise<void>((resolve) => (flush = resolve));
    let isWaiting = false;
    disk.sync = (file) => {
      if (file !== folder()) return Promise.resolve();
      isWaiting = true;
      return flushed;
    };
    let isDone = false;
    const committing = commitRows(held.store, [snapshot(200)]).then(() => (isDone = true));
    await eventually('its name is being flushed', () => isWaiting);
    // Statements of the database, one after the other.
    for (let i = 0; i < 3; i++) expect([await times(), isDone]).toEqual([[100], false]);
    flush();
    await committing;
    expect(await times()).toEqual([100, 200]);
  });

  it('whose name cannot be flushed is not stored', async () => {
    const before = entries();
    disk.sync = (file) =>
      file === folder() ? Promise.reject(new Error('made up')) : Promise.resolve();
    await expect(commitRows(held.store, [snapshot(200)])).rejects.toThrow('made up');
    expect([entries(), await times()]).toEqual([before, [100]]);
    disk.sync = () => Promise.resolve();
    await commitRows(held.store, [snapshot(300)]);
    await held.reopen();
    expect([await times(), held.store.applied.position]).toEqual([[100, 300], 2]);
  });

  it('that is refused leaves the log as it was', async () => {
    const before = readdirSync(folder());
    const nothing = { address: MINT, fromS: 500, toS: 600, needsAny: true };
    await expect(commitDelete(held.store, nothing)).rejects.toThrow('nothing');
    expect(readdirSync(folder())).toEqual(before);
    await commitRows(held.store, [snapshot(200)]);
    expect(entries()).toEqual(['1', '2']);
    await held.reopen();
    expect(await times()).toEqual([100, 200]);
  });

  it('that cannot be applied after three attempts is withdrawn', async () => {
    const failure = new StoreUnavailableError('the database is out of memory');
    const apply = vi.spyOn(held.store.applied, 'applyBundle').mockRejectedValue(failure);
    await expect(commitRows(held.store, [snapshot(200)])).rejects.toThrow('out of memory');
    expect(apply).toHaveBeenCalledTimes(3);
    apply.mockRestore();
    expect(entries()).toEqual(['1']);
    await commitRows(held.store, [snapshot(300)]);
    await held.reopen();
    expect(await times()).toEqual([100, 300]);
  });

  it('between others that cannot be applied leaves its place', async () => {
    const apply = vi.spyOn(held.store.applied, 'applyBundle');
    apply.mockRejectedValueOnce(new DiskFullError('a file'));
    const results = await Promise.allSettled([
      commitRows(held.store, [snapshot(200)]),
      commitRows(held.store, [snapshot(300)]),
      commitRows(held.store, [snapshot(400)]),
    ]);
    apply.mockRestore();
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    const stored = await times();
    expect(stored).toHaveLength(3);
    await held.reopen();
    expect(await times()).toEqual(stored);
    await held.store['parts'].database.checkpoint();
    await held.reopen();
    expect(await times()).toEqual(stored);
  });

  it('that can be neither applied nor withdrawn is pending, and comes before any other', async () => {
    const waiting: (string | null)[] = [];
    await held.reopen({ onWaiting: (why) => waiting.push(why) });
    const apply = vi.spyOn(held.store.applied, 'applyBundle');
    apply.mockRejectedValue(new DiskFullError('a file'));
    const withdraw = vi.spyOn(FileLog.prototype, 'withdraw').mockRejectedValue(new Error('full'));
    const pending = commitRows(held.store, [snapshot(200)]);
    await expect(pending).rejects.toBeInstanceOf(PendingError);
    await expect(pending).rejects.toThrow(
      /^it is entry 2 in the log, not yet applied: a file cannot/,
    );
    expect(() => held.store.checkApplied()).toThrow('waits to be applied');
    await expect(commitRows(held.store, [snapshot(300)])).rejects.toThrow(
      'nothing more was stored',
    );
    expect(waiting).toEqual([expect.stringContaining('a file cannot grow')]);
    withdraw.mockRestore();
    apply.mockRestore();
    await eventually('it is applied', () => held.store.applied.position === 2);
    await commitRows(held.store, [snapshot(300)]);
    expect([await times(), waiting.at(-1)]).toEqual([[100, 200, 300], null]);
  });

  it('that is pending when the command that made its store ends is applied by the next', async () => {
    const fresh = new DataDirectory();
    const made = await openStore(fresh.path);
    const apply = vi
      .spyOn(made.applied, 'applyBundle')
      .mockRejectedValue(new DiskFullError('a file'));
    const withdraw = vi.spyOn(FileLog.prototype, 'withdraw').mockRejectedValue(new Error('full'));
    await expect(commitRows(made, [snapshot(200)])).rejects.toBeInstanceOf(PendingError);
    withdraw.mockRestore();
    apply.mockRestore();
    await made.leave();
    const next = await openStore(fresh.path);
    expect((await storedSnapshots(next, tokenOf(next))).map(({ t }) => t)).toEqual([200]);
    await next.close();
  });

  it('of a process that lost the store is not overwritten: its entry is applied', async () => {
    const { log } = await FileLog.open(held.store.directory, held.store.applied.ownMark, 'new');
    const content = packEntry(held.store.keys.draft({ tier: 'premium' }).change);
    await log.append({ bundle: null, content });
    await expect(commitRows(held.store, [snapshot(200)])).rejects.toThrow(
      'another process has appended to this log; nothing was stored',
    );
    await eventually('it is applied', () => held.store.keys.count === 1);
    await commitRows(held.store, [snapshot(200)]);
    expect(entries()).toEqual(['1', '2', '3']);
    await held.reopen();
    expect([await times(), held.store.keys.count]).toEqual([[100, 200], 1]);
  });
});

describe('A checkpoint', () => {
  it('lets all entries go but the newest', async () => {
    await commitRows(held.store, [snapshot(200)]);
    await commitRows(held.store, [snapshot(300)]);
    expect(entries()).toEqual(['1', '2', '3']);
    await held.store['parts'].database.checkpoint();
    await eventually('they are gone', () => entries().length === 1);
    expect(entries()).toEqual(['3']);
    const { commitHistory } = held.store.depth;
    await held.reopen();
    await commitRows(held.store, [snapshot(400)]);
    expect([held.store.depth.commitHistory, entries()]).toEqual([commitHistory, ['3', '4']]);
  });
});

it('A check names an entry that is damaged, even if the database has it', async () => {
  const entry = path.join(folder(), '0000000000000001.entry');
  const damages = async (): Promise<unknown[]> => {
    const found: unknown[] = [];
    let cursor: CheckCursor | null = null;
    do {
      const step: CheckStep = await held.store.checkStep(cursor);
      found.push(...step.damages);
      cursor = step.next;
    } while (cursor !== null);
    return found;
  };
  expect(await damages()).toEqual([]);
  const bytes = readFileSync(entry);
  bytes[20] ^= 1;
  writeFileSync(entry, bytes);
  expect(await damages()).toMatchObject([
    { dataset: 'log', what: expect.stringContaining(entry) as string },
  ]);
});
