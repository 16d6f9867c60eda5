/** Readers of flat cells give their texts as runs: spread out, they are the rows that the file has. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
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
  Utf8,
  tableToIPC,
  vectorFromArray,
  type Vector,
} from 'apache-arrow';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { textRuns, textRunsOfRows } from '../../compute/ingest/text-runs.js';
import { arrowCells } from '../../storage/ingest/arrow-cells.js';
import { CELL_NUMBERS, CELL_TEXTS, type CellBatch } from '../../storage/ingest/cell-batch.js';
import { CellGatherer, type CellPiece } from '../../storage/ingest/cell-gatherer.js';
import { parquetCells } from '../../storage/ingest/parquet-cells.js';
import { Scratch, lines, readJson } from '../support/scratch.js';

const scratch = new Scratch(mkdtempSync(path.join(os.tmpdir(), 'fathom-readers-test-')));
afterAll(() => rmSync(scratch.directory, { recursive: true, force: true }));

type Row = Record<string, string | number | null>;

/** Texts that differ late, early, in length, or in nothing that one sees. */
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

/** Stretches of rows with the same texts; a change may be one of a single column. */
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
function rowsOf({ rows, numbers, starts, texts: columns }: CellBatch): Row[] {
  expect(rows === 0 || starts[0] === 0).toBe(true);
  const found: Row[] = [];
  for (let row = 0, run = -1; row < rows; row++) {
    if (row === starts[run + 1]) run++;
    const own = CELL_TEXTS.map((name) => [name, columns[name].value(columns[name].codes[run])]);
    const amounts = CELL_NUMBERS.map((name) => [name, numbers[name][row]]);
    found.push(Object.fromEntries([...own, ...amounts]) as Row);
  }
  return found;
}

async function allRows(batches: AsyncIterable<CellBatch>): Promise<Row[]> {
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
        { numRuns: 40 },
      );
    },
  );

  it('from Parquet are the file rows, whichever of them change within a vector or between two', async () => {
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
  }, 20_000);

  it('from Parquet name what is no text as something that is none', async () => {
    const file = await scratch.parquet(
      `SELECT 'mainchain' AS chain, 'a' AS address, 1 AS t, 2 AS price_usd, 'x' AS source, 'CEX' AS exchange_type,
       DATE '2026-01-01' AS pair, 7 AS tier, NULL AS "type", 1 AS bin, 1 AS support_usd, 1 AS resistance_usd`,
    );
    const [row] = await allRows(parquetCells(file));
    expect(row).toMatchObject({ chain: 'mainchain', type: null, market_address: null });
    expect([typeof row.pair, typeof row.tier]).toEqual(['number', 'number']);
  });
});

describe('Runs of texts', () => {
  it('are alike from columns and from rows, and as few as can be', () => {
    fc.assert(
      fc.property(files, (rows) => {
        const columns = Object.fromEntries(
          CELL_TEXTS.map((name) => [name, rows.map((row) => row[name])]),
        );
        const ofColumns = textRuns(columns as never, rows.length);
        expect(textRunsOfRows(rows)).toEqual(ofColumns);
        const textsOf = (row: Row) => JSON.stringify(CELL_TEXTS.map((name) => row[name]));
        const starts = rows.flatMap((row, i) =>
          i === 0 || textsOf(row) !== textsOf(rows[i - 1]) ? [i] : [],
        );
        expect(Array.from(ofColumns.starts)).toEqual(starts);
        starts.forEach((row, run) => {
          for (const name of CELL_TEXTS) {
            const { codes, values } = ofColumns.texts[name];
            expect(values[codes[run]]).toBe(rows[row][name]);
          }
        });
      }),
      { numRuns: 50 },
    );
  });
});

describe('Gathered cells', () => {
  /** Snapshots of some hundred rows each, in batches of any size. */
  it('are cut where a snapshot ends, and lose no row', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 14 }),
        fc.integer({ min: 500, max: 40_000 }),
        async (sizes, batchRows) => {
          const t = sizes.flatMap((size, s) => Array.from({ length: size }, () => s));
          const bins = t.map((_, i) => i);
          const pieces: CellPiece[] = [];
          const gatherer = new CellGatherer('file');
          for (let from = 0; from < t.length; from += batchRows) {
            const end = Math.min(t.length, from + batchRows);
            pieces.push(...gatherer.add(batchOf(t.slice(from, end), bins.slice(from, end))));
          }
          pieces.push(...gatherer.finish());
          let row = 0;
          for (const { firstLine, columns } of pieces) {
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
      { numRuns: 25 },
    );
  });
});

/** Rows whose pair changes every seven rows of the file. */
const pairOf = (bin: number): string => `P${Math.floor(bin / 7) % 3}`;

function batchOf(t: number[], bins: number[]): CellBatch {
  const rows = t.length;
  const starts = bins.flatMap((bin, i) =>
    i === 0 || pairOf(bin) !== pairOf(bins[i - 1]) ? [i] : [],
  );
  const same = { codes: new Uint8Array(starts.length), size: 1, value: () => 'x' };
  const pairs = starts.map((row) => pairOf(bins[row]));
  const pair = {
    codes: pairs.map((_, i) => i),
    size: pairs.length,
    value: (code: number) => pairs[code],
  };
  const texts = Object.fromEntries(CELL_TEXTS.map((name) => [name, name === 'pair' ? pair : same]));
  const zeros = new Float64Array(rows);
  const numbers = { t: Float64Array.from(t), bin: Float64Array.from(bins), price_usd: zeros };
  return {
    rows,
    numbers: { ...numbers, support_usd: zeros, resistance_usd: zeros },
    starts: Uint32Array.from(starts),
    texts: texts as never,
  };
}

function expectRunsOf({ starts, texts: { pair }, bin }: CellPiece['columns']): void {
  expect(pair.codes).toHaveLength(starts.length);
  for (let i = 0, run = -1; i < bin.length; i++) {
    if (i === starts[run + 1]) run++;
    if (pair.values[pair.codes[run]] !== pairOf(bin[i])) expect.fail(`the pair of bin ${bin[i]}`);
  }
}
