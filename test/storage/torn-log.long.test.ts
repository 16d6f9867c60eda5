/** Stores whose logs are cut off during the write of a commit: DuckDB's own replay keeps part of some. */
import { cpSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeLogMark } from '../../storage/duckdb/holder-file.js';
import type { Store } from '../../storage/store.js';
import { HOUR, commitFlat, dcaRow, flatContents } from '../support/flat.js';
import { commitHolders, storedHolders } from '../support/holders.js';
import {
  amounts,
  type Cell,
  DataDirectory,
  freshDirectory,
  MINT,
  commitRows,
  openStore,
  orca,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

/** The mark that a commit is whole takes the last 21 bytes; rows and row groups come before it. */
const CUTS = [1, 10, 20, 21, 22, 23, 60, 100, 400, 1000, 2000, 4096, 8192];

const directory = freshDirectory();

/**
 * Copies the directory of an open database, without so many bytes at the end of its log.
 * @returns whether the log is that long
 */
function copyCut(from: string, to: string, name: string, cutBytes: number): boolean {
  cpSync(from, to, { recursive: true });
  const log = path.join(to, `${name}.wal`);
  const { size } = statSync(log);
  if (cutBytes > size) return false;
  truncateSync(log, size - cutBytes);
  return true;
}

describe('A store whose log ends within a commit', () => {
  /** A longer log has rows in it that belong in row groups of the file. */
  const MAX_LOG_BYTES = 64 * 1024;

  /**
   * Every cut leaves what was there before the commit, which then succeeds; the whole log leaves
   * what the commit made.
   */
  async function expectAllOrNothing(
    before: (store: Store) => Promise<unknown>,
    commit: (store: Store) => Promise<unknown>,
    contents: (store: Store) => Promise<unknown>,
  ): Promise<void> {
    const first = await openStore(directory.path);
    await before(first);
    await first.close();
    const store = await openStore(directory.path);
    const old = await contents(store);
    await commit(store);
    expect(statSync(path.join(directory.path, 'fathom.duckdb.wal')).size).toBeLessThan(
      MAX_LOG_BYTES,
    );
    const committed = await contents(store);
    expect(committed).not.toEqual(old);
    for (const cutBytes of [0, ...CUTS]) {
      const place = new DataDirectory();
      if (copyCut(directory.path, place.path, 'fathom.duckdb', cutBytes)) {
        // If the mark is there, everything before it is whole.
        if (cutBytes > 0) await writeLogMark(path.join(place.path, 'fathom.duckdb'), null);
        const cut = await openStore(place.path);
        expect(await contents(cut), `${cutBytes} bytes less`).toEqual(
          cutBytes === 0 ? committed : old,
        );
        if (cutBytes === 1) {
          await commit(cut);
          expect(await contents(cut)).toEqual(committed);
        }
        await cut.close();
      }
      place.remove();
    }
    await store.close();
  }

  it('holds all orders of it or none', async () => {
    const orders = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => dcaRow({ dca_address: `dca-${from + i}` }));
    await expectAllOrNothing(
      (store) => commitFlat(store, 'dca_orders', orders(0, 3000)),
      (store) =>
        commitFlat(
          store,
          'dca_orders',
          orders(1000, 6000).map((row, i) => ({ ...row, cycle_usd: 20 + i, closed: i % 7 === 0 })),
        ),
      async (store) => (await flatContents(store)).dca,
    );
  });

  it('holds all holders of it or none', async () => {
    const held = (balance: number): [number, Map<string, number>] => [
      HOUR + balance * 3600,
      new Map([
        ['one', balance],
        ['two', 1],
      ]),
    ];
    const mints = [MINT, ...Array.from({ length: 60 }, (_, i) => `mint-${i}`)];
    await expectAllOrNothing(
      (store) => commitHolders(store, [[MINT, new Map([held(1)])]]),
      (store) =>
        commitHolders(
          store,
          mints.map((mint) => [mint, new Map([held(2), held(3)])]),
        ),
      async (store) =>
        Promise.all(
          [MINT, mints[1], mints[60]].map(async (mint) =>
            [...(await storedHolders(store.holders, mint))].map(([t, owners]) => [t, ...owners]),
          ),
        ),
    );
  });

  it('holds all depth of it or none', async () => {
    /** Amounts that LZ4 cannot compress, so their blocks fill more than a row group. */
    const noise = (seed: number) => {
      const amount = amounts(seed + 1);
      return Array.from({ length: 1000 }, (_, i): Cell => [i - 500, 1 + amount(), amount()]);
    };
    const minutes = (count: number, seed: number) =>
      Array.from({ length: count }, (_, i) => snapshot(60_000 + 60 * i, [orca(noise(seed + i))]));
    await expectAllOrNothing(
      (store) => commitRows(store, minutes(20, 1)),
      (store) => commitRows(store, minutes(1300, 9)),
      async (store) => {
        const all = await storedSnapshots(store, tokenOf(store));
        return JSON.stringify(all).length;
      },
    );
  });
});
