/** Flat cells of CSV files. */
import type { FaultLog } from '../../compute/ingest/faults.js';
import { textRuns, CELL_TEXTS, type CellText } from '../../compute/ingest/text-runs.js';
import { RecordReader, type CsvRecord } from '../csv.js';
import { linesOfChunk, readLineChunks } from '../lines.js';
import {
  CELL_COLUMNS,
  cellNumbers,
  cellTexts,
  missingNumbers,
  type CellBatch,
} from './cell-batch.js';
import { checkHeader, csvFaults, numberOfText } from './csv-fields.js';
import { PlainCsvCells, isPlainCsv } from './plain-csv-cells.js';

/**
 * Records that are no records become faults and no rows; after ten the file is read no further.
 * @throws InputError where the header lacks a column
 */
export async function* csvCells(file: string, faults: FaultLog): AsyncGenerator<CellBatch> {
  const { onFault, isFull } = csvFaults(faults);
  const reader = new RecordReader(file, onFault);
  let plain: PlainCsvCells | null = null;
  for await (const chunk of readLineChunks(file)) {
    let batch: CellBatch | null = null;
    if (plain !== null && !reader.isOpen && isPlainCsv(chunk)) {
      batch = plain.read(chunk);
    } else {
      const records = reader.read(linesOfChunk(file, chunk));
      const { header } = reader;
      if (header === null) continue;
      if (plain === null) checkHeader(file, header, CELL_COLUMNS);
      plain ??= new PlainCsvCells(header, onFault);
      batch = batchOf(header, records);
    }
    if (batch.rows > 0) yield batch;
    if (isFull()) return;
  }
  reader.end();
}

function batchOf(header: readonly string[], records: readonly CsvRecord[]): CellBatch {
  const rows = records.length;
  const columns = CELL_TEXTS.map((name) => [name, textsOf(header.indexOf(name), records)]);
  const { starts, texts } = textRuns(
    Object.fromEntries(columns) as Record<CellText, (string | null)[]>,
    rows,
  );
  return {
    rows,
    numbers: cellNumbers((name) => {
      const index = header.indexOf(name);
      if (index < 0) return missingNumbers(rows);
      return Float64Array.from(records, ({ fields }) => numberOfText(fields[index]));
    }),
    starts,
    texts: cellTexts((name) => {
      const { codes, values } = texts[name];
      return { codes, size: values.length, value: (code) => values[code] };
    }),
    lines: Float64Array.from(records, ({ line }) => line),
  };
}

function textsOf(index: number, records: readonly CsvRecord[]): (string | null)[] {
  return records.map(({ fields }) => (index < 0 || fields[index] === '' ? null : fields[index]));
}
