/** CSV files (RFC 4180), record by record. */
import { InputError } from './errors.js';
import { hasLine, MAX_LINE_BYTES, readLineBatches, type Line, type LineChunk } from './lines.js';

const QUOTE = 0x22;
/** No dataset or format here has this many columns. */
const MAX_COLUMNS = 4096;

export interface CsvRecord {
  /** Number of the record's first line in the file, counted from 1. */
  line: number;
  /** As many as in the header. */
  fields: string[];
}

interface CsvBatch {
  header: readonly string[];
  records: CsvRecord[];
}

/** What to do with a faulty record: the default throws an InputError, a handler skips the record. */
type CsvFaultHandler = (line: number, what: string) => void;

/**
 * A CSV file (RFC 4180: quotes, doubled quotes, line ends in quotes; LF or CRLF; plain or gzip) with
 * its header, in batches of a few thousand records. A file with only a header gives one empty batch. The reader
 * skips empty lines and converts line ends in quotes to LF.
 * @throws InputError (`file:line: what`) if the header is missing, has a lone CR or names a column twice and, without `onFault`,
 *   if a record has more or fewer fields than the header, or a misplaced quote
 * @param only the lines on which the records of interest begin: most others are left out
 */
export async function* readCsvBatches(
  path: string,
  onFault: CsvFaultHandler = (line, what) => {
    throw new InputError(`${path}:${line}: ${what}`);
  },
  delimiter = ',',
  only?: ReadonlySet<number>,
): AsyncGenerator<CsvBatch, void, undefined> {
  const reader = new RecordReader(path, onFault, delimiter);
  // Without a quote, each line is a record of its own.
  const skips = (chunk: LineChunk): boolean =>
    only !== undefined &&
    reader.isBetweenRecords &&
    !chunk.bytes.includes(QUOTE) &&
    !hasLine(chunk, only);
  for await (const lines of readLineBatches(path, skips)) {
    const records = reader.read(lines);
    if (reader.header !== null) yield { header: reader.header, records };
  }
  reader.end();
}

/** Like readCsvBatches, one record at a time. */
export async function* readCsv(
  path: string,
): AsyncGenerator<CsvRecord & { header: readonly string[] }, void, undefined> {
  for await (const { header, records } of readCsvBatches(path)) {
    for (const record of records) yield { ...record, header };
  }
}

function checkedHeader(path: string, record: CsvRecord): string[] {
  if (record.fields.some((name) => name.includes('\r'))) {
    throw new InputError(`${path}:1: expected lines that end in LF or CRLF, they end in CR alone`);
  }
  const seen = new Set<string>();
  for (const name of record.fields) {
    if (seen.has(name)) {
      throw new InputError(`${path}:${record.line}: ${name}: the header has this column twice`);
    }
    seen.add(name);
  }
  if (seen.size > MAX_COLUMNS) {
    throw new InputError(`${path}:${record.line}: the header has more than ${MAX_COLUMNS} columns`);
  }
  return record.fields;
}

/** Assembles records from lines. A record with an open quote continues in the next line. */
class RecordReader {
  /** The first record. */
  header: string[] | null = null;
  /** The record with an open quote, and that quote's text so far. */
  private open: { record: CsvRecord; text: string } | null = null;

  constructor(
    private readonly path: string,
    private readonly onFault: CsvFaultHandler,
    private readonly delimiter: string,
  ) {}

  /** Whether the header is known and no record is open. */
  get isBetweenRecords(): boolean {
    return this.header !== null && this.open === null;
  }

  /** The records that these lines complete, without the header. */
  read(lines: Line[]): CsvRecord[] {
    const records: CsvRecord[] = [];
    for (const { line, text } of lines) {
      if (text === '' && this.open === null) continue;
      const isPlain = this.open === null && !text.includes('"');
      const record = isPlain
        ? { line, fields: text.split(this.delimiter) }
        : this.readQuoted(line, text);
      if (record === null) continue;
      if (this.header === null) this.header = checkedHeader(this.path, record);
      else if (this.isWhole(record, this.header.length)) records.push(record);
    }
    return records;
  }

  /** @throws InputError if the file has no header */
  end(): void {
    if (this.open !== null) this.fault(this.open.record.line, 'a quote is never closed');
    if (this.header !== null) return;
    throw new InputError(`${this.path}:1: expected a header, found nothing`);
  }

  /** Returns the record that this line completes; null if it is open or faulty. */
  private readQuoted(line: number, text: string): CsvRecord | null {
    const record = this.open?.record ?? { line, fields: [] };
    let at = 0;
    let quoted = this.open === null ? null : `${this.open.text}\n`;
    this.open = null;
    for (;;) {
      if (quoted === null && text[at] !== '"') {
        const end = text.indexOf(this.delimiter, at);
        const field = text.slice(at, end < 0 ? undefined : end);
        if (field.includes('"')) return this.refuse(record, 'a quote inside an unquoted field');
        record.fields.push(field);
        if (end < 0) return record;
        at = end + 1;
        continue;
      }
      if (quoted === null) [quoted, at] = ['', at + 1];
      const close = closingQuote(text, at);
      if (close < 0) return this.leaveOpen(record, quoted + undouble(text.slice(at)));
      record.fields.push(quoted + undouble(text.slice(at, close)));
      quoted = null;
      at = close + 1;
      if (at === text.length) return record;
      if (text[at] !== this.delimiter) return this.refuse(record, 'text after a closing quote');
      at++;
    }
  }

  private leaveOpen(record: CsvRecord, text: string): null {
    if (text.length > MAX_LINE_BYTES) return this.refuse(record, 'a quote is never closed');
    this.open = { record, text };
    return null;
  }

  private isWhole(record: CsvRecord, width: number): boolean {
    const found = record.fields.length;
    if (found === width) return true;
    this.fault(record.line, `expected ${width} fields as in the header, found ${found}`);
    return false;
  }

  private refuse(record: CsvRecord, what: string): null {
    this.fault(record.line, what);
    return null;
  }

  /** Without a header no record can be read. */
  private fault(line: number, what: string): void {
    if (this.header === null) throw new InputError(`${this.path}:${line}: the header: ${what}`);
    this.onFault(line, what);
  }
}

function undouble(text: string): string {
  return text.replaceAll('""', '"');
}

/** Index of the quote that closes a quoted field, -1 if the line has none. */
function closingQuote(text: string, from: number): number {
  for (let at = from; ; at += 2) {
    at = text.indexOf('"', at);
    if (at < 0 || text[at + 1] !== '"') return at;
  }
}
