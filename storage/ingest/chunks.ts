/** Cuts a file of `snapshots` or `cells` into chunks. */
import type { Chunk } from '../../compute/ingest/chunk.js';
import { type FaultLog, type Fields, MAX_FAULTS } from '../../compute/ingest/fields.js';
import { plainSnapshotRow } from '../../compute/ingest/nested-rows.js';
import type { ComputePool } from '../../compute/pool.js';
import { type LineChunk, readLineChunks } from '../lines.js';
import { arrowCells } from './arrow.js';
import { inOrder } from './binning.js';
import { type CellBatch, CellCutter } from './cell-chunks.js';
import type { NumberedRow } from './columns.js';
import { FIELDS } from './fields.js';
import { parquetCells, parquetLines } from './parquet.js';
import { cellRows, rowBatches, type RowSource } from './rows.js';

/** Bytes of lines of `snapshots` made of rows that are passed on at once; each may be a whole book. */
const LINES_BYTES = 1024 * 1024;

/** Chunks of a file of `snapshots`, in order. */
export async function* snapshotChunks(source: RowSource, faults: FaultLog): AsyncGenerator<Chunk> {
  const { file, format, mapping } = source;
  if (format === 'ndjson' && mapping === null) {
    for await (const lines of readLineChunks(file)) yield { kind: 'snapshotLines', ...lines };
    return;
  }
  if (format === 'parquet' && mapping === null) {
    for await (const lines of parquetLines(file, FIELDS.snapshots, source.onColumns)) {
      yield { kind: 'snapshotLines', isTyped: true, ...lines };
    }
    return;
  }
  const rows = rowBatches(source, FIELDS.snapshots, faults);
  yield* rowChunks(format === 'parquet' || format === 'arrow' ? plainRows(rows) : rows);
}

/** Rows whose lists each have entries of one type, as in NDJSON. */
async function* plainRows(batches: AsyncIterable<NumberedRow[]>): AsyncGenerator<NumberedRow[]> {
  for await (const batch of batches) {
    yield batch.map(({ line, row }) => ({ line, row: plainSnapshotRow(row as Fields) }));
  }
}

/** Rows of `snapshots` as lines of JSON, which the pool parses. Between rows, blank lines count the others of the file. */
export async function* rowChunks(batches: AsyncIterable<NumberedRow[]>): AsyncGenerator<Chunk> {
  let firstLine = 1;
  let nextLine = 1;
  let texts: string[] = [];
  let length = 0;
  const chunk = (): Chunk => ({
    kind: 'snapshotLines',
    firstLine,
    bytes: Buffer.from(texts.join('')),
  });
  for await (const batch of batches) {
    for (const { line, row } of batch) {
      if (length >= LINES_BYTES) {
        yield chunk();
        [firstLine, nextLine, texts, length] = [line, line, [], 0];
      }
      const text = `${'\n'.repeat(line - nextLine)}${JSON.stringify(row)}\n`;
      texts.push(text);
      length += text.length;
      nextLine = line + 1;
    }
  }
  if (length > 0) yield chunk();
}

/**
 * Chunks of a file of `cells`, in order, each ending at the end of a snapshot.
 * @param faults gets a fault for each CSV record that is not a row
 * @param pool reads lines of JSON
 */
export async function* cellChunks(
  source: RowSource,
  faults: FaultLog,
  pool: ComputePool,
): AsyncGenerator<Chunk> {
  const cutter = new CellCutter(source.file);
  for await (const batch of readCells(source, faults, pool)) {
    const chunk = cutter.add(batch);
    if (chunk !== null) yield { kind: 'cellColumns', ...chunk };
    if (cutter.brokenLines >= MAX_FAULTS) break;
  }
  const last = cutter.finish();
  if (last !== null) yield { kind: 'cellColumns', ...last };
}

function readCells(
  source: RowSource,
  faults: FaultLog,
  pool: ComputePool,
): AsyncGenerator<CellBatch> {
  const { file, format, mapping, onColumns } = source;
  if (mapping === null && format === 'parquet') return parquetCells(file, onColumns);
  if (mapping === null && format === 'arrow') return arrowCells(file, onColumns);
  if (mapping !== null || format !== 'ndjson') return cellRows(source, faults);
  const read = (lines: LineChunk) => pool.run('columnsOfLines', lines);
  return inOrder(readLineChunks(file), read, ({ bytes }) => bytes.length, pool.threads);
}
