/**
 * Flat cells of CSV without quotes, read from bytes. Neighbouring rows begin alike, mostly up to the
 * bin: only what differs is looked at field by field.
 */
import { isUtf8 } from 'node:buffer';
import { CELL_TEXTS, type CellText } from '../../compute/ingest/text-runs.js';
import { TextCoder } from '../../compute/ingest/text-column.js';
import { wrongWidth, type CsvFaultHandler } from '../csv.js';
import { countNewlines, type LineChunk } from '../lines.js';
import { CELL_NUMBERS, cellTexts, type CellBatch, type CellNumber } from './cell-batch.js';
import { numberOfText } from './csv-fields.js';

const COMMA = 0x2c;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const QUOTE = 0x22;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;

/** Digits that a 32-bit integer holds, whatever they are. */
const INT32_DIGITS = 9;
const POWERS_OF_TEN = Float64Array.from({ length: INT32_DIGITS + 1 }, (_, i) => 10 ** i);

interface TextField {
  name: CellText;
  /** Its column in the file; -1 where there is none. */
  column: number;
  coder: TextCoder;
  /** The last row's. */
  code: number;
  codes: Uint32Array;
}

interface NumberField {
  name: CellNumber;
  column: number;
  values: Float64Array;
}

/** Whether PlainCsvCells can read a chunk: UTF-8 without a quote, its last line complete. */
export function isPlainCsv({ bytes }: LineChunk): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return bytes[bytes.length - 1] === NEWLINE && !buffer.includes(QUOTE) && isUtf8(buffer);
}

export class PlainCsvCells {
  private readonly width: number;
  private readonly texts: TextField[];
  private readonly numbers: NumberField[];
  private starts = new Uint32Array(0);
  private lines = new Float64Array(0);
  private bytes: Buffer = Buffer.alloc(0);
  /** Where the fields of the row at hand, and of the one before it, end: counted from the row's start. */
  private ends: Int32Array;
  private endsBefore: Int32Array;
  /** Start of the row before; -1 where that is none, or has not as many fields as the header. */
  private before = -1;
  private rows = 0;
  private runs = 0;

  constructor(
    header: readonly string[],
    private readonly onFault: CsvFaultHandler,
  ) {
    this.width = header.length;
    this.ends = new Int32Array(header.length);
    this.endsBefore = new Int32Array(header.length);
    this.texts = CELL_TEXTS.map((name) => ({
      ...{ name, column: header.indexOf(name), coder: new TextCoder(), code: 0 },
      codes: new Uint32Array(0),
    }));
    this.numbers = CELL_NUMBERS.map((name) => {
      return { name, column: header.indexOf(name), values: new Float64Array(0) };
    });
  }

  /** The rows of a chunk for which isPlainCsv() holds, until the next call. Blank lines are skipped. */
  read({ bytes, firstLine }: LineChunk): CellBatch {
    this.begin(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    let line = firstLine;
    for (let at = 0; at < bytes.length; line++) {
      const isBlank = bytes[at] === NEWLINE || (bytes[at] === RETURN && bytes[at + 1] === NEWLINE);
      at = isBlank ? this.bytes.indexOf(NEWLINE, at) + 1 : this.readRow(at, line);
    }
    return this.batch();
  }

  private begin(bytes: Buffer): void {
    this.bytes = bytes;
    this.before = -1;
    this.rows = 0;
    this.runs = 0;
    const most = countNewlines(bytes);
    const isRoomy = most <= this.lines.length;
    if (!isRoomy) this.lines = new Float64Array(most);
    if (!isRoomy) this.starts = new Uint32Array(most);
    for (const field of this.numbers) if (!isRoomy) field.values = new Float64Array(most);
    for (const field of this.texts) {
      if (!isRoomy) field.codes = new Uint32Array(most);
      field.coder = new TextCoder();
      if (field.column < 0) field.code = field.coder.code(null);
    }
  }

  /** @returns the start of the next line */
  private readRow(start: number, line: number): number {
    const { bytes, ends, endsBefore, width } = this;
    const alike = this.fieldsAlike(start);
    for (let field = 0; field < alike; field++) ends[field] = endsBefore[field];
    let field = alike;
    let at = alike === 0 ? start : start + ends[alike - 1] + 1;
    for (let byte = bytes[at]; byte !== NEWLINE; byte = bytes[++at]) {
      if (byte !== COMMA) continue;
      if (field < width) ends[field] = at - start;
      field++;
    }
    const isReturn = at > start && bytes[at - 1] === RETURN;
    if (field < width) ends[field] = (isReturn ? at - 1 : at) - start;
    field++;
    if (field === width) {
      this.addRow(start, line, alike);
      this.before = start;
      this.ends = endsBefore;
      this.endsBefore = ends;
    } else {
      this.before = -1;
      this.onFault(line, wrongWidth(width, field));
    }
    return at + 1;
  }

  /** How many fields, from the first one on, the row at `start` shares with the row before. */
  private fieldsAlike(start: number): number {
    const { bytes, before, endsBefore } = this;
    if (before < 0) return 0;
    let same = 0;
    while (bytes[start + same] === bytes[before + same] && bytes[start + same] !== NEWLINE) same++;
    let fields = 0;
    // The last field has no comma that would show where it ends.
    while (fields < this.width - 1 && endsBefore[fields] < same) fields++;
    return fields;
  }

  private addRow(start: number, line: number, alike: number): void {
    const { numbers, texts } = this;
    const row = this.rows++;
    this.lines[row] = line;
    for (let i = 0; i < numbers.length; i++) {
      const { column, values } = numbers[i];
      if (column < 0) values[row] = NaN;
      else if (column < alike) values[row] = values[row - 1];
      else this.readNumber(values, row, this.fieldStart(start, column), start + this.ends[column]);
    }
    let isNew = row === 0;
    for (let i = 0; i < texts.length; i++) {
      const field = texts[i];
      if (field.column < alike || this.repeatsBefore(start, field.column)) continue;
      const code = field.coder.code(this.textOf(start, field.column));
      if (code !== field.code) isNew = true;
      field.code = code;
    }
    if (!isNew) return;
    const run = this.runs++;
    this.starts[run] = row;
    for (let i = 0; i < texts.length; i++) texts[i].codes[run] = texts[i].code;
  }

  private fieldStart(start: number, column: number): number {
    return column === 0 ? start : start + this.ends[column - 1] + 1;
  }

  /** Whether a field behind the ones that are alike is the row before's all the same. */
  private repeatsBefore(start: number, column: number): boolean {
    const { bytes, before, ends, endsBefore } = this;
    if (before < 0) return false;
    const from = this.fieldStart(start, column);
    const fromBefore = column === 0 ? before : before + endsBefore[column - 1] + 1;
    const length = start + ends[column] - from;
    if (before + endsBefore[column] - fromBefore !== length) return false;
    for (let i = 0; i < length; i++) if (bytes[from + i] !== bytes[fromBefore + i]) return false;
    return true;
  }

  /** An empty field is null. */
  private textOf(start: number, column: number): string | null {
    const from = this.fieldStart(start, column);
    const text = this.bytes.toString('utf8', from, start + this.ends[column]);
    return text === '' ? null : text;
  }

  private readNumber(into: Float64Array, row: number, from: number, to: number): void {
    const { bytes } = this;
    const isNegative = bytes[from] === MINUS;
    let at = isNegative ? from + 1 : from;
    const firstDigit = at;
    let mantissa = 0;
    let decimals = -1;
    for (; at < to; at++) {
      const digit = bytes[at] - ZERO;
      if (digit >= 0 && digit <= 9) {
        mantissa = (Math.imul(mantissa, 10) + digit) | 0;
        if (decimals >= 0) decimals++;
      } else if (bytes[at] === DOT && decimals < 0 && at > firstDigit) {
        decimals = 0;
      } else {
        break;
      }
    }
    const digits = to - firstDigit - (decimals >= 0 ? 1 : 0);
    if (at < to || digits < 1 || digits > INT32_DIGITS) {
      into[row] = numberOfText(bytes.toString('latin1', from, to));
      return;
    }
    // Two exact numbers: their quotient is rounded once, to the double nearest to the decimal number.
    const value = decimals > 0 ? mantissa / POWERS_OF_TEN[decimals] : mantissa;
    into[row] = isNegative ? -value : value;
  }

  private batch(): CellBatch {
    const { rows, runs, texts, numbers } = this;
    const columns = numbers.map(({ name, values }) => [name, values.subarray(0, rows)]);
    return {
      rows,
      numbers: Object.fromEntries(columns) as CellBatch['numbers'],
      starts: this.starts.subarray(0, runs),
      texts: cellTexts((_, i) => {
        const { codes, coder } = texts[i];
        const { values } = coder;
        return {
          codes: codes.subarray(0, runs),
          size: values.length,
          value: (code) => values[code],
        };
      }),
      lines: this.lines.subarray(0, rows),
    };
  }
}
