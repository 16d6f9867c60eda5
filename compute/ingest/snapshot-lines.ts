import { BatchBuilder, type BinnedBatch } from './batch.js';
import { eachJsonLine } from './json-lines.js';
import type { IngestMode } from './run-builder.js';
import { SnapshotRowBinner } from './snapshot-row.js';
import { SnapshotScanner } from './snapshot-scanner.js';

/** A thread bins one batch at a time; what the scanner knows of one helps with the next. */
const scanner = new SnapshotScanner();

/** Bytes that a cell takes as text: `[-12,3456.78,0],`. */
const BYTES_A_CELL = 16;

/** What goes with any batch of rows. */
export interface BatchOptions {
  /** Line (or row) of the file that the batch begins with, from 1. */
  firstLine: number;
  mode: IngestMode;
  /**
   * For `merge`: one entry a line of the batch, blank ones too: the price in USD of the snapshot that
   * stands already for the line's key, NaN for none. Raw bodies are binned against it.
   */
  basePrices?: Float64Array;
}

/** Complete NDJSON lines of `snapshots`. */
export interface SnapshotLines extends BatchOptions {
  bytes: Uint8Array;
}

/**
 * Bins NDJSON lines of the dataset `snapshots`. Of two rows of one snapshot the later wins wholly
 * (`replace`), or its markets are added to or replace the earlier's (`merge`). Never throws for what
 * the lines hold.
 */
export function binSnapshotLines(input: SnapshotLines): BinnedBatch {
  const { bytes, firstLine, basePrices } = input;
  const batch = new BatchBuilder(input.mode, Math.ceil(bytes.length / BYTES_A_CELL));
  const binner = new SnapshotRowBinner(batch);
  batch.rows = eachJsonLine(
    bytes,
    firstLine,
    batch.faults,
    (row, index) => binner.add(row, firstLine + index, basePrices?.[index] ?? NaN),
    (source, start, end) => scanner.scan(source, start, end),
  );
  scanner.release();
  return batch.finish();
}

/** The same for parsed rows: plain values as JSON.parse gives them (numbers, never BigInt). */
export function binSnapshotRows(rows: readonly unknown[], options: BatchOptions): BinnedBatch {
  const batch = new BatchBuilder(options.mode);
  const binner = new SnapshotRowBinner(batch);
  const { firstLine, basePrices } = options;
  batch.rows = rows.length;
  rows.forEach((row, i) => binner.add(row, firstLine + i, basePrices?.[i] ?? NaN));
  return batch.finish();
}
