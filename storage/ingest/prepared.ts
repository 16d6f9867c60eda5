/** A file on its way into a bundle that a store can commit. */
import { type Fault, MAX_FAULTS } from '../../compute/ingest/fields.js';
import type { JoinMode } from '../../compute/segment/merge.js';
import { BUNDLE_VERSION, BundleWriter } from '../bundle.js';
import { DiskFullError, InputError, isDiskFull } from '../errors.js';

/** What one file holds. */
export interface FileReport {
  file: string;
  rows: number;
  snapshots: number;
  cells: number;
  /** Levels, pool bins and cells with an amount outside the ladder's bins. */
  droppedLevels: number;
}

export interface BundleRequest {
  /** The data directory. */
  directory: string;
  /** The file, or what faults call the source where it is none. */
  file: string;
  mode: JoinMode;
  onProgress?: (report: FileReport) => void;
}

export interface PreparedFile {
  bundle: BundleWriter;
  report: FileReport;
}

/**
 * Writes a bundle and its report with `fill`; nothing of it stays where that fails.
 * @throws DiskFullError
 */
export async function withBundle(
  request: BundleRequest,
  fill: (bundle: BundleWriter, report: FileReport) => Promise<void>,
): Promise<PreparedFile> {
  const { file, mode } = request;
  const report: FileReport = { file, rows: 0, snapshots: 0, cells: 0, droppedLevels: 0 };
  const bundle = await BundleWriter.create(request.directory);
  try {
    await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file, mode });
    await fill(bundle, report);
    await bundle.finish();
    return { bundle, report };
  } catch (error) {
    await bundle.discard();
    throw isDiskFull(error) ? new DiskFullError(request.directory) : error;
  }
}

/** The error of a file whose rows are faulty: the first ten, each `file:line: field: what is wrong`. */
export function refusal(file: string, faults: readonly Fault[]): InputError {
  const lines = [...faults]
    .sort((a, b) => a.line - b.line)
    .slice(0, MAX_FAULTS)
    .map(({ line, field, message }) => `${file}:${line}: ${field}: ${message}`);
  return new InputError(lines.join('\n'), lines);
}
