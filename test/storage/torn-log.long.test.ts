/** Logs cut off during the write of a commit: DuckDB's own replay keeps part of some. */
import { cpSync, mkdirSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Database } from '../../storage/duckdb/database.js';
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

const OPTIONS = { memoryLimitMiB: 128, threads: 1 };
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

describe('A database whose log ends within a commit', () => {
  const file = (place: string) => path.join(place, 'x.duckdb');
  const contents = (database: Database) =>
    database.rows('SELECT count(*), sum(id), min(name) FROM a UNION ALL SELECT *, NULL FROM sums');

  async function opened(place: string): Promise<Database> {
    return Database.openFile(file(place), OPTIONS);
  }

  it('has all earlier commits and nothing of that one, at whatever byte it ends', async () => {
    mkdirSync(directory.path);
    const made = await opened(directory.path);
    await made.run('CREATE TABLE a (id BIGINT, name VARCHAR)');
    await made.run("INSERT INTO a SELECT i, 'a' FROM range(3000) r(i)");
    await made.run('CREATE TABLE b (id BIGINT)');
    await made.run('CREATE VIEW sums AS SELECT count(*), sum(id) FROM b');
    await made.close();
    const database = await opened(directory.path);
    // More rows than a row group holds, so DuckDB writes them out before the commit.
    const add = (first: number) =>
      database.transaction(async (tx) => {
        await tx.run('DELETE FROM a WHERE id % 3 = 0');
        await tx.append(
          'a',
          Array.from({ length: 5000 }, (_, i) => [first + 3 * i, 'b']),
        );
        await tx.append(
          'b',
          Array.from({ length: 2100 }, (_, i) => [first + i]),
        );
      });
    const log = `${file(directory.path)}.wal`;
    const states = [await contents(database)];
    const ends = [0];
    for (const first of [10_000, 50_000]) {
      await add(first);
      states.push(await contents(database));
      ends.push(statSync(log).size);
    }
    const last = ends[2];
    const runs = process.env.FATHOM_RUNS;
    const spread = Number(runs ?? 10);
    const cuts = new Set([
      // FATHOM_RUNS=1000 for a long search: all bytes of the mark, and as many along the whole log.
      ...(runs === undefined
        ? [0, 1, 7, 14, 19, 20, 21, 22, 23]
        : Array.from({ length: 24 }, (_, i) => i)),
      ...Array.from({ length: spread }, (_, i) => Math.floor((i * (last - 1)) / (spread - 1))),
      ...Array.from({ length: 5 }, (_, i) => last - ends[1] - 2 + i),
    ]);
    for (const cutBytes of cuts) {
      const place = new DataDirectory();
      copyCut(directory.path, place.path, 'x.duckdb', cutBytes);
      const whole = ends.filter((end) => end <= last - cutBytes).length - 1;
      // Before the first whole one, nothing says that there were commits.
      if (whole === 0) await writeLogMark(file(place.path), null);
      const cut = await opened(place.path);
      expect(await contents(cut), `${cutBytes} bytes less`).toEqual(states[whole]);
      await cut.close();
      // Nor does it come back at the next opening.
      if (cutBytes % 7 === 0) {
        const again = await opened(place.path);
        expect(await contents(again)).toEqual(states[whole]);
        expect(await again.rows('SELECT table_name FROM duckdb_tables() ORDER BY 1')).toEqual([
          ['a'],
          ['b'],
        ]);
        await again.close();
      }
      place.remove();
    }
    await database.close();
  });
});

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
