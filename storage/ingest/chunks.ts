/** Cuts a file of a depth dataset into chunks, which the pool's workers bin independently. */
import type { BinnedChunk } from '../../compute/ingest/binned-chunk.js';
import type { CellColumns } from '../../compute/ingest/cell-columns.js';
import {
  type FaultLog,
  type HeadFields,
  isFields,
  MAX_FAULTS,
} from '../../compute/ingest/fields.js';
import { isBlankLine } from '../../compute/ingest/json-lines.js';
import { canonicalAddress, CHAINS, TIERS } from '../../compute/market.js';
import type { SnapshotKey } from '../contract.js';
import { plainSnapshotRow } from '../../compute/ingest/nested-rows.js';
import { countNewlines, type LineChunk, readLineChunks } from '../lines.js';
import { arrowCells } from './arrow.js';
import { CellCutter } from './cell-chunks.js';
import { type NumberedRow, SNAPSHOT_COLUMNS } from './columns.js';
import { parquetCells, parquetLines } from './parquet.js';
import { refusal } from './prepared.js';
import { cellRows, rowBatches, type RowSource } from './rows.js';

/** A chunk of a file. Lines are NDJSON. */
export type Chunk = {
  /** Number of the first line or row in the file, from 1. */
  firstLine: number;
  /** For a merge: for each line or row, the price to bin around (compute's ChunkOptions.basePrices). */
  basePrices?: Float64Array;
} & (
  | { kind: 'cellLines'; bytes: Uint8Array }
  /** `isTyped`: made of rows with a schema (compute's ChunkLines). */
  | { kind: 'snapshotLines'; bytes: Uint8Array; isTyped?: boolean }
  /** `lines`: the line of each row, if rows are not numbered consecutively. */
  | { kind: 'snapshotRows'; rows: unknown[]; lines?: Float64Array }
  | { kind: 'cellColumns'; columns: CellColumns }
  /** Bins its own snapshots, in the pool. `heads`: of each snapshot, if it may be merged. */
  | {
      kind: 'selfBinned';
      heads?: HeadFields[] | undefined;
      bin: (basePrices?: Float64Array) => Promise<BinnedChunk>;
    }
);

/** Rows of `snapshots` per chunk; each may be a whole book. */
const SNAPSHOT_ROWS_PER_CHUNK = 64;
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
    for await (const lines of parquetLines(file, SNAPSHOT_COLUMNS, source.onColumns)) {
      yield { kind: 'snapshotLines', isTyped: true, ...lines };
    }
    return;
  }
  for await (const batch of rowBatches(source, SNAPSHOT_COLUMNS, faults)) {
    for (let i = 0; i < batch.length; i += SNAPSHOT_ROWS_PER_CHUNK) {
      const some = batch.slice(i, i + SNAPSHOT_ROWS_PER_CHUNK);
      yield rowsChunk(some, format === 'parquet' || format === 'arrow');
    }
  }
}

/** @param isTyped whether all entries of a list have one type */
function rowsChunk(batch: readonly NumberedRow[], isTyped: boolean): Chunk {
  const plain = (row: unknown): unknown => (isTyped && isFields(row) ? plainSnapshotRow(row) : row);
  return {
    kind: 'snapshotRows',
    firstLine: batch[0].line,
    lines: Float64Array.from(batch, ({ line }) => line),
    rows: batch.map(({ row }) => plain(row)),
  };
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
    const key = snapshotKey(JSON.parse(text));
    return key === null ? null : nameOfKey(key);
  } catch {
    return null;
  }
}

/** The snapshot that a row names; null if its key is not valid. */
export function snapshotKey(row: unknown): SnapshotKey | null {
  if (typeof row !== 'object' || row === null) return null;
  const { chain: givenChain, address, t, tier: givenTier } = row as HeadFields;
  const chain = CHAINS.find((known) => known === givenChain);
  const tier = TIERS.find((known) => known === (givenTier ?? 'raw'));
  if (chain === undefined || tier === undefined) return null;
  if (typeof address !== 'string' || typeof t !== 'number') return null;
  return { chain, address: canonicalAddress(address), t, tier };
}

/** A text that is unique to the snapshot. */
export const nameOfKey = ({ chain, address, tier, t }: SnapshotKey): string =>
  `${chain} ${address} ${tier} ${t}`;
