/**
 * Arrow files with list views and run ends, at every level of nested columns. PyArrow wrote the fixtures: lists whose
 * entries are out of order, shared by lists, or of no list; lists that are null; rows cut off before the first.
 */
import path from 'node:path';
import * as zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { InputError } from '../../storage/errors.js';
import { arrowRows } from '../../storage/ingest/arrow.js';
import type { NumberedRow } from '../../storage/ingest/columns.js';
import type { WantedColumn } from '../../storage/ingest/fields.js';
import { lines, MINT, StoreScratch } from '../support/ingest.js';

const scratch = new StoreScratch();
const fixture = (name: string): string => path.resolve('test/fixtures/types', `${name}.arrow`);

const T = 1_760_000_059;
const market = (source: string, pair: string | null, bid: number[], ask: number[]) => ({
  source,
  exchange_type: 'CEX',
  pair,
  book: { bids: [bid], asks: [ask] },
});
const LONG = 'A venue whose name is long';
const solUsd = market(LONG, 'SOL/USD', [99.9, 10], [100.1, 12]);
const solEur = market(LONG, 'SOL/EUR', [99.8, 5], [100.2, 6]);
const kraken = market('Kraken', null, [99.7, 7], [100.1, 12]);
const token = { chain: 'mainchain', address: MINT };
const ROWS = [
  { ...token, t: T, price_usd: 100, markets: [solUsd, solEur], note: null },
  { ...token, t: T + 60, price_usd: 101, markets: [kraken, solUsd], note: [] },
];

const any = (name: string): WantedColumn => ({ name, kind: 'any', required: true });

async function rowsOf(name: string, ...wanted: WantedColumn[]): Promise<unknown[]> {
  const rows: NumberedRow[] = [];
  for await (const batch of arrowRows(fixture(name), wanted)) rows.push(...batch);
  expect(rows.map(({ line }) => line)).toEqual(rows.map((_, i) => i + 1));
  return rows.map(({ row }) => row);
}

const FILES = ['views', 'views-lz4-stream', 'views-zstd'];
const lacksZstd = (name: string): boolean =>
  name.endsWith('zstd') && !('zstdDecompressSync' in zlib);

it.each(FILES)('%s: rows are those that were written', async (name) => {
  const names = ['chain', 'address', 'price_usd', 'markets', 'note'];
  const columns = [...names.map(any), { ...any('t'), time: 'whole' as const }];
  const read = rowsOf(name, ...columns);
  if (lacksZstd(name)) await expect(read).rejects.toThrow(/zstd/);
  else expect(await read).toEqual(ROWS);
});

it.each(FILES.filter((name) => !lacksZstd(name)))('%s: snapshots load', async (name) => {
  await scratch.ingest('snapshots', scratch.file('.ndjson', lines(ROWS)));
  const expected = await scratch.snapshots();
  expect(expected).toHaveLength(2);
  await scratch.ingest('snapshots', fixture(name));
  expect(await scratch.snapshots()).toEqual(expected);
});

it.each([
  ['list-view', 'list_view', [[1], [1]]],
  ['large-list-view', 'large_list_view', [[1], [1]]],
  ['run-ends', 'ree', [10.5, 12]],
])('%s: a column alone', async (name, column, values) => {
  expect(await rowsOf(name, any(column))).toEqual(values.map((value) => ({ [column]: value })));
});

it.each([
  ['list-view', 'list_view', 'ListView<Float64>'],
  ['run-ends', 'ree', 'RunEndEncoded<Float64>'],
])('%s: the wrong type is named as in the file', async (name, column, type) => {
  const wanted = { name: column, kind: 'text' as const, required: true };
  await expect(rowsOf(name, wanted)).rejects.toThrow(
    `${fixture(name)}:1: ${column}: must be a column of texts, this one is ${type}`,
  );
});

it('inside of a union', async () => {
  const name = 'views-in-union';
  expect(await rowsOf(name, any('size'), any('many'))).toEqual([
    { size: 10.5, many: [1] },
    { size: 12, many: [1] },
  ]);
});

it('in a dictionary they are refused, with the column', async () => {
  const name = 'views-in-dictionary';
  const read = rowsOf(name, any('size'));
  await expect(read).rejects.toThrow(InputError);
  await expect(read).rejects.toThrow(
    `${fixture(name)}: the column coded has a dictionary of ListView: write it without the dictionary`,
  );
});
