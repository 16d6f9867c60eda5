/** Prepared files: bundles for a store to commit, with their reports. */
import type { Warning } from '../../compute/ingest/warnings.js';
import { type Fault, type FaultLog, MAX_FAULTS } from '../../compute/ingest/fields.js';
import type { JoinMode } from '../../compute/segment/merge.js';
import { BUNDLE_VERSION, BundleWriter } from '../bundle.js';
import type { Replaced } from '../operations.js';
import { DiskFullError, type FaultCount, FaultyFileError, isDiskFull } from '../errors.js';

/** Counts of one file. */
export interface FileReport {
  file: string;
  rows: number;
  snapshots: number;
  cells: number;
  /** Levels, pool bins and cells with an amount outside the ladder. */
  droppedLevels: number;
  /** Levels of books that a later one within the same second replaced. */
  earlierLevels: number;
  /** About rows that are valid but probably mistaken. */
  warnings: Warning[];
  /** Known once the file is committed. */
  replaced: Replaced;
}

export interface BundleRequest {
  /** The data directory. */
  directory: string;
  /** The file; for other sources, their name in faults. */
  file: string;
  mode: JoinMode;
  /** Whether the commit must not leave a market's snapshots with less than half of their cells. */
  refusesLoss?: boolean;
  onProgress?: (report: FileReport) => void;
}

/** Checks a dataset's rows and writes them to a bundle. Faults belong to `faults.line`. */
export interface RowSink {
  /** Takes one row. @returns whether more may follow */
  add(row: unknown, faults: FaultLog): boolean | Promise<boolean>;
  /** Writes the remaining rows; called only if no row had a fault. */
  finish(faults: FaultLog, report: FileReport): Promise<unknown>;
}

export interface PreparedFile {
  bundle: BundleWriter;
  report: FileReport;
}

/**
 * Writes a bundle and its report with `fill`; discards the bundle if that fails.
 * @throws DiskFullError
 */
export async function withBundle(
  request: BundleRequest,
  fill: (bundle: BundleWriter, report: FileReport) => Promise<unknown>,
): Promise<PreparedFile> {
  const { file, mode, refusesLoss } = request;
  const report: FileReport = {
    file,
    rows: 0,
    snapshots: 0,
    cells: 0,
    droppedLevels: 0,
    earlierLevels: 0,
    warnings: [],
    replaced: { snapshots: 0, cellsBefore: 0, cellsAfter: 0 },
  };
  const bundle = await BundleWriter.create(request.directory);
  try {
    await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file, mode, refusesLoss });
    await fill(bundle, report);
    await bundle.finish();
    return { bundle, report };
  } catch (error) {
    await bundle.discard();
    throw isDiskFull(error) ? new DiskFullError(request.directory) : error;
  }
}

/**
 * The error of a faulty file: its first ten faults, each `file:line: field: what is wrong`.
 * @param count how many faults there are; by default, reading stopped after `faults`
 */
export function refusal(
  file: string,
  faults: readonly Fault[],
  count: FaultCount = { found: faults.length, stopped: true },
): FaultyFileError {
  const lines = [...faults]
    .sort((a, b) => a.line - b.line)
    .slice(0, MAX_FAULTS)
    .map(({ line, field, message }) => `${file}:${line}: ${field}: ${message}`);
  return new FaultyFileError(file, lines, count);
}
