/** Faults of a row are reported as `file:line: field: what is wrong`, and nothing of its file is stored. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FaultyFileError } from '../../storage/errors.js';
import type { Dataset } from '../../storage/ingest/datasets.js';
import {
  cells,
  csv,
  ingest,
  lines,
  MINT,
  readJson,
  Scratch,
  snapshot,
  storedSnapshots,
  missingColumnFault,
} from '../support/ingest.js';
import { type Json, writeCellsArrow, writeSnapshotsArrow } from '../support/tables.js';

const EVM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const T = 1_794_000_000;

const scratch = Scratch.held();
const { data } = scratch;
const file = scratch.file.bind(scratch);
const parquet = scratch.parquet.bind(scratch);
const faultsOf = scratch.faultsOf.bind(scratch);

const withField = (rows: readonly Json[], index: number, fields: Json): Json[] =>
  rows.map((row, i) => (i === index ? { ...row, ...fields } : row));

let before: unknown;

beforeAll(async () => {
  const good = file('.ndjson', lines([snapshot(T - 600), snapshot(T - 300)]));
  await ingest(data, 'snapshots', [good]);
  before = await storedSnapshots(data, 'mainchain', MINT);
});
afterAll(async () => {
  // None of the refused files has left anything behind.
  expect(await storedSnapshots(data, 'mainchain', MINT)).toEqual(before);
});

describe('faulty rows', () => {
  it('are named by line and field, the first ten of them, in every format', async () => {
    const rows = Array.from({ length: 30 }, (_, i) => snapshot(T + i));
    const faulty = rows.map((row, i) => (i % 2 === 0 ? { ...row, price_usd: -i } : row));
    const expected = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19].map(
      (line) => `${line}: price_usd: must be a number > 0: it is ${1 - line}`,
    );
    expect(await faultsOf('snapshots', file('.ndjson', lines(faulty)))).toEqual(expected);
    const source = file('.ndjson', lines(faulty));
    const columnar = await parquet(`SELECT * FROM ${readJson(source)}`);
    expect(await faultsOf('snapshots', columnar)).toEqual(expected);
    const arrow = scratch.place('faulty.arrow');
    writeSnapshotsArrow(arrow, faulty, { form: 'file', ticks: 'structs' });
    expect(await faultsOf('snapshots', arrow)).toEqual(expected);
  });

  it('are counted until reading stopped, as stated in the last line', async () => {
    const token = (i: number) => ({ chain: 'mainchain', address: MINT, decimals: i - 30 });
    const flat = Array.from({ length: 30 }, (_, i) => token(i));
    const depth = flat.map((_, i) => ({ ...snapshot(T + i), price_usd: i < 12 ? -1 : 1 }));
    const lastLine = async (dataset: Dataset, rows: Json[]) =>
      lastLineOf(dataset, file('.ndjson', lines(rows)));
    const lastLineOf = async (dataset: Dataset, name: string) => {
      const error: unknown = await ingest(data, dataset, [name]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(FaultyFileError);
      const { message, faults, faultCount } = error as FaultyFileError;
      const text = message.split('\n');
      expect(text.slice(0, -1)).toEqual(faults);
      return [faults.length, faultCount, text.at(-1)?.replace(name, 'FILE')];
    };
    expect(await lastLine('tokens', flat)).toEqual([
      10,
      { found: 10, stopped: true },
      'FILE: nothing was stored: at least 10 faults (reading stopped there)',
    ]);
    // Depth is read in chunks; faults of the last chunk are counted to its end.
    expect(await lastLine('snapshots', depth)).toEqual([
      10,
      { found: 12, stopped: true },
      'FILE: nothing was stored: at least 12 faults (reading stopped there)',
    ]);
    expect(await lastLine('snapshots', depth.slice(11))).toEqual([
      1,
      { found: 1, stopped: false },
      'FILE: nothing was stored: 1 fault',
    ]);
    // The only record is not a row.
    const faulty = csv([0, 0, 0, 0, 0].map((wrong) => ({ ...cells(T)[0], price_usd: wrong })));
    expect(await lastLineOf('cells', file('.csv', `${faulty}${'1\n'.repeat(5)}`))).toEqual([
      10,
      { found: 10, stopped: false },
      'FILE: nothing was stored: 10 faults',
    ]);
    expect(await lastLineOf('cells', file('.csv', `${csv(cells(T)).split('\n')[0]}\n1\n`))).toEqual(
      [1, { found: 1, stopped: false }, 'FILE: nothing was stored: 1 fault'],
    );
  });

  it('of flat cells are named by the line in the file', async () => {
    const rows = withField(cells(T), 1, { bin: 1.5, support_usd: -1 });
    const faults = ['bin: must be an integer', 'support_usd: must be a number >= 0: it is -1'];
    const at = (line: number) => faults.map((fault) => `${line}: ${fault}`);
    for (const [name, line] of await scratch.forms(rows)) {
      expect(await faultsOf('cells', name)).toEqual(at(line + 1));
    }
  });

  it('of tokens are named by the line in the file', async () => {
    const token = { chain: 'mainchain', address: MINT, decimals: 9, price_usd: 1 };
    const rows = [token, { ...token, address: EVM, price_usd: -1 }, { ...token, decimals: 1.5 }];
    const expected = (first: number) => [
      `${first + 1}: price_usd: must be a number >= 0 or null: it is -1`,
      `${first + 2}: decimals: must be an integer from 0 to 36 or null`,
    ];
    for (const [name, line] of await scratch.forms(rows)) {
      expect(await faultsOf('tokens', name)).toEqual(expected(line));
    }
    expect(await faultsOf('tokens', file('.ndjson', lines([{ ...token, address: EVM }])))).toEqual([
      '1: address: must be an address of mainchain',
    ]);
  });

  it('that are not JSON, not a record or not an object are named too', async () => {
    const half = file('.ndjson', lines([snapshot(T), snapshot(T + 1)]).slice(0, -20));
    const whole = 'must be one JSON object, whole on its line';
    expect(await faultsOf('snapshots', half)).toEqual([`2: json: ${whole}`]);
    const mixed = file('.ndjson', `[1]\n${JSON.stringify(snapshot(T))}\n"a"\n{"chain":\n`);
    const expected = [
      '1: json: must be an object',
      '3: json: must be an object',
      `4: json: ${whole}`,
    ];
    expect(await faultsOf('snapshots', mixed)).toEqual(expected);
    expect(await faultsOf('cells', file('.ndjson', `7\n{}x\n`))).toEqual([
      '1: json: must be an object',
      `2: json: ${whole}`,
    ]);
    expect(await faultsOf('tokens', file('.ndjson', `7\n{}x\n`))).toEqual([
      '1: json: must be an object',
      `2: json: ${whole}`,
    ]);
    // Levels, and whatever flags describe, pass through the mapping of rows.
    const level = { ...cells(T)[0], side: 'bid', price: 1, size: 1 };
    const withNull = file('.ndjson', `${JSON.stringify(level)}\nnull\n`);
    expect(await faultsOf('levels', withNull)).toEqual(['2: json: must be an object']);
    expect(await faultsOf('snapshots', file('.ndjson', Buffer.from([0x7b, 0xff, 0x7d])))).toEqual([
      '1: json: must be UTF-8',
    ]);
    const ragged = csv(cells(T)).replace('\n', '\na,b\n').replace(/6\n$/, '"6\n');
    expect(await faultsOf('cells', file('.csv', ragged))).toEqual([
      '2: csv: expected 13 fields as in the header, found 2',
      '5: csv: a quote is never closed',
    ]);
  });

  it('before an invalid record are not forgotten', async () => {
    const rows = withField(cells(T), 0, { bin: 'x' });
    expect(await faultsOf('cells', file('.csv', `${csv(rows)}1,2\n`))).toEqual([
      '2: bin: must be an integer: it is "x"',
      '5: csv: expected 13 fields as in the header, found 2',
    ]);
  });

  it('are refused for invalid numbers', async () => {
    const text = csv(cells(T));
    const hints = [
      ...['NaN', 'Infinity', '0x10'].map((value) => [value, `: it is "${value}"`]),
      ['1e999', ': it is 1e999'],
      [' 5', ': it is " 5"'],
      ['', ': it is empty'],
      ['1,5', ": a decimal comma: add --decimal ','"],
      ['1,500.5', ': separated thousands: add --decimal .'],
      ['1,500', ": add --decimal ',' if 1,500 is 1.5, or --decimal . if it is 1500"],
    ];
    for (const [value, hint] of hints) {
      const field = value.includes(',') ? `"${value}"` : value;
      const name = file('.csv', text.replace(',-1,5,0\n', `,-1,${field},0\n`));
      expect(await faultsOf('cells', name)).toEqual([
        `2: support_usd: must be a number >= 0${hint}`,
      ]);
    }
    const source = file('.ndjson', lines(cells(T)));
    for (const [value, shown] of [
      ['nan', 'NaN'],
      ['inf', 'Infinity'],
      ['-inf', '-Infinity'],
    ]) {
      const name = await parquet(
        `SELECT * REPLACE (CASE WHEN bin = 0 THEN '${value}'::DOUBLE ELSE support_usd END AS support_usd) FROM ${readJson(source)}`,
      );
      expect(await faultsOf('cells', name)).toEqual([
        `2: support_usd: must be a number >= 0: it is ${shown}`,
      ]);
    }
    const arrow = scratch.place('nan.arrow');
    const rows = withField(cells(T), 2, { resistance_usd: Infinity, price_usd: NaN });
    writeCellsArrow(arrow, rows, { form: 'file', dictionary: false, t: 'double' });
    expect(await faultsOf('cells', arrow)).toEqual([
      '3: price_usd: must be a number > 0: it is NaN',
      '3: resistance_usd: must be a number >= 0: it is Infinity',
    ]);
    const nested = scratch.place('nested-nan.arrow');
    writeSnapshotsArrow(nested, [snapshot(T), snapshot(T + 1, [[0, NaN, 0]])], {
      form: 'stream',
      ticks: 'texts',
    });
    expect(await faultsOf('snapshots', nested)).toEqual([
      '2: markets[0].cells[0]: support_usd must be a number >= 0',
    ]);
  });

  it('that contradict an earlier row of the file or the store are named by their line', async () => {
    const perp = { source: 'KRAKEN', exchange_type: 'CEX', pair: 'P', type: 'cex_perp', cells: [] };
    const rows = [snapshot(T), snapshot(T + 1), snapshot(T + 2, undefined, { markets: [perp] })];
    expect(await faultsOf('snapshots', file('.ndjson', lines(rows)))).toEqual([
      '3: markets[0].type: must be cex_spot, as in an earlier row of venue kraken, not cex_perp',
    ]);
    const flat = [...cells(T), ...cells(T + 1, { exchange_type: 'DEX', type: 'cex_spot' })];
    expect(await faultsOf('cells', file('.csv', csv(flat)))).toEqual([
      '5: exchange_type: must be CEX, as in an earlier row',
    ]);
    // The store already has Kraken as a spot venue.
    const later = [
      snapshot(T, undefined, { markets: [] }),
      snapshot(T + 1, undefined, { markets: [perp] }),
    ];
    expect(await faultsOf('snapshots', file('.ndjson', lines(later)))).toEqual([
      '2: markets[0].type: venue kraken is cex_spot in the store, not cex_perp: give that type, or the venue another name',
    ]);
    expect(await faultsOf('cells', file('.csv', csv(cells(T, { type: 'cex_perp' }))))).toEqual([
      '2: type: venue kraken is cex_spot in the store, not cex_perp: give that type, or the venue another name',
    ]);
  });
});

describe('columns', () => {
  it('of a wrong type are refused at once', async () => {
    const source = file('.ndjson', lines(cells(T)));
    const text = await parquet(
      `SELECT * REPLACE (price_usd::VARCHAR AS price_usd) FROM ${readJson(source)}`,
    );
    expect(await faultsOf('cells', text)).toEqual([
      '1: price_usd: must be a column of numbers, this one is VARCHAR: numbers as text: add --coerce',
    ]);
    const time = await parquet(
      `SELECT * REPLACE (make_time(1, 2, 3) AS t, 5 AS source) FROM ${readJson(source)}`,
    );
    expect(await faultsOf('cells', time)).toEqual([
      '1: source: must be a column of texts, this one is INTEGER',
      '1: t: must be a column of numbers, this one is TIME',
    ]);
    const nested = file('.ndjson', lines([snapshot(T)]));
    const bad = await parquet(`SELECT * REPLACE (t::VARCHAR AS t) FROM ${readJson(nested)}`);
    expect(await faultsOf('snapshots', bad)).toEqual([
      '1: t: must be a column of numbers, this one is VARCHAR: numbers as text: add --coerce',
    ]);
  });

  it('that may be null are checked by their values', async () => {
    const source = file('.ndjson', lines(cells(T)));
    const name = await parquet(
      `SELECT * REPLACE (CASE WHEN bin = 1 THEN 7 END AS market_address) FROM ${readJson(source)}`,
    );
    expect(await faultsOf('cells', name)).toEqual([
      '3: market_address: must be null or a string of 1 to 200 characters',
    ]);
  });

  it('that every row needs are reported missing once each', async () => {
    const missing = ['source', 't'].map(missingColumnFault);
    const rows = cells(T).map(({ t: _, source: __, ...rest }) => rest);
    const forms = await scratch.forms(rows);
    for (const [name] of forms.filter(([file]) => !file.includes('json'))) {
      expect(await faultsOf('cells', name)).toEqual(missing);
    }
    expect(await faultsOf('tokens', file('.csv', 'chain,symbol\nmainchain,A\n'))).toEqual([
      missingColumnFault('address'),
    ]);
    expect(await faultsOf('snapshots', await parquet(`SELECT 1 AS t`))).toEqual(
      ['chain', 'address', 'price_usd', 'markets'].map(missingColumnFault),
    );
  });
});
