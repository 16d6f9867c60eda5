/** Readers of flat cells return their texts as runs: expanded, these are the rows of the file. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  Dictionary,
  Field,
  Float64,
  Int32,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CELL_NUMBERS,
  CELL_TEXTS,
  cellColumnsOfRows,
  cellTexts,
  type CellColumns,
} from '../../compute/ingest/cell-columns.js';
import type { CellRows } from '../../compute/ingest/flat-cells.js';
import { FaultLog } from '../../compute/ingest/fields.js';
import { arrowCells } from '../../storage/ingest/arrow.js';
import { CellCutter } from '../../storage/ingest/cell-chunks.js';
import { parquetCells } from '../../storage/ingest/parquet.js';
import { cellRows } from '../../storage/ingest/rows.js';
import { lines, readJson, Scratch } from '../support/ingest.js';
import { temporaryDirectory } from '../support/folders.js';

const CSV = (file: string) => ({
  file,
  format: 'csv' as const,
  delimiter: ',',
  mapping: null,
  symbols: null,
});

const scratch = new Scratch(temporaryDirectory());

type Row = Record<string, string | number | null>;

/** Texts that differ late, early, in length, or invisibly. */
const TEXTS = [
  '',
  'a',
  'b',
  'Orca',
  'orca',
  'Ørca',
  'a"b',
  '[1,2]',
  'x'.repeat(43),
  `${'x'.repeat(42)}y`,
];
const NULLABLE = ['tier', 'type', 'market_address', 'pair'];
const textOf = (name: string) =>
  NULLABLE.includes(name) ? fc.constantFrom(null, ...TEXTS) : fc.constantFrom(...TEXTS);
const texts = fc.record(Object.fromEntries(CELL_TEXTS.map((name) => [name, textOf(name)])));

/** Stretches of rows with the same texts; a change may affect a single column. */
const stretches = fc.array(
  fc.record({
    rows: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 60, max: 140 })),
    texts,
    only: fc.option(fc.constantFrom(...CELL_TEXTS)),
  }),
  { minLength: 1, maxLength: 12 },
);
const files = stretches.map((list) => {
  const rows: Row[] = [];
  let before: Row | null = null;
  for (const { rows: count, texts: drawn, only } of list) {
    const own: Row = before !== null && only !== null ? { ...before, [only]: drawn[only] } : drawn;
    before = own;
    for (let i = 0; i < count; i++) {
      const n = rows.length;
      rows.push({
        ...own,
        t: 7,
        price_usd: 1.5,
        bin: n,
        support_usd: n / 8,
        resistance_usd: n / 3,
      });
    }
  }
  return rows;
});

/** A batch's rows as objects. */
function rowsOf(columns: CellColumns): Row[] {
  const { starts, texts: coded, t } = columns;
  expect(t.length === 0 || starts[0] === 0).toBe(true);
  const found: Row[] = [];
  for (let row = 0, run = -1; row < t.length; row++) {
    if (row === starts[run + 1]) run++;
    const own = CELL_TEXTS.map((name) => [name, coded[name].values[coded[name].codes[run]]]);
    const amounts = CELL_NUMBERS.map((name) => [name, columns[name][row]]);
    found.push(Object.fromEntries([...own, ...amounts]) as Row);
  }
  return found;
}

async function allRows(batches: AsyncIterable<CellColumns>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of batches) rows.push(...rowsOf(batch));
  return rows;
}

/** An Arrow file of the rows, in record batches of `size`. */
function arrowFile(rows: readonly Row[], form: 'plain' | 'dictionary', size: number): string {
  const column = (name: string): Vector => {
    const values = rows.map((row) => row[name]);
    if (!(CELL_TEXTS as readonly string[]).includes(name))
      return vectorFromArray(values, new Float64());
    return vectorFromArray(
      values,
      form === 'plain' ? new Utf8() : new Dictionary(new Utf8(), new Int32()),
    );
  };
  const table = new Table(
    Object.fromEntries([...CELL_TEXTS, ...CELL_NUMBERS].map((name) => [name, column(name)])),
  );
  const batches = [];
  for (let from = 0; from < rows.length; from += size) {
    batches.push(...table.slice(from, from + size).batches);
  }
  const schema = new Schema(
    table.schema.fields.map((f) => new Field(f.name, f.type as never, true)),
  );
  const same = batches.map(
    (batch) => new RecordBatch(schema, batch.data.clone(new Struct(schema.fields)) as never),
  );
  return scratch.file('.arrow', tableToIPC(new Table(schema, same), 'file'));
}

describe('Flat cells, read', () => {
  it.each(['plain', 'dictionary'] as const)(
    'from Arrow with %s texts are the file rows',
    async (form) => {
      await fc.assert(
        fc.asyncProperty(files, fc.integer({ min: 1, max: 400 }), async (rows, size) => {
          expect(await allRows(arrowCells(arrowFile(rows, form, size)))).toEqual(rows);
        }),
        { numRuns: 6 },
      );
    },
  );

  it('from Parquet are the rows of the file, whichever of them change within a vector or between two', async () => {
    const columns = `{${[...CELL_TEXTS.map((name) => `${name}: 'VARCHAR'`), ...CELL_NUMBERS.map((name) => `${name}: 'DOUBLE'`)].join(', ')}}`;
    await fc.assert(
      fc.asyncProperty(files, fc.constantFrom(1, 60), async (some, times) => {
        const rows = Array.from({ length: times }, () => some).flat();
        const from = scratch.file('.ndjson', lines(rows));
        const file = await scratch.parquet(
          `SELECT * FROM ${readJson(from).replace(')', `, columns = ${columns})`)}`,
        );
        expect(await allRows(parquetCells(file))).toEqual(rows);
      }),
      { numRuns: 6 },
    );
  });

  it('from Parquet mark values that are not texts', async () => {
    const file = await scratch.parquet(
      `SELECT 'mainchain' AS chain, 'a' AS address, 1 AS t, 2 AS price_usd, 'x' AS source, 'CEX' AS exchange_type,
       8 AS pair, 7 AS tier, NULL AS "type", 1 AS bin, 1 AS support_usd, 1 AS resistance_usd`,
    );
    const [row] = await allRows(parquetCells(file));
    expect(row).toMatchObject({ chain: 'mainchain', type: null, market_address: null });
    expect([typeof row.pair, typeof row.tier]).toEqual(['number', 'number']);
  });
});

const CSV_NAMES = [...CELL_TEXTS, ...CELL_NUMBERS, 'note'];
const csvValue = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('', 'a', 'b', 'ab', 'Ä', '1', '12', '-3', '0.5', '148.25'),
  },
  { weight: 2, arbitrary: fc.double().map(String) },
  fc.constantFrom(
    ...['1.', '.5', '-.5', '+2', '-', '.', '-0', '007', '1e3', '1.2.3', '0x1', ' 1', 'NaN', '\r'],
  ),
  fc.constantFrom(
    ...['999999999', '9999999999', '0.000000001', '123456.789', '1234567.891', '\u0001'],
  ),
);

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/** The content of a CSV file, cut at its commas; a wrong number of fields is a fault. */
function cutAtCommas(header: readonly string[], csv: string) {
  const rows: Row[] = [];
  const faults: string[] = [];
  csv.split('\n').forEach((line, i) => {
    const fields = line.replace(/\r$/, '').split(',');
    if (fields.join('') === '' && fields.length === 1) return;
    if (fields.length !== header.length) {
      const found = `found ${fields.length}`;
      faults.push(`${2 + i}: expected ${header.length} fields as in the header, ${found}`);
      return;
    }
    const field = (name: string) => (header.includes(name) ? fields[header.indexOf(name)] : '');
    const numbers = CELL_NUMBERS.map((name) => [
      name,
      NUMBER.test(field(name)) ? +field(name) : NaN,
    ]);
    const own = CELL_TEXTS.map((name) => [name, field(name) || null]);
    rows.push({ ...Object.fromEntries([...own, ...numbers]), line: 2 + i } as Row);
  });
  return { rows, faults };
}

/** Whatever is no whole second from 1 to 4294967295 is refused alike: numbers of many digits come as something else. */
const withTime = (row: Row) => {
  const t = row.t as number;
  return { ...row, t: Number.isInteger(t) && t >= 1 && t <= 4_294_967_295 ? t : NaN };
};

async function readCsvCells(csv: string) {
  const file = path.join(scratch.directory, 'cells.csv');
  writeFileSync(file, csv);
  const log = new FaultLog();
  const rows: Row[] = [];
  for await (const batch of cellRows(CSV(file), log)) {
    rows.push(...rowsOf(batch).map((row, i) => ({ ...row, line: batch.lines![i] })));
  }
  return { rows, faults: log.faults.map(({ line, message }) => `${line}: ${message}`) };
}

describe('Flat cells of CSV', () => {
  it('are the fields between its commas', async () => {
    const text = fc.shuffledSubarray(CSV_NAMES, { minLength: CSV_NAMES.length }).chain((header) =>
      fc.record({
        header: fc.constant(header),
        // Each row has some fields of its own; the others are those of the previous row.
        rows: fc.array(
          fc.record({
            changes: fc.array(fc.tuple(fc.nat(header.length - 1), csvValue), { maxLength: 3 }),
            end: fc.constantFrom('\n', '\n', '\n', '\r\n', '\n\n', ',x\n'),
          }),
          { maxLength: 9 },
        ),
      }),
    );
    await fc.assert(
      fc.asyncProperty(text, async ({ header, rows }) => {
        const fields = header.map(() => 'a');
        let csv = '';
        for (const { changes, end } of rows) {
          for (const [at, put] of changes) fields[at] = put;
          csv += fields.join(',') + end;
        }
        const read = await readCsvCells(`${header.join(',')}\n${csv}`);
        const reference = cutAtCommas(header, csv);
        expect(read.rows.map(withTime)).toEqual(reference.rows.map(withTime));
        expect(read.faults).toEqual(reference.faults);
      }),
      { numRuns: 50 },
    );
  });

  it('are read with quotes, with other letters and without a final newline, over chunks', async () => {
    const rows: string[] = [];
    const wanted: [number, number, string][] = [];
    for (let i = 0; i < 60_000; i++) {
      const pair = i === 30_000 ? '"A,""B"""' : i > 45_000 ? `Ä${i}` : `P${i >> 5}/B`;
      const line = `${'chain'.padEnd(50, 'x')},a,${i},,2,s,DEX,,,${pair},${i % 400},1.5,${i / 8}`;
      wanted.push([rows.push(line) + 1, i % 400, i === 30_000 ? 'A,"B"' : pair]);
    }
    const head = [...CELL_TEXTS.slice(0, 2), 't', 'tier', 'price_usd', ...CELL_TEXTS.slice(3)];
    const text = [[...head, 'bin', 'support_usd', 'resistance_usd'].join(), ...rows].join('\n');
    const read = await readCsvCells(text);
    expect(read.faults).toEqual([]);
    expect(read.rows.map(({ line, bin, pair }) => [line, bin, pair])).toEqual(wanted);
  });
});

it('Runs of texts are those of the rows, and as few as possible', () => {
  fc.assert(
    fc.property(files, (rows) => {
      const columns = cellColumnsOfRows(rows);
      expect(rowsOf(columns)).toEqual(rows);
      const textsOf = (row: Row) => JSON.stringify(CELL_TEXTS.map((name) => row[name]));
      const starts = rows.flatMap((row, i) =>
        i === 0 || textsOf(row) !== textsOf(rows[i - 1]) ? [i] : [],
      );
      expect(Array.from(columns.starts)).toEqual(starts);
      for (const name of CELL_TEXTS) {
        const { values } = columns.texts[name];
        expect(new Set(values).size).toBe(values.length);
      }
    }),
    { numRuns: 50 },
  );
});

/** Snapshots of some hundred rows each, in batches of any size. */
it('Chunks of cells are cut at the end of a snapshot, and lose no row', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 14 }),
      fc.integer({ min: 500, max: 40_000 }),
      async (sizes, batchRows) => {
        const t = sizes.flatMap((size, s) => Array.from({ length: size }, () => s));
        const bins = t.map((_, i) => i);
        const chunks: CellRows[] = [];
        const cutter = new CellCutter('file');
        for (let from = 0; from < t.length; from += batchRows) {
          const end = Math.min(t.length, from + batchRows);
          const chunk = cutter.add(batchOf(t.slice(from, end), bins.slice(from, end)));
          if (chunk !== null) chunks.push(chunk);
        }
        const last = cutter.finish();
        if (last !== null) chunks.push(last);
        let row = 0;
        for (const { firstLine, ...columns } of chunks) {
          expect(firstLine).toBe(row + 1);
          expect(columns.starts[0]).toBe(0);
          for (let i = 0; i < columns.t.length; i++, row++) {
            if (columns.t[i] !== t[row] || columns.bin[i] !== row) expect.fail(`row ${row}`);
          }
          if (row < t.length) expect(t[row]).not.toBe(t[row - 1]);
          expectRunsOf(columns);
        }
        expect(row).toBe(t.length);
        await Promise.resolve();
      },
    ),
    { numRuns: 12 },
  );
});

/** Rows whose pair changes every seven rows of the file. */
const pairOf = (bin: number): string => `P${Math.floor(bin / 7) % 3}`;

function batchOf(t: number[], bins: number[]): CellColumns {
  const rows = t.length;
  const starts = bins.flatMap((bin, i) =>
    i === 0 || pairOf(bin) !== pairOf(bins[i - 1]) ? [i] : [],
  );
  const same = { codes: new Uint32Array(starts.length), values: ['x'] };
  const pairs = starts.map((row) => pairOf(bins[row]));
  const pair = { codes: Uint32Array.from(pairs, (_, i) => i), values: pairs };
  const zeros = new Float64Array(rows);
  return {
    t: Float64Array.from(t),
    bin: Float64Array.from(bins),
    price_usd: zeros,
    support_usd: zeros,
    resistance_usd: zeros,
    starts: Uint32Array.from(starts),
    texts: cellTexts((name) => (name === 'pair' ? pair : same)),
  };
}

function expectRunsOf({ starts, texts: { pair }, bin }: CellColumns): void {
  expect(pair.codes).toHaveLength(starts.length);
  for (let i = 0, run = -1; i < bin.length; i++) {
    if (i === starts[run + 1]) run++;
    if (pair.values[pair.codes[run]] !== pairOf(bin[i])) expect.fail(`the pair of bin ${bin[i]}`);
  }
}
