/** Cuts a file of `snapshots` or `cells` into chunks. */
import type { CellColumns } from '../../compute/ingest/cell-columns.js';
import type { Chunk } from '../../compute/ingest/chunk.js';
import {
  type FaultLog,
  type Fields,
  headOfRow,
  MAX_FAULTS,
  nameOfSnapshot,
} from '../../compute/ingest/fields.js';
import { isBlankLine } from '../../compute/ingest/json-lines.js';
import { plainSnapshotRow } from '../../compute/ingest/nested-rows.js';
import { countNewlines, type LineChunk, readLineChunks } from '../lines.js';
import { arrowCells } from './arrow.js';
import { CellCutter } from './cell-chunks.js';
import type { NumberedRow } from './columns.js';
import { FIELDS } from './fields.js';
import { parquetCells, parquetLines } from './parquet.js';
import { refusal } from './prepared.js';
import { cellRows, rowBatches, type RowSource } from './rows.js';

/** Bytes of lines of `snapshots` made of rows that are passed on at once; each may be a whole book. */
const LINES_BYTES = 1024 * 1024;
/** Bytes of the lines of one snapshot of `cells`, all in memory at once. */
const MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;
const NEWLINE = 0x0a;

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
 */
export async function* cellChunks(source: RowSource, faults: FaultLog): AsyncGenerator<Chunk> {
  const { file, format, mapping } = source;
  if (format === 'ndjson' && mapping === null) {
    for await (const lines of cutLines(file, readLineChunks(file))) {
      yield { kind: 'cellLines', ...lines };
    }
    return;
  }
  const cutter = new CellCutter(file);
  for await (const batch of readCells(source, faults)) {
    const chunk = cutter.add(batch);
    if (chunk !== null) yield { kind: 'cellColumns', ...chunk };
  }
  const last = cutter.finish();
  if (last !== null) yield { kind: 'cellColumns', ...last };
}

function readCells(source: RowSource, faults: FaultLog): AsyncGenerator<CellColumns> {
  const { file, format, mapping, onColumns } = source;
  if (mapping === null && format === 'parquet') return parquetCells(file, onColumns);
  if (mapping === null && format === 'arrow') return arrowCells(file, onColumns);
  return cellRows(source, faults);
}

/**
 * Holds back the lines of a chunk's last snapshot until the next snapshot begins. A chunk whose lines already refuse the
 * file is the last one.
 * @throws InputError if one snapshot has more than MAX_SNAPSHOT_BYTES
 */
async function* cutLines(
  file: string,
  chunks: AsyncIterable<LineChunk>,
): AsyncGenerator<LineChunk> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let heldFrom = 1;
  /** The last snapshot so far; null if no line names one. */
  let name: string | null = null;
  for await (const { bytes, firstLine } of chunks) {
    const last = lastSnapshot(bytes);
    if (last === null) {
      yield {
        bytes: Buffer.concat([...held, bytes]),
        firstLine: heldBytes > 0 ? heldFrom : firstLine,
      };
      return;
    }
    const isSameSnapshot = name === null || last.name === null || name === last.name;
    // A snapshot that began in an earlier chunk may fill this one completely.
    const cut = last.start === 0 && isSameSnapshot ? bytes.length : last.start;
    if (cut > 0) held.push(bytes.subarray(0, cut));
    heldBytes += cut;
    name = last.name ?? name;
    if (cut < bytes.length) {
      if (heldBytes > 0) yield { bytes: Buffer.concat(held), firstLine: heldFrom };
      held = [bytes.subarray(cut)];
      heldBytes = bytes.length - cut;
      heldFrom = firstLine + countNewlines(bytes.subarray(0, cut));
    } else if (heldBytes > MAX_SNAPSHOT_BYTES) {
      const message = `the lines of one snapshot are longer than ${MAX_SNAPSHOT_BYTES / 1024 / 1024} MiB together`;
      throw refusal(file, [{ line: heldFrom, field: 'bin', message }]);
    }
  }
  if (heldBytes > 0) yield { bytes: Buffer.concat(held), firstLine: heldFrom };
}

/**
 * Offset of the first line of the last snapshot in complete lines, and its name. Blank and faulty lines never begin
 * another one. Null if MAX_FAULTS lines name no snapshot: each of them is a fault.
 */
function lastSnapshot(bytes: Uint8Array): { start: number; name: string | null } | null {
  let name: string | null = null;
  let start = bytes.length;
  let faulty = 0;
  for (let end = bytes.length; end > 0;) {
    const from = lineStart(bytes, end);
    const isBlank = isBlankLine(bytes, from, end);
    const own = isBlank ? null : snapshotOfLine(bytes.subarray(from, end));
    if (own !== null && name !== null && own !== name) return { start, name };
    if (own !== null) {
      name = own;
      start = from;
    } else if (!isBlank && ++faulty === MAX_FAULTS) {
      return null;
    }
    end = from;
  }
  return { start: 0, name };
}

/** Start of the line that ends at `end` (its newline included). */
function lineStart(bytes: Uint8Array, end: number): number {
  return end <= 1 ? 0 : bytes.lastIndexOf(NEWLINE, end - 2) + 1;
}

function snapshotOfLine(line: Uint8Array): string | null {
  try {
    const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString();
    const head = headOfRow(JSON.parse(text));
    return head === null ? null : nameOfSnapshot(head);
  } catch {
    return null;
  }
}
