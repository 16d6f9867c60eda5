/** Reads rows in each of the four formats, unchanged or mapped to a dataset's rows. */
import { cellColumnsOfRows, type CellColumns } from '../../compute/ingest/cell-columns.js';
import { type FaultLog, isFields, MAX_FAULTS } from '../../compute/ingest/fields.js';
import { readCsvBatches } from '../csv.js';
import { hasLine, type LineChunk, readLineBatches } from '../lines.js';
import { InputError } from '../errors.js';
import { arrowRows } from './arrow.js';
import { checkColumns, type ColumnsSeen, type NumberedRow } from './columns.js';
import type { FileFormat } from './datasets.js';
import { FIELDS, type WantedColumn } from './fields.js';
import { listed } from './hints.js';
import { type Mapping, mappedColumns, RowMapper } from './mapping.js';
import { parquetRows } from './parquet.js';
import { refusal } from './prepared.js';
import type { SymbolAddresses } from './symbol-addresses.js';
import { isNumberText, NUMBER_TEXT } from './texts.js';
import { timeNumber } from './time-units.js';

/** A file of rows, and how it is read. */
export interface RowSource {
  file: string;
  format: FileFormat;
  /** Delimiter of a CSV file. */
  delimiter: string;
  /** Null if the file's rows are already those of the dataset. */
  mapping: Mapping | null;
  /** Set if the mapping has a column of symbols. */
  symbols: SymbolAddresses | null;
  /** For the formats with a schema. */
  onColumns?: ColumnsSeen;
  /** The lines whose rows are of interest; readers may leave out others. */
  only?: ReadonlySet<number>;
}

/**
 * The rows of a dataset in the file's order. A malformed line becomes a fault.
 * @throws InputError if the file lacks a column
 */
export async function* rowBatches(
  source: RowSource,
  wanted: readonly WantedColumn[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow[]> {
  const { format, mapping, symbols } = source;
  if (mapping === null) {
    yield* fileBatches(source, wanted, faults);
    return;
  }
  const mapper = new RowMapper(wanted, mapping, format, symbols, faults);
  let first: NumberedRow | null = null;
  for await (const batch of fileBatches(source, mappedColumns(wanted, mapping), faults)) {
    first ??= batch.at(0) ?? null;
    yield await mapper.map(batch);
    if (faults.count >= MAX_FAULTS) return;
  }
  // A file with a schema was already refused for this.
  if (first !== null) checkSeen(source.file, mapper.unseen, first.row);
}

/** The rows as in the file. */
function fileBatches(
  source: RowSource,
  wanted: readonly WantedColumn[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow[]> {
  const { file, format, onColumns, only } = source;
  switch (format) {
    case 'ndjson':
      return jsonBatches(source, wanted, faults);
    case 'csv':
      return csvBatches(source, wanted, faults);
    case 'parquet':
      return parquetRows(file, wanted, onColumns, only);
    case 'arrow':
      return arrowRows(file, wanted, onColumns, only);
  }
}

/** @throws InputError if no line has a column that a flag names */
function checkSeen(file: string, unseen: ReadonlySet<string>, first: unknown): void {
  const [name] = unseen;
  if (name === undefined) return;
  const names = isFields(first) ? Object.keys(first) : [];
  throw new InputError(
    `${file}: no line has ${JSON.stringify(name)}, which a flag names; the first has ${listed(names)}`,
  );
}

/** The rows of `cells` by column, in the order and with the checks of rowBatches(). */
export async function* cellRows(source: RowSource, faults: FaultLog): AsyncGenerator<CellColumns> {
  for await (const rows of rowBatches(source, FIELDS.cells, faults)) {
    yield {
      ...cellColumnsOfRows(rows.map(({ row }) => row)),
      lines: Float64Array.from(rows, ({ line }) => line),
    };
  }
}

/** Malformed lines become faults of field `json`; the tenth ends the reading. */
async function* jsonBatches(
  { file, only }: RowSource,
  wanted: readonly WantedColumn[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow[]> {
  const times = wanted.filter(({ time }) => time !== undefined).map(({ name }) => name);
  const skips = (chunk: LineChunk): boolean => only !== undefined && !hasLine(chunk, only);
  for await (const lines of readLineBatches(file, skips)) {
    const rows: NumberedRow[] = [];
    for (const { line, text } of lines) {
      if (text.trim() === '') continue;
      try {
        const row = JSON.parse(text) as unknown;
        if (isFields(row)) keepTimes(row, times, text);
        rows.push({ line, row });
      } catch {
        faults.line = line;
        faults.add('json', 'must be one JSON object, whole on its line');
        if (faults.count >= MAX_FAULTS) break;
      }
    }
    yield rows;
    if (faults.count >= MAX_FAULTS) return;
  }
}

/** A string, or a number outside strings. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Puts all digits of a row's times in place of the doubles that JSON.parse made of them. */
function keepTimes(row: Record<string, unknown>, times: readonly string[], text: string): void {
  let quoted: Record<string, unknown> | null = null;
  for (const name of times) {
    const value = row[name];
    if (typeof value !== 'number' || isWrittenSo(value, name, text)) continue;
    quoted ??= JSON.parse(
      text.replace(STRING_OR_NUMBER, (part) => (part.startsWith('"') ? part : `"${part}"`)),
    ) as Record<string, unknown>;
    row[name] = timeNumber(quoted[name] as string);
  }
}

/** Whether the only field of this name has the number's own digits. */
function isWrittenSo(value: number, name: string, text: string): boolean {
  const key = `${JSON.stringify(name)}:`;
  const at = text.indexOf(key);
  if (at < 0 || text.includes(key, at + 1)) return false;
  const digits = String(value);
  const start = at + key.length + (text[at + key.length] === ' ' ? 1 : 0);
  return text.startsWith(digits, start) && /[,}\s]/.test(text[start + digits.length]);
}

interface CsvColumn {
  name: string;
  kind: WantedColumn['kind'];
  isTime: boolean;
  /** Of its field in a record. */
  index: number;
  /** The last record's field, and its value: most columns rarely change from row to row. */
  text: string;
  value: unknown;
}

function valueOf(column: CsvColumn, text: string): unknown {
  if (text !== column.text) {
    column.text = text;
    column.value = valueOfText(column, text);
  }
  return column.value;
}

/** Malformed records become faults of field `csv`; the tenth ends the reading. */
async function* csvBatches(
  { file, delimiter, onColumns, only }: RowSource,
  wanted: readonly WantedColumn[],
  faults: FaultLog,
): AsyncGenerator<NumberedRow[]> {
  let columns: CsvColumn[] | null = null;
  const onFault = (line: number, what: string): void => {
    faults.line = line;
    faults.add('csv', what);
  };
  for await (const { header, records } of readCsvBatches(file, onFault, delimiter, only)) {
    if (columns === null) {
      onColumns?.(header);
      checkHeader(file, header, wanted);
      columns = wanted
        .map(({ name, kind, time }) => ({
          name,
          kind,
          isTime: time !== undefined,
          index: header.indexOf(name),
          text: '',
          value: null,
        }))
        .filter(({ index }) => index >= 0);
    }
    const rows: NumberedRow[] = [];
    for (const { line, fields } of records) {
      const row: Record<string, unknown> = {};
      for (const column of columns) row[column.name] = valueOf(column, fields[column.index]);
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
  if (wanted.every(({ name }) => !header.includes(name)) && header.slice(1).some(isNumberText)) {
    const names = wanted.filter(({ required }) => required).map(({ name }) => name);
    const message = `the first line is no header: put one above it, such as ${names.join(',')}`;
    throw refusal(file, [{ line: 1, field: 'csv', message }]);
  }
  // CSV columns have no type: their fields are checked row by row.
  const untyped = wanted.map((column) => ({ ...column, kind: 'any' as const }));
  const found = new Map(header.map((name) => [name, { kind: 'text' as const, type: 'text' }]));
  checkColumns(file, found, untyped);
}

/**
 * A CSV field as in JSON: an empty one is null, digits are a number, `true` and `false` a boolean if the column has
 * that kind; anything else remains a text.
 */
function valueOfText({ kind, isTime }: CsvColumn, text: string): unknown {
  if (text === '') return null;
  if (kind === 'number' && NUMBER_TEXT.test(text)) return isTime ? timeNumber(text) : Number(text);
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
