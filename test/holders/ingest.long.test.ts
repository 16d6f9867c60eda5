import { existsSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_OWNERS_PER_SNAPSHOT } from '../../compute/holders/owners.js';
import { FaultLog } from '../../compute/ingest/fields.js';
import { HolderCollector, MAX_SCATTERED_ROWS } from '../../storage/ingest/holders.js';
import { prepareTable } from '../../storage/ingest/tables.js';
import { withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import type { Store } from '../../storage/store.js';
import { type Held, storedHolders } from '../support/holders.js';
import { ingest, lines, MINT, Scratch } from '../support/ingest.js';
import { OTHER_MINT } from '../support/stores.js';

const T = 1_794_600_000;

interface Row {
  token_address: string;
  t: number;
  owner: string;
  balance: number;
}

const row = (t: number, owner: string, balance: number, token = MINT): Row => ({
  token_address: token,
  t,
  owner,
  balance,
});

const scratch = (): Scratch => new Scratch(temporaryDirectory());

/** Everything in the rows, as a plain reader would have it. */
function byToken(rows: readonly Row[]): Map<string, Map<number, Held>> {
  const tokens = new Map<string, Map<number, Map<string, number>>>();
  for (const { token_address: token, t, owner, balance } of rows) {
    const snapshots = tokens.get(token) ?? new Map<number, Map<string, number>>();
    tokens.set(token, snapshots);
    const held = snapshots.get(t) ?? new Map<string, number>();
    snapshots.set(t, held);
    if (balance > 0) held.set(owner, balance);
  }
  return tokens;
}

async function expectHeld({ holders }: Store, rows: readonly Row[]): Promise<void> {
  for (const [token, snapshots] of byToken(rows)) {
    const sorted = [...snapshots].sort(([a], [b]) => a - b);
    expect(await storedHolders(holders, token)).toEqual(new Map(sorted));
  }
}

const expectStored = (data: string, rows: readonly Row[]) =>
  withStoreOf(data, (store) => expectHeld(store, rows));

const rows = [
  row(T, 'Ann', 12.5),
  row(T, 'Bob', 1e-9),
  row(T, 'Cid', 0),
  row(T, 'Ann', 0.1 + 0.2, OTHER_MINT),
  row(T + 60, 'Bob', 2 ** 60),
  row(T + 60, 'Ann', 12.5),
  row(T - 60, 'Dee', 0),
];

describe('A file of holders', () => {
  it('is read from every format; a balance of 0 means no holding', async () => {
    const files = scratch();
    for (const [form] of await files.forms(rows)) {
      const { data } = scratch();
      await withStoreOf(data, async (store) => {
        const [report] = await ingest(data, 'holders', [form], { store });
        expect(report).toMatchObject({ rows: rows.length, snapshots: 4 });
        await expectHeld(store, rows);
      });
    }
  });

  it('replaces the snapshots that it names, and changes nothing when ingested twice', async () => {
    const place = scratch();
    const { data } = place;
    await ingest(data, 'holders', [place.file('.ndjson', lines(rows))]);
    const other = [row(T, 'Eve', 7), row(T - 3600, 'Eve', 8)];
    const replacing = place.file('.ndjson', lines(other));
    await ingest(data, 'holders', [replacing, replacing]);
    const stays = rows.filter(({ token_address: token, t }) => token === OTHER_MINT || t !== T);
    await expectStored(data, [...stays, ...other]);
  });

  it('may have its rows in any order', async () => {
    const some = fc.uniqueArray(
      fc.record({
        token_address: fc.constantFrom(MINT, OTHER_MINT),
        t: fc.nat(150).map((minute) => T + minute * 60),
        owner: fc.nat(9).map((n) => `owner${n}`),
        balance: fc.oneof(fc.constant(0), fc.double({ min: 1e-12, max: 1e15, noNaN: true })),
      }),
      {
        selector: ({ token_address: token, t, owner }) => `${token} ${t} ${owner}`,
        maxLength: 400,
      },
    );
    await fc.assert(
      fc.asyncProperty(some, async (given) => {
        const { data } = scratch();
        await withStoreOf(data, async (store) => {
          const request = { directory: data, file: 'x', mode: 'replace' as const };
          const numbered = given.map((each, i) => ({ line: i + 1, row: each }));
          const { bundle } = await prepareTable(request, 'holders', [numbered]);
          await store.commit(bundle.name);
          await expectHeld(store, given);
        });
      }),
      { numRuns: 3 },
    );
  });

  it('sorted by owner, with each snapshot scattered, is stored like the one sorted by time', async () => {
    const sorted = Array.from({ length: 130 * 40 }, (_, i) =>
      row(T + (i % 130) * 60, `owner${Math.floor(i / 130)}`, i + 0.5),
    );
    const place = scratch();
    const { data } = place;
    await ingest(data, 'holders', [place.file('.ndjson', lines(sorted))]);
    await expectStored(data, sorted);
  });

  it('is refused with its first ten faults, each with its line', async () => {
    const files = scratch();
    const bad = [
      { ...row(T, 'Ann', 1), token_address: '0x00000000000000000000000000000000000000aa' },
      { ...row(T, 'Ann', 1), t: 1_794_600_000_000 },
      { ...row(T, 'Ann', 1), t: '2026-11-01' },
      row(T, '', 1),
      row(T, 'An n', 1),
      row(T, 'A'.repeat(65), 1),
      row(T, 'Ann', -1),
      { ...row(T, 'Ann', 1), balance: null },
      row(T, 'Ann', 1),
      row(T, 'Ann', 2),
      row(T, 'Bob', -1),
    ];
    expect(await files.faultsOf('holders', files.file('.ndjson', lines(bad)))).toEqual([
      '1: token_address: must be an address of mainchain',
      '2: t: must be an integer from 0 to 4294967295: looks like milliseconds: add --time-unit ms',
      '3: t: must be an integer from 0 to 4294967295: looks like ISO: add --time-unit iso',
      '4: owner: must be a text of 1 to 64 characters: it is ""',
      '5: owner: must be printable ASCII without spaces',
      '6: owner: must be a text of 1 to 64 characters',
      '7: balance: must be a number from 0 to 1e+300: it is -1',
      '8: balance: must be a number from 0 to 1e+300: it is null',
      '10: owner: occurs twice in one snapshot',
      '11: balance: must be a number from 0 to 1e+300: it is -1',
    ]);
    const notJson = `${lines([row(T, 'Ann', 1)])}{"token_address":\n[1]\n`;
    expect(await files.faultsOf('holders', files.file('.ndjson', notJson))).toEqual([
      '2: json: must be one JSON object, whole on its line',
      '3: json: must be an object',
    ]);
    const noOwner = await files.parquet("SELECT 'x' AS token_address, 5 AS t, 1.5 AS balance");
    expect(await files.faultsOf('holders', noOwner)).toEqual([
      '1: owner: the file has no column of this name: add --column owner=NAME or --set owner=VALUE',
    ]);
    expect(existsSync(path.join(files.data, 'fathom.duckdb'))).toBe(false);
  });

  it('is refused if an owner occurs twice in a snapshot, however far apart', async () => {
    const files = scratch();
    const apart = [
      row(T, 'Ann', 1),
      row(T, 'Bob', 1),
      row(T + 60, 'Ann', 1),
      row(T, 'Cid', 1),
      row(T + 60, 'Ann', 2),
      row(T, 'Bob', 2),
      row(T, 'Cid', 2),
    ];
    expect(await files.faultsOf('holders', files.file('.ndjson', lines(apart)))).toEqual([
      '5: owner: occurs twice in one snapshot',
      '6: owner: occurs twice in one snapshot',
      '7: owner: occurs twice in one snapshot',
    ]);
    // Far more rows come late than are held at first.
    const owners = Array.from({ length: 300 }, (_, i) => row(T, `owner${i}`, 1));
    const late = [row(T, 'Ann', 1), row(T + 60, 'Ann', 1), ...owners, owners[200], owners[7]];
    expect(await files.faultsOf('holders', files.file('.ndjson', lines(late)))).toEqual([
      '303: owner: occurs twice in one snapshot',
      '304: owner: occurs twice in one snapshot',
    ]);
  });
});

describe('What is collected from a file of holders', () => {
  const none = {
    write: () => Promise.reject(new Error()),
    read: () => Promise.reject(new Error()),
  };

  it('is bounded in the owners of a snapshot', async () => {
    const collector = new HolderCollector(none);
    const faults = new FaultLog();
    await collector.begin(row(T, '', 1), faults);
    let rowsTaken = 0;
    while (collector.add(row(T, `owner${rowsTaken}`, 1), faults)) rowsTaken++;
    expect(rowsTaken).toBe(MAX_OWNERS_PER_SNAPSHOT);
    expect(faults.faults[0].message).toBe('a snapshot has at most 1000000 owners');
  });

  it('is bounded in the rows apart from those of their snapshot', async () => {
    const faults = new FaultLog();
    const collector = new HolderCollector(none);
    for (let t = 0; t < 10; t++) {
      await collector.begin(row(T + t, '', 1), faults);
      collector.add(row(T + t, 'owner', 1), faults);
    }
    let taken = 0;
    for (let t = 0; t < 10 && faults.count === 0; t++) {
      await collector.begin(row(T + t, '', 1), faults);
      for (let i = 0; i < 900_000 && collector.add(row(T + t, 'owner', 1), faults); i++) taken++;
    }
    expect(taken).toBe(MAX_SCATTERED_ROWS);
    expect(faults.faults[0].message).toMatch(/sort the file by them/);
  });
});
