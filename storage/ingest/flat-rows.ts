/** Reads the rows of a flat dataset in any of the four formats. */
import type { FaultLog } from '../../compute/binning/faults.js';
import { readCsvBatches } from '../csv.js';
import { readLineBatches } from '../lines.js';
import type { FileFormat } from './datasets.js';
import { valueOfText, type FlatField } from './flat-row.js';
import { arrowRows, parquetRows } from './pieces.js';

/** A row as parsed, with its line (NDJSON, CSV) or its number from 1 (Parquet, Arrow). */
export interface NumberedRow {
  line: number;
  row: unknown;
}

/** Rows in the file's order. A line that is no JSON becomes a fault and no row. */
export function flatRows(
  file: string,
  format: FileFormat,
  fields: readonly FlatField[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow> {
  switch (format) {
    case 'ndjson':
      return jsonRows(file, faults);
    case 'csv':
      return csvRows(file, fields);
    case 'parquet':
      return numbered(
        parquetRows(
          file,
          fields.map(({ name }) => name),
        ),
      );
    case 'arrow':
      return numbered(arrowRows(file));
  }
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

async function* csvRows(file: string, fields: readonly FlatField[]): AsyncGenerator<NumberedRow> {
  for await (const { header, records } of readCsvBatches(file)) {
    const columns = fields
      .map((field) => ({ field, index: header.indexOf(field.name) }))
      .filter(({ index }) => index >= 0);
    for (const record of records) {
      const entries = columns.map(({ field, index }) => [
        field.name,
        valueOfText(field, record.fields[index]),
      ]);
      yield { line: record.line, row: Object.fromEntries(entries) };
    }
  }
}

async function* numbered(batches: AsyncIterable<unknown[]>): AsyncGenerator<NumberedRow> {
  let line = 0;
  for await (const rows of batches) for (const row of rows) yield { line: ++line, row };
}
