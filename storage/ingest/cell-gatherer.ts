/** Gathers batches of flat cells into pieces that end where a snapshot ends. */
import type { CellRuns } from '../../compute/ingest/cell-columns.js';
import type { CellBatch } from './cell-batch.js';
import { GatheredRows } from './gathered-rows.js';
import { refusal } from './refusal.js';

/** Rows that a piece has at least, where the file has as many. */
const MIN_PIECE_ROWS = 32_768;
/** Rows that are made room for at once: a piece's and a snapshot that goes beyond them. */
const ROOM_ROWS = MIN_PIECE_ROWS + 8_192;
/** Rows of one snapshot, those that end up as no cell too: they are held together in memory. */
export const MAX_SNAPSHOT_ROWS = 1_000_000;

/** compute's columns, each alone in its buffer. */
export type GatheredColumns = CellRuns & { lines?: Float64Array };

export interface CellPiece {
  /** Number of the first row in the file, from 1. */
  firstLine: number;
  columns: GatheredColumns;
}

export class CellGatherer {
  private rows = new GatheredRows(ROOM_ROWS);
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
    this.rows = new GatheredRows(ROOM_ROWS);
    if (end < rows.length) this.rows.append(rows.tail(end));
    this.firstLine += end;
    return { firstLine, columns: rows.columns(end) };
  }
}
