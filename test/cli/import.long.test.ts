/** What `fathom import` reports about the snapshots that it replaces, and what it refuses to lose. */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Ended } from '../support/processes.js';
import { digestOf, fathom } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { MINT, storedSnapshots } from '../support/ingest.js';
import type { Json } from '../support/tables.js';

const T0 = 1_700_000_000;
const SECONDS = [0, 1, 2, 3, 4];
const LEVELS = Array.from({ length: 60 }, (_, i) => i);

const directory = temporaryDirectory();
const data = path.join(directory, 'data');
const us = (s: number) => (T0 + s) * 1e6;

function file(name: string, lines: readonly string[]): string {
  const place = path.join(directory, name);
  writeFileSync(place, `${lines.join('\n')}\n`);
  return place;
}
/** The whole book of a market at each second, and its best levels at the same times. */
const full = file('full.csv', [
  'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount',
  ...SECONDS.flatMap((s) =>
    LEVELS.flatMap((i) => [
      `binance,AUSDT,${us(s)},${us(s)},true,bid,${99 - i},1`,
      `binance,AUSDT,${us(s)},${us(s)},true,ask,${101 + i},1`,
    ]),
  ),
]);
const top = file('top.csv', [
  'exchange,symbol,timestamp,local_timestamp,asks[0].price,asks[0].amount,bids[0].price,bids[0].amount',
  ...SECONDS.map((s) => `binance,AUSDT,${us(s)},${us(s)},101,1,99,1`),
]);
const TOKEN = ['--token', `mainchain:${MINT}`, '--every', '1s'];

const importInto = (format: string, name: string, ...words: string[]): Promise<Ended> =>
  fathom(['import', format, name, ...TOKEN, '--data', data, ...words]);
const importFull = (...words: string[]) => importInto('tardis-incremental-l2', full, ...words);
const importTop = (...words: string[]) => importInto('tardis-book-snapshot', top, ...words);
const documentOf = ({ stdout }: Ended): Json => JSON.parse(stdout) as Json;
const cellsStored = async (): Promise<number> => {
  const stored = await storedSnapshots(data, 'mainchain', MINT);
  return stored.reduce((sum, { cells }) => sum + cells.length, 0);
};

describe('an import over snapshots of the same market and times', () => {
  let fullCells: number;

  beforeAll(async () => {
    const rehearsed = await importFull('--dry-run', '--json');
    expect(rehearsed.stderr).toMatch(/^dry run: would store 5 rows, 5 snapshots, /);
    const every = [...TOKEN.slice(0, 2), '--every', '5s', '--data', data, '--dry-run'];
    const single = await fathom(['import', 'tardis-book-snapshot', top, ...every]);
    expect(single.stderr).toMatch(
      /^dry run: would store 1 row, 1 snapshot, 2 cells, 0 levels outside the ladder in /,
    );
    expect(existsSync(data)).toBe(false);
    const ended = await importFull('--json');
    expect(ended.status).toBe(0);
    const { seconds, ...report } = documentOf(ended);
    expect(seconds).toBeGreaterThan(0);
    expect(documentOf(rehearsed)).toEqual({
      ...report,
      dry_run: true,
      seconds: expect.any(Number) as number,
    });
    expect(report.replaced).toEqual({ snapshots: 0, cells_before: 0, cells_after: 0 });
    fullCells = await cellsStored();
    expect(fullCells).toBe(report.stored.cells);
  });

  it('is refused if it would leave less than half of the cells', async () => {
    const before = digestOf(data);
    for (const words of [[], ['--dry-run']]) {
      const ended = await importTop('--json', ...words);
      expect(ended.status).toBe(1);
      const lost = `binance/AUSDT of mainchain:${MINT}: 5 stored snapshots with ${fullCells} cells would be replaced by ones with 10, less than half`;
      const message = `${lost}\nnothing was stored; --replace stores these files anyway`;
      expect(documentOf(ended)).toEqual({ error: message, faults: [lost] });
      expect(ended.stderr).toBe(`${message}\n`);
      expect(digestOf(data)).toBe(before);
    }
    expect(await cellsStored()).toBe(fullCells);
  });

  it('is not refused for another market, or if everything stays', async () => {
    const other = await importTop('--source', 'other', '--json');
    expect(documentOf(other).replaced.snapshots).toBe(0);
    const again = documentOf(await importFull('--json'));
    expect(again.replaced).toEqual({
      snapshots: 5,
      cells_before: fullCells,
      cells_after: fullCells,
    });
    expect(await cellsStored()).toBe(fullCells + 10);
  });

  it('proceeds with --replace, and reports what it lost; a dry run loses nothing', async () => {
    const before = digestOf(data);
    const replaced = { snapshots: 5, cells_before: fullCells, cells_after: 10 };
    const rehearsed = await importTop('--replace', '--dry-run', '--json');
    expect(documentOf(rehearsed)).toMatchObject({ replaced, dry_run: true });
    expect(digestOf(data)).toBe(before);
    const ended = await importTop('--replace', '--json');
    expect(ended.status).toBe(0);
    expect(documentOf(ended)).toMatchObject({ replaced });
    expect(documentOf(ended)).not.toHaveProperty('dry_run');
    expect(ended.stderr).toMatch(
      new RegExp(`, replaced 5 stored snapshots \\(${fullCells} cells before, 10 after\\) in `),
    );
    expect(await cellsStored()).toBe(20);
  });

  it.each(['--replace', '--dry-run'])('refuses %s with --out', async (flag) => {
    const out = path.join(directory, 'rows.ndjson');
    const words = ['import', 'tardis-book-snapshot', top, ...TOKEN, '--out', out, flag];
    const ended = await fathom(words);
    expect(ended.status).toBe(2);
    expect(ended.stderr).toContain(`${flag}: needs --data instead of --out`);
  });
});

describe('the report of an import', () => {
  it('has warnings', async () => {
    const far = file('far.csv', [
      'exchange,symbol,timestamp,local_timestamp,asks[0].price,asks[0].amount,bids[0].price,bids[0].amount',
      `binance,BUSDT,${us(0)},${us(0)},1001,1,1,1`,
      `binance,BUSDT,${us(1)},${us(1)},1001,0.0001,1,0.0001`,
    ]);
    const done = await importInto('tardis-book-snapshot', far, '--json');
    expect(done.stderr).toContain('warning: snapshots without a cell: 1, such as row 2: ');
    expect(documentOf(done).warnings).toContainEqual({
      kind: 'no_cells',
      count: 1,
      example: expect.stringMatching(/^row 2: the snapshot of /) as string,
    });
  });

  it('of holders counts rows, not cells', async () => {
    const holders = file('holders.csv', [
      'Account,Token Account,Quantity',
      `${MINT},9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E,5`,
    ]);
    const words = ['--token', `mainchain:${MINT}`, '--at', '2023-01-01T00:00:00Z', '--data', data];
    const done = await fathom(['import', 'solscan-holders', holders, ...words, '--json']);
    expect(done.stderr).toMatch(/stored 1 row, 1 snapshot in /);
    expect(documentOf(done).stored).toEqual({
      rows: 1,
      snapshots: 1,
      cells: 0,
      dropped_levels: 0,
    });
  });
});
