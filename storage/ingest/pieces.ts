/** Cuts a file of a depth dataset into pieces that the pool's workers read and bin on their own. */
import type { FaultLog } from '../../compute/ingest/faults.js';
import type { DemoUnitInput } from '../../compute/demo/history.js';
import { readLineChunks } from '../lines.js';
import { arrowCells } from './arrow-cells.js';
import { arrowRows } from './arrow-file.js';
import type { CellBatch } from './cell-batch.js';
import { CellGatherer, type CellPiece } from './cell-gatherer.js';
import type { WantedColumn } from './columns.js';
import { csvCells } from './csv-cells.js';
import { cutLines } from './cut.js';
import type { FileFormat } from './datasets.js';
import { plainSnapshotRow } from './nested-row.js';
import { parquetCells } from './parquet-cells.js';
import { parquetRows } from './parquet-file.js';

/** A piece of a file, with the number of its first line (or row). Lines are NDJSON. */
export type Piece =
  | { kind: 'snapshotLines'; firstLine: number; bytes: Uint8Array }
  | { kind: 'snapshotRows'; firstLine: number; rows: unknown[] }
  | { kind: 'cellLines'; firstLine: number; bytes: Uint8Array }
  | ({ kind: 'cellColumns' } & CellPiece)
  | { kind: 'demoUnit'; firstLine: number; unit: DemoUnitInput };

/** Rows of `snapshots` that one piece holds: each may be a whole book. */
const SNAPSHOT_ROWS_A_PIECE = 64;

const SNAPSHOT_COLUMNS: readonly WantedColumn[] = [
  { name: 'chain', kind: 'text', required: true },
  { name: 'address', kind: 'text', required: true },
  { name: 't', kind: 'number', required: true },
  { name: 'tier', kind: 'text', required: false },
  { name: 'price_usd', kind: 'number', required: true },
  { name: 'markets', kind: 'any', required: true },
];

/** Pieces of a file of `snapshots`, in order. */
export async function* snapshotPieces(file: string, format: FileFormat): AsyncGenerator<Piece> {
  if (format === 'ndjson') {
    for await (const { bytes, firstLine } of readLineChunks(file)) {
      yield { kind: 'snapshotLines', firstLine, bytes };
    }
    return;
  }
  let firstLine = 1;
  const read = format === 'arrow' ? arrowRows : parquetRows;
  for await (const rows of read(file, SNAPSHOT_COLUMNS)) {
    for (let i = 0; i < rows.length; i += SNAPSHOT_ROWS_A_PIECE) {
      const piece = rows.slice(i, i + SNAPSHOT_ROWS_A_PIECE).map(plainSnapshotRow);
      yield { kind: 'snapshotRows', firstLine, rows: piece };
      firstLine += piece.length;
    }
  }
}

/**
 * Pieces of a file of `cells`, in order, cut where a snapshot ends. What is no row at all becomes a
 * fault of the reader.
 */
export async function* cellPieces(
  file: string,
  format: FileFormat,
  faults: FaultLog,
): AsyncGenerator<Piece> {
  if (format === 'ndjson') {
    for await (const piece of cutLines(file, readLineChunks(file))) {
      yield { kind: 'cellLines', ...piece };
    }
    return;
  }
  const gatherer = new CellGatherer(file);
  for await (const batch of cellBatches(file, format, faults)) {
    for (const piece of gatherer.add(batch)) yield { kind: 'cellColumns', ...piece };
  }
  for (const piece of gatherer.finish()) yield { kind: 'cellColumns', ...piece };
}

function cellBatches(
  file: string,
  format: Exclude<FileFormat, 'ndjson'>,
  faults: FaultLog,
): AsyncGenerator<CellBatch> {
  switch (format) {
    case 'csv':
      return csvCells(file, faults);
    case 'parquet':
      return parquetCells(file);
    case 'arrow':
      return arrowCells(file);
  }
}
