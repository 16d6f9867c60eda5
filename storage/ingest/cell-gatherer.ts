/** Gathers batches of flat cells into pieces that end where a snapshot ends. */
import { TextCoder, type TextColumn } from '../../compute/binning/text-column.js';
import { canonicalAddress } from '../../compute/market/address.js';
import {
  CELL_NUMBERS,
  CELL_TEXTS,
  type CellBatch,
  type CellNumber,
  type CellText,
  type TextCodes,
} from './cell-batch.js';
import { refusal } from './refusal.js';

/** Rows that a piece has at least, where the file has as many. */
const MIN_PIECE_ROWS = 32_768;
/** Rows of one snapshot, those that end up as no cell too: they are held together in memory. */
export const MAX_SNAPSHOT_ROWS = 1_000_000;

/** compute's CellColumns with coded texts, each alone in its buffer. */
export type GatheredColumns = Record<CellNumber, Float64Array> &
  Record<CellText, TextColumn> & { lines?: Float64Array };

export interface CellPiece {
  /** Number of the first row in the file, from 1. */
  firstLine: number;
  columns: GatheredColumns;
}

export class CellGatherer {
  private rows = new GatheredRows(MIN_PIECE_ROWS * 2);
  private firstLine = 1;

  constructor(private readonly file: string) {}

  /** @throws InputError where one snapshot has more rows than may be held */
  *add(batch: CellBatch): Generator<CellPiece> {
    this.rows.append(batch);
    const { length, lastSnapshot } = this.rows;
    if (length - lastSnapshot > MAX_SNAPSHOT_ROWS) {
      const line = this.rows.lineOf(length - 1) ?? this.firstLine + length - 1;
      const message = `a snapshot has at most ${MAX_SNAPSHOT_ROWS} rows`;
      throw refusal(this.file, [{ line, field: 'bin', message }]);
    }
    if (length >= MIN_PIECE_ROWS && lastSnapshot > 0) yield this.cut(lastSnapshot);
  }

  *finish(): Generator<CellPiece> {
    if (this.rows.length > 0) yield this.cut(this.rows.length);
  }

  private cut(end: number): CellPiece {
    const { rows, firstLine } = this;
    this.rows = new GatheredRows(MIN_PIECE_ROWS * 2);
    this.rows.append(rows.tail(end));
    this.firstLine += end;
    return { firstLine, columns: rows.columns(end) };
  }
}

class GatheredRows {
  length = 0;
  /** Row at which the last snapshot begins. */
  lastSnapshot = 0;
  private readonly numbers = {} as Record<CellNumber, Float64Array>;
  private readonly codes = {} as Record<CellText, Uint32Array>;
  private readonly coders = {} as Record<CellText, TextCoder>;
  private lines: Float64Array | null = null;

  constructor(private capacity: number) {
    for (const name of CELL_NUMBERS) this.numbers[name] = new Float64Array(capacity);
    for (const name of CELL_TEXTS) {
      this.codes[name] = new Uint32Array(capacity);
      this.coders[name] = new TextCoder();
    }
  }

  append({ rows, numbers, texts, lines }: CellBatch): void {
    const first = this.length;
    if (first + rows > this.capacity) this.grow(first + rows);
    for (const name of CELL_NUMBERS) this.numbers[name].set(numbers[name], first);
    for (const name of CELL_TEXTS) {
      recode(texts[name], rows, this.coders[name], this.codes[name], first);
    }
    if (lines !== undefined) {
      this.lines ??= new Float64Array(this.capacity);
      this.lines.set(lines, first);
    }
    this.length += rows;
    let row = this.length - 1;
    while (row > first && this.continues(row)) row--;
    if (row > first || (row === first && !(row > 0 && this.continues(row)))) {
      this.lastSnapshot = row;
    }
  }

  lineOf(row: number): number | undefined {
    return this.lines?.[row];
  }

  /** The rows before `end`. The buffers go with them: nothing can be added or read here after. */
  columns(end: number): GatheredColumns {
    const columns: Record<string, unknown> = {};
    for (const name of CELL_NUMBERS) columns[name] = this.numbers[name].subarray(0, end);
    for (const name of CELL_TEXTS) {
      columns[name] = {
        codes: this.codes[name].subarray(0, end),
        values: this.coders[name].values,
      };
    }
    if (this.lines !== null) columns.lines = this.lines.subarray(0, end);
    return columns as unknown as GatheredColumns;
  }

  /** The rows from `from` on. */
  tail(from: number): CellBatch {
    const { length, lines } = this;
    const numbers = {} as Record<CellNumber, Float64Array>;
    for (const name of CELL_NUMBERS) numbers[name] = this.numbers[name].subarray(from, length);
    const texts = {} as Record<CellText, TextCodes>;
    for (const name of CELL_TEXTS) {
      const { values } = this.coders[name];
      const codes = this.codes[name].subarray(from, length);
      texts[name] = { codes, size: values.length, value: (code) => values[code] };
    }
    const rows = length - from;
    return { rows, numbers, texts, ...(lines && { lines: lines.subarray(from, length) }) };
  }

  /** Whether a row belongs to the same snapshot as the row before it, however that is spelt. */
  private continues(row: number): boolean {
    return (
      this.numbers.t[row] === this.numbers.t[row - 1] &&
      this.agrees('address', row, canonical) &&
      this.agrees('chain', row, same) &&
      this.agrees('tier', row, tierName)
    );
  }

  private agrees(name: CellText, row: number, spelling: (value: unknown) => unknown): boolean {
    const codes = this.codes[name];
    if (codes[row] === codes[row - 1]) return true;
    const { values } = this.coders[name];
    return spelling(values[codes[row]]) === spelling(values[codes[row - 1]]);
  }

  private grow(rows: number): void {
    this.capacity = Math.max(rows, this.capacity * 2);
    const { capacity } = this;
    for (const name of CELL_NUMBERS) this.numbers[name] = grown(this.numbers[name], capacity);
    if (this.lines !== null) this.lines = grown(this.lines, capacity);
    for (const name of CELL_TEXTS) {
      const codes = new Uint32Array(capacity);
      codes.set(this.codes[name]);
      this.codes[name] = codes;
    }
  }
}

const same = (value: unknown): unknown => value;
/** Null or left out, a tier is `raw`. */
const tierName = (value: unknown): unknown => value ?? 'raw';
const canonical = (value: unknown): unknown =>
  typeof value === 'string' ? canonicalAddress(value) : value;

function grown(column: Float64Array, capacity: number): Float64Array {
  const larger = new Float64Array(capacity);
  larger.set(column);
  return larger;
}

/** Writes a batch's codes as those of the piece. */
function recode(
  { codes, size, value }: TextCodes,
  rows: number,
  coder: TextCoder,
  into: Uint32Array,
  at: number,
): void {
  const known = new Int32Array(size).fill(-1);
  for (let i = 0; i < rows; i++) {
    const code = codes[i];
    if (known[code] < 0) known[code] = coder.code(value(code));
    into[at + i] = known[code];
  }
}
