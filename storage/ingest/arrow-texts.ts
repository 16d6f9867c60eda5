/** Text columns of Arrow vectors as runs: a text is read where it is not the one of the row before. */
import { DataType, type Vector } from 'apache-arrow';
import { TextCoder } from '../../compute/ingest/text-column.js';
import { CELL_TEXTS, cellTexts, nullCodes, type CellBatch, type CellText } from './cell-batch.js';

/** Rows whose bytes are compared with those of the rows before at once. */
const BLOCK_ROWS = 64;

/** What is read of a column of one record batch. */
interface ColumnData {
  type: DataType;
  values: unknown;
  valueOffsets: Int32Array;
  /** A bit a row from row `-offset` on; set: not null. */
  nullBitmap: Uint8Array;
  offset: number;
  dictionary: Vector | undefined;
}

/** Runs of the columns' rows. A column that is null is none of the file. */
export function arrowTexts(
  columnOf: (name: CellText) => Vector | null,
  rows: number,
): Pick<CellBatch, 'starts' | 'texts'> {
  const vectors = CELL_TEXTS.map(columnOf);
  // Bit `i` of a row is set where text `i` differs from the row before.
  const changed = new Uint8Array(rows).fill(0xff, 0, 1);
  vectors.forEach((vector, i) => {
    if (vector !== null) markChanges(vector, rows, changed, 1 << i);
  });
  const starts = startsOf(changed);
  const texts = cellTexts((_, i) => {
    const vector = vectors[i];
    return vector === null
      ? nullCodes(starts.length)
      : codesOf(vector, starts, (row) => (changed[row] & (1 << i)) !== 0);
  });
  return { starts, texts };
}

function startsOf(changed: Uint8Array): Uint32Array {
  const starts = new Uint32Array(changed.length);
  let runs = 0;
  for (let row = 0; row < changed.length; row++) if (changed[row] !== 0) starts[runs++] = row;
  return starts.slice(0, runs);
}

function codesOf(vector: Vector, starts: Uint32Array, isChanged: (row: number) => boolean) {
  const coder = new TextCoder();
  const codes = new Uint32Array(starts.length);
  let code = 0;
  for (let run = 0; run < starts.length; run++) {
    const row = starts[run];
    if (isChanged(row)) code = coder.code(vector.get(row));
    codes[run] = code;
  }
  return { codes, size: coder.values.length, value: (of: number) => coder.values[of] };
}

/** Sets `bit` of the rows from the second on whose value is not that of the row before. */
function markChanges(vector: Vector, rows: number, changed: Uint8Array, bit: number): void {
  const data = vector.data[0] as unknown as ColumnData;
  if (DataType.isNull(data.type)) return;
  const hasNulls = vector.nullCount > 0;
  if (DataType.isDictionary(data.type)) markCodes(data.values as Int32Array, rows, changed, bit);
  else if (DataType.isUtf8(data.type)) markBytes(data, rows, changed, bit);
  else for (let row = 1; row < rows; row++) changed[row] |= bit;
  if (hasNulls) markNulls(data, rows, changed, bit);
}

/** Where a row is null and the row before is not, or the other way round. */
function markNulls(
  { nullBitmap, offset }: ColumnData,
  rows: number,
  changed: Uint8Array,
  bit: number,
) {
  let before = 0;
  for (let row = 0; row < rows; row++) {
    const at = offset + row;
    const valid = (nullBitmap[at >> 3] >> (at & 7)) & 1;
    if (row > 0 && valid !== before) changed[row] |= bit;
    before = valid;
  }
}

function markCodes(codes: ArrayLike<number>, rows: number, changed: Uint8Array, bit: number): void {
  for (let row = 1; row < rows; row++) if (codes[row] !== codes[row - 1]) changed[row] |= bit;
}

/** Of UTF-8 texts, told from their bytes. */
function markBytes(
  { values, valueOffsets: offsets }: ColumnData,
  rows: number,
  changed: Uint8Array,
  bit: number,
): void {
  const { buffer, byteOffset, length } = values as Uint8Array;
  const bytes = Buffer.from(buffer, byteOffset, length);
  const view = new DataView(buffer, byteOffset, length);
  for (let row = 1; row < rows; row += BLOCK_ROWS) {
    const end = Math.min(rows, row + BLOCK_ROWS);
    if (isOneText(bytes, offsets, row - 1, end)) continue;
    for (let i = row; i < end; i++) if (!isRepeated(view, offsets, i)) changed[i] |= bit;
  }
}

/** Whether rows `from <= i < to` hold the same text: as long as the first, and shifted by it the same. */
function isOneText(bytes: Buffer, offsets: Int32Array, from: number, to: number): boolean {
  const start = offsets[from];
  const length = offsets[from + 1] - start;
  for (let row = from + 1; row < to; row++) {
    if (offsets[row + 1] - offsets[row] !== length) return false;
  }
  const end = offsets[to];
  return bytes.compare(bytes, start, end - length, start + length, end) === 0;
}

/** Whether a row's text is that of the row before. */
function isRepeated(view: DataView, offsets: Int32Array, row: number): boolean {
  const start = offsets[row];
  const before = offsets[row - 1];
  const length = offsets[row + 1] - start;
  if (start - before !== length) return false;
  let i = 0;
  for (; i + 4 <= length; i += 4) {
    if (view.getInt32(start + i, true) !== view.getInt32(before + i, true)) return false;
  }
  for (; i < length; i++) if (view.getInt8(start + i) !== view.getInt8(before + i)) return false;
  return true;
}
