/** Cuts flat cells into pieces at the border of two snapshots. */
import type { CellColumns } from '../../compute/binning/cell-columns.js';
import { MAX_CELLS_PER_SNAPSHOT } from '../../compute/ladder/ladder.js';
import type { LineChunk } from '../lines.js';

/** Rows that a piece of columns has at least, where the file has as many. */
const MIN_PIECE_ROWS = 32_768;
/** A snapshot with more rows is passed on as it is, to be refused by what bins it. */
const MAX_SNAPSHOT_ROWS = 2 * MAX_CELLS_PER_SNAPSHOT;
/** The same bound for lines, in bytes. */
const MAX_SNAPSHOT_BYTES = 128 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Chunks of lines in which the last snapshot's lines are held back until the next one begins. */
export async function* cutLines(
  chunks: AsyncIterable<LineChunk>,
): AsyncGenerator<{ firstLine: number; bytes: Uint8Array }> {
  let held: Uint8Array = new Uint8Array(0);
  let heldLine = 1;
  for await (const { bytes } of chunks) {
    const all = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    const end = all.length > MAX_SNAPSHOT_BYTES ? all.length : lastSnapshotStart(all);
    if (end > 0) {
      const piece = all.subarray(0, end);
      yield { firstLine: heldLine, bytes: piece };
      heldLine += countLines(piece);
    }
    held = all.subarray(end);
  }
  if (held.length > 0) yield { firstLine: heldLine, bytes: held };
}

/** Offset of the first line of the last snapshot in complete lines. */
function lastSnapshotStart(bytes: Uint8Array): number {
  let start = lineStart(bytes, bytes.length);
  const last = snapshotOfLine(bytes.subarray(start));
  while (start > 0) {
    const before = lineStart(bytes, start);
    if (snapshotOfLine(bytes.subarray(before, start)) !== last) return start;
    start = before;
  }
  return 0;
}

/** Start of the line that ends at `end` (its newline included). */
function lineStart(bytes: Uint8Array, end: number): number {
  return end <= 1 ? 0 : bytes.lastIndexOf(NEWLINE, end - 2) + 1;
}

/** Names the snapshot of a line; a line that cannot be read has a name of its own. */
function snapshotOfLine(line: Uint8Array): string | null {
  try {
    const row = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.length).toString()) as {
      [name: string]: unknown;
    };
    return JSON.stringify([row.chain, row.address, row.t, row.tier]);
  } catch {
    return null;
  }
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** Gathers batches of columns and gives them out cut at a snapshot's border. */
export class ColumnCutter {
  private held: CellColumns | null = null;
  private firstLine = 1;

  *add(columns: CellColumns): Generator<{ firstLine: number; columns: CellColumns }> {
    this.held = this.held === null ? columns : concatenated(this.held, columns);
    const rows = this.held.t.length;
    if (rows < MIN_PIECE_ROWS) return;
    const end = rows - trailingSnapshotRows(this.held);
    if (end > 0) yield this.cut(end);
    else if (rows > MAX_SNAPSHOT_ROWS) yield this.cut(rows);
  }

  *finish(): Generator<{ firstLine: number; columns: CellColumns }> {
    if (this.held !== null && this.held.t.length > 0) yield this.cut(this.held.t.length);
  }

  private cut(end: number): { firstLine: number; columns: CellColumns } {
    const held = this.held as CellColumns;
    const piece = { firstLine: this.firstLine, columns: sliced(held, 0, end) };
    this.firstLine += end;
    this.held = sliced(held, end, held.t.length);
    return piece;
  }
}

function trailingSnapshotRows(columns: CellColumns): number {
  const { chain, address, t, tier } = columns;
  const last = t.length - 1;
  let row = last;
  while (
    row > 0 &&
    t[row - 1] === t[last] &&
    address[row - 1] === address[last] &&
    chain[row - 1] === chain[last] &&
    tier[row - 1] === tier[last]
  ) {
    row--;
  }
  return last - row + 1;
}

function mapColumns(
  columns: CellColumns,
  texts: (column: readonly unknown[], name: keyof CellColumns) => readonly unknown[],
  numbers: (column: Float64Array, name: keyof CellColumns) => Float64Array,
): CellColumns {
  const entries = Object.entries(columns) as [keyof CellColumns, CellColumns[keyof CellColumns]][];
  return Object.fromEntries(
    entries.map(([name, column]) => [
      name,
      column instanceof Float64Array ? numbers(column, name) : texts(column, name),
    ]),
  ) as unknown as CellColumns;
}

function sliced(columns: CellColumns, from: number, to: number): CellColumns {
  return mapColumns(
    columns,
    (column) => column.slice(from, to),
    (column) => column.slice(from, to),
  );
}

function concatenated(first: CellColumns, second: CellColumns): CellColumns {
  return mapColumns(
    first,
    (column, name) => [...column, ...(second[name] as readonly unknown[])],
    (column, name) => {
      const joined = new Float64Array(column.length + second.t.length);
      joined.set(column);
      joined.set(second[name] as Float64Array, column.length);
      return joined;
    },
  );
}
