/** Reads rows of flat datasets in each of the four formats, and of `cells` in CSV. */
import { cellColumnsOfRows, type CellColumns } from '../../compute/ingest/cell-columns.js';
import { MAX_FAULTS, type FaultLog } from '../../compute/ingest/fields.js';
import { readCsvBatches } from '../csv.js';
import { readLineBatches } from '../lines.js';
import { arrowRows } from './arrow.js';
import { CELL_COLUMNS, checkColumns, type WantedColumn } from './columns.js';
import type { FileFormat } from './datasets.js';
import type { FlatField } from './flat-fields.js';
import { parquetRows } from './parquet.js';

/** A row as parsed, with its line (NDJSON, CSV) or its number from 1 (Parquet, Arrow). */
export interface NumberedRow {
  line: number;
  row: unknown;
}

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/**
 * The rows of a flat dataset in the file's order. A malformed line becomes a fault.
 * @throws InputError where the file lacks a column
 */
export function flatRows(
  file: string,
  format: FileFormat,
  fields: readonly FlatField[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow> {
  const wanted = fields.map(wantedColumn);
  switch (format) {
    case 'ndjson':
      return jsonRows(file, faults);
    case 'csv':
      return csvRows(file, wanted, faults);
    case 'parquet':
      return numbered(parquetRows(file, wanted));
    case 'arrow':
      return numbered(arrowRows(file, wanted));
  }
}

/** The rows of `cells` in a CSV file, by column. Throws and reports faults as flatRows does. */
export async function* csvCells(file: string, faults: FaultLog): AsyncGenerator<CellColumns> {
  for await (const rows of csvBatches(file, CELL_COLUMNS, faults)) {
    yield {
      ...cellColumnsOfRows(rows.map(({ row }) => row)),
      lines: Float64Array.from(rows, ({ line }) => line),
    };
  }
}

function wantedColumn({ name, kind, nullable }: FlatField): WantedColumn {
  return { name, kind: kind === 'integer' ? 'number' : kind, required: !nullable };
}

async function* jsonRows(file: string, faults: FaultLog): AsyncGenerator<NumberedRow> {
  for await (const lines of readLineBatches(file)) {
    for (const { line, text } of lines) {
      if (text.trim() === '') continue;
      let row: unknown;
      try {
        row = JSON.parse(text);
      } catch {
        faults.line = line;
        faults.add('json', 'must be one JSON object, whole on its line');
        continue;
      }
      yield { line, row };
    }
  }
}

async function* csvRows(
  file: string,
  wanted: readonly WantedColumn[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow> {
  for await (const rows of csvBatches(file, wanted, faults)) yield* rows;
}

/** Malformed records become faults of field `csv`; the tenth ends the reading. */
async function* csvBatches(
  file: string,
  wanted: readonly WantedColumn[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow[]> {
  let columns: (WantedColumn & { index: number })[] | null = null;
  const onFault = (line: number, what: string): void => {
    faults.line = line;
    faults.add('csv', what);
  };
  for await (const { header, records } of readCsvBatches(file, onFault)) {
    if (columns === null) {
      checkHeader(file, header, wanted);
      columns = wanted
        .map((column) => ({ ...column, index: header.indexOf(column.name) }))
        .filter(({ index }) => index >= 0);
    }
    const rows: NumberedRow[] = [];
    for (const { line, fields } of records) {
      const row: Record<string, unknown> = {};
      for (const { name, kind, index } of columns) row[name] = valueOfText(kind, fields[index]);
      rows.push({ line, row });
    }
    yield rows;
    if (faults.count >= MAX_FAULTS) return;
  }
}

function checkHeader(
  file: string,
  header: readonly string[],
  wanted: readonly WantedColumn[],
): void {
  // CSV columns have no type: their fields are checked row by row.
  const untyped = wanted.map((column) => ({ ...column, kind: 'any' as const }));
  const found = new Map(header.map((name) => [name, { kind: 'text' as const, type: 'text' }]));
  checkColumns(file, found, untyped);
}

/**
 * A CSV field as JSON would have it: an empty one is null, digits are a number, `true` and `false`
 * a boolean where the column's kind is that; anything else stays a text.
 */
function valueOfText(kind: WantedColumn['kind'], text: string): unknown {
  if (text === '') return null;
  if (kind === 'number' && NUMBER.test(text)) return Number(text);
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

async function* numbered(
  batches: AsyncIterable<Record<string, unknown>[]>,
): AsyncGenerator<NumberedRow> {
  let line = 0;
  for await (const rows of batches) {
    for (const row of rows) yield { line: ++line, row };
  }
}
