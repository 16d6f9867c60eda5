/** Reads the rows of a flat dataset in any of the four formats. */
import type { FaultLog } from '../../compute/ingest/faults.js';
import { readCsvBatches } from '../csv.js';
import { readLineBatches } from '../lines.js';
import { arrowRows } from './arrow-file.js';
import type { WantedColumn } from './columns.js';
import { checkHeader, csvFaults } from './csv-fields.js';
import type { FileFormat } from './datasets.js';
import { valueOfText, type FlatField } from './flat-row.js';
import { parquetRows } from './parquet-file.js';

/** A row as parsed, with its line (NDJSON, CSV) or its number from 1 (Parquet, Arrow). */
export interface NumberedRow {
  line: number;
  row: unknown;
}

/** Rows in the file's order. A line that is no row becomes a fault. */
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
      return csvRows(file, fields, wanted, faults);
    case 'parquet':
      return numbered(parquetRows(file, wanted));
    case 'arrow':
      return numbered(arrowRows(file, wanted));
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
  fields: readonly FlatField[],
  wanted: readonly WantedColumn[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow> {
  const { onFault, isFull } = csvFaults(faults);
  let columns: { field: FlatField; index: number }[] | null = null;
  for await (const { header, records } of readCsvBatches(file, onFault)) {
    if (columns === null) {
      checkHeader(file, header, wanted);
      columns = fields
        .map((field) => ({ field, index: header.indexOf(field.name) }))
        .filter(({ index }) => index >= 0);
    }
    for (const record of records) {
      const entries = columns.map(({ field, index }) => [
        field.name,
        valueOfText(field, record.fields[index]),
      ]);
      yield { line: record.line, row: Object.fromEntries(entries) };
    }
    if (isFull()) return;
  }
}

async function* numbered(
  batches: AsyncIterable<Record<string, unknown>[]>,
): AsyncGenerator<NumberedRow> {
  let line = 0;
  for await (const rows of batches) {
    for (const row of rows) yield { line: ++line, row: withoutBigInts(row) };
  }
}

/** The row itself, its integers of 64 bits as numbers. */
function withoutBigInts(row: Record<string, unknown>): Record<string, unknown> {
  for (const name in row) {
    const value = row[name];
    if (typeof value === 'bigint') row[name] = Number(value);
  }
  return row;
}
