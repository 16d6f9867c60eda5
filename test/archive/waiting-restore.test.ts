/** A change of an archived day while the disk is full: what it needs of the archive waits, and so it is not stored. */
import { expect, it, vi } from 'vitest';
import { DAY_S } from '../../compute/time.js';
import { DiskFullError, PendingError, StoreUnavailableError } from '../../storage/errors.js';
import { FileLog } from '../../storage/log/file-log.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  archiveIn,
  commitDelete,
  commitRows,
  DataDirectory,
  MINT,
  openStore,
  orca,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { eventually } from '../support/waiting.js';
import { T0 } from './days.js';

it('A change is not said to be pending while what it needs of the archive is', async () => {
  const data = new DataDirectory();
  const archive = archiveIn(temporaryDirectory(), () => T0 + 9 * DAY_S);
  const store = await openStore(data.path, { archive });
  const rows = [0, 600, 1200, 2 * DAY_S].map((s) => snapshot(T0 + s, [orca([[3, 0, 9]])]));
  await commitRows(store, rows);
  while ((await store.archiveNext(false)) !== null);
  const { position } = store.applied;
  const late = [snapshot(T0 + 300, [orca([[3, 0, 99]])])];
  const changes = [
    () => commitRows(store, late),
    () => commitDelete(store, { address: MINT, fromS: T0, toS: T0 + 900 }),
  ];
  const times = async () => (await storedSnapshots(store, tokenOf(store))).map(({ t }) => t - T0);
  const before = await times();
  const apply = vi.spyOn(store.applied, 'applyBundle');
  apply.mockRejectedValue(new DiskFullError('a file'));
  const withdraw = vi.spyOn(FileLog.prototype, 'withdraw').mockRejectedValue(new Error('full'));
  try {
    const failure: unknown = await changes[0]().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(failure).not.toBeInstanceOf(PendingError);
    expect((failure as Error).message).toMatch(
      /waits \(it is entry \d+ in the log.*nothing else of this change was stored: run it again/,
    );
  } finally {
    withdraw.mockRestore();
    apply.mockRestore();
  }
  await eventually('the segments are back', () => store.applied.position === position + 1);
  expect(await times()).toEqual(before);
  await changes[0]();
  expect(await times()).toEqual([0, 300, 600, 1200, 2 * DAY_S]);
  await changes[1]();
  expect(await times()).toEqual([1200, 2 * DAY_S]);
  await store.close();
  data.remove();
});
