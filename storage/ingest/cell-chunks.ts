/** Joins batches of flat cells into chunks that end at the end of a snapshot. */
import {
  cellNumbers,
  cellTexts,
  TextCoder,
  type CellColumns,
  type CellNumber,
  type CellText,
} from '../../compute/ingest/cell-columns.js';
import type { BrokenLines, CellRows } from '../../compute/ingest/flat-cells.js';
import { canonicalAddress } from '../../compute/market.js';
import { firstIndex } from '../../compute/search.js';
import { refusal } from './prepared.js';

/** A chunk has at least this many rows, except the last one. */
const MIN_CHUNK_ROWS = 32_768;
/** Rows of one snapshot, all in memory at once; rows that become no cell count too. */
const MAX_SNAPSHOT_ROWS = 1_000_000;

/** Rows as they are read. */
export type CellBatch = CellColumns & Pick<CellRows, 'broken'>;

export class CellCutter {
  /** Lines so far that are no rows. */
  brokenLines = 0;
  private broken: BrokenLines = { faults: [], count: 0 };
  private held: CellColumns[] = [];
  private rows = 0;
  /** Number of waiting rows before the last snapshot. */
  private lastSnapshot = 0;
  private firstLine = 1;

  constructor(private readonly file: string) {}

  /**
   * Adds a batch of rows and keeps it.
   * @returns the rows of complete snapshots once there are enough for a chunk
   * @throws InputError if one snapshot has more than MAX_SNAPSHOT_ROWS
   */
  add({ broken, ...batch }: CellBatch): CellRows | null {
    if (broken !== undefined) {
      this.brokenLines += broken.count;
      const { faults, count } = this.broken;
      this.broken = { faults: [...faults, ...broken.faults], count: count + broken.count };
    }
    // Of the last snapshot, more rows may follow.
    if (batch.t.length === 0) return null;
    const start = lastSnapshotOf(batch, this.held.at(-1));
    if (start >= 0) this.lastSnapshot = this.rows + start;
    this.held.push(batch);
    this.rows += batch.t.length;
    if (this.rows - this.lastSnapshot > MAX_SNAPSHOT_ROWS) {
      const line = batch.lines?.at(-1) ?? this.firstLine + this.rows - 1;
      const message = `a snapshot has at most ${MAX_SNAPSHOT_ROWS} rows`;
      throw refusal(this.file, [{ line, field: 'bin', message }]);
    }
    const isEnough = this.rows >= MIN_CHUNK_ROWS && this.lastSnapshot > 0;
    return isEnough ? this.cut(this.lastSnapshot) : null;
  }

  /** The remaining rows, at the end of the file. */
  finish(): CellRows | null {
    return this.rows + this.broken.count > 0 ? this.cut(this.rows) : null;
  }

  private cut(end: number): CellRows {
    const { firstLine, broken } = this;
    this.broken = { faults: [], count: 0 };
    const whole: CellColumns[] = [];
    const rest: CellColumns[] = [];
    let row = 0;
    for (const batch of this.held) {
      const { length } = batch.t;
      const cut = Math.min(Math.max(end - row, 0), length);
      if (cut > 0) whole.push(sliced(batch, 0, cut));
      if (cut < length) rest.push(sliced(batch, cut, length));
      row += length;
    }
    this.held = rest;
    this.rows -= end;
    this.lastSnapshot = 0;
    this.firstLine += end;
    return { firstLine, broken, ...joined(whole, end) };
  }
}

/** Rows `from <= i < to`, as views of the columns where possible. */
function sliced(batch: CellColumns, from: number, to: number): CellColumns {
  if (from === 0 && to === batch.t.length) return batch;
  const { starts } = batch;
  const firstRun = runOf(starts, from);
  const endRun = runOf(starts, to - 1) + 1;
  return {
    ...cellNumbers((name) => batch[name].subarray(from, to)),
    starts: starts.slice(firstRun, endRun).map((start) => Math.max(start, from) - from),
    texts: cellTexts((name) => {
      const { codes, values } = batch.texts[name];
      return { codes: codes.subarray(firstRun, endRun), values };
    }),
    ...(batch.lines && { lines: batch.lines.subarray(from, to) }),
  };
}

/** The rows of all batches, in sequence, in new columns. */
function joined(batches: readonly CellColumns[], rows: number): CellColumns {
  const runs = batches.reduce((sum, { starts }) => sum + starts.length, 0);
  const doubles = (columnOf: (batch: CellColumns) => Float64Array): Float64Array => {
    const column = new Float64Array(rows);
    let at = 0;
    for (const batch of batches) {
      column.set(columnOf(batch), at);
      at += batch.t.length;
    }
    return column;
  };
  const starts = new Uint32Array(runs);
  let row = 0;
  let run = 0;
  for (const batch of batches) {
    for (const start of batch.starts) starts[run++] = row + start;
    row += batch.t.length;
  }
  return {
    ...cellNumbers((name: CellNumber) => doubles((batch) => batch[name])),
    starts,
    texts: cellTexts((name) => joinedTexts(batches, name, runs)),
    ...(batches[0]?.lines && { lines: doubles(({ lines }) => lines!) }),
  };
}

function joinedTexts(batches: readonly CellColumns[], name: CellText, runs: number) {
  const coder = new TextCoder();
  const joinedCodes = new Uint32Array(runs);
  let at = 0;
  for (const { texts } of batches) {
    const { codes, values } = texts[name];
    const known = new Int32Array(values.length).fill(-1);
    for (const code of codes) {
      if (known[code] < 0) known[code] = coder.code(values[code]);
      joinedCodes[at++] = known[code];
    }
  }
  return { codes: joinedCodes, values: coder.values };
}

/** The row at which the last snapshot of a batch begins; -1 if it began in an earlier batch. */
function lastSnapshotOf(batch: CellColumns, before: CellColumns | undefined): number {
  const { t, starts } = batch;
  let run = starts.length - 1;
  for (let row = t.length - 1; row > 0; row--) {
    const isStart = row === starts[run];
    if (t[row] !== t[row - 1]) return row;
    if (isStart && !isSameToken(batch, run, batch, run - 1)) return row;
    if (isStart) run--;
  }
  if (before === undefined) return 0;
  const isSame =
    t[0] === before.t.at(-1) && isSameToken(batch, 0, before, before.starts.length - 1);
  return isSame ? -1 : 0;
}

/** Whether two text runs name the same token and tier, however spelled. */
function isSameToken(a: CellColumns, runA: number, b: CellColumns, runB: number): boolean {
  const isSame = (name: CellText, spelling: (value: unknown) => unknown): boolean =>
    spelling(textOf(a, name, runA)) === spelling(textOf(b, name, runB));
  return (
    isSame('address', (value) => (typeof value === 'string' ? canonicalAddress(value) : value)) &&
    isSame('chain', (value) => value) &&
    isSame('tier', (value) => value ?? 'raw')
  );
}

function textOf({ texts }: CellColumns, name: CellText, run: number): unknown {
  const { codes, values } = texts[name];
  return values[codes[run]];
}

/** The text run of a row. */
function runOf(starts: Uint32Array, row: number): number {
  return firstIndex(1, starts.length, (run) => starts[run] > row) - 1;
}
