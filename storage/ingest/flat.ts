/** Validates rows of flat datasets and writes them into a bundle. */
import { FaultLog, MAX_FAULTS } from '../../compute/ingest/fields.js';
import { WarningTally } from '../../compute/ingest/warnings.js';
import type { BundleWriter } from '../bundle.js';
import type { FlatDataset } from '../contract.js';
import { warnOfTime } from './future-times.js';
import { FLAT_READERS, readTokenRow } from './flat-fields.js';
import {
  type BundleRequest,
  type FileReport,
  type PreparedFile,
  refusal,
  withBundle,
} from './prepared.js';
import type { NumberedRow } from './columns.js';

/** Rows per frame, which the server reads in one turn of some 2 ms. */
const ROWS_PER_FRAME = 256;
/** Rows between two reports of progress. */
const PROGRESS_ROWS = 8192;

export type Rows = AsyncIterable<NumberedRow> | Iterable<NumberedRow>;

/** Checks a dataset's rows and writes them to a bundle. Faults belong to `faults.line`. */
interface RowSink {
  /** Takes one row. @returns whether more may follow */
  add(row: unknown, faults: FaultLog): boolean | Promise<boolean>;
  /** Writes the remaining rows; called only if no row had a fault. */
  finish(faults: FaultLog, report: FileReport): Promise<unknown>;
}

/**
 * Prepares rows of a dataset from any source.
 * @param unreadable gets the faults of records in `rows` that cannot be read as rows
 * @throws InputError with the first ten faults; nothing of the rows is stored
 */
export function prepareRows(
  request: BundleRequest,
  rows: Rows,
  unreadable: FaultLog,
  sinkOf: (bundle: BundleWriter) => RowSink,
): Promise<PreparedFile> {
  return withBundle(request, async (bundle, report) => {
    const faults = new FaultLog();
    const warnings = new WarningTally();
    let stopped = false;
    const sink = sinkOf(bundle);
    for await (const { line, row } of rows) {
      faults.line = line;
      report.rows++;
      if (request.pastTime !== undefined) {
        warnOfTime(warnings, (row as Record<string, unknown> | null)?.[request.pastTime], line);
      }
      const added = sink.add(row, faults);
      // Awaiting a promise for each of millions of rows would take longer than most rows do.
      const shouldContinue = typeof added === 'boolean' ? added : await added;
      if (report.rows % PROGRESS_ROWS === 0) request.onProgress?.(report);
      stopped = !shouldContinue || faults.count >= MAX_FAULTS;
      if (stopped) break;
    }
    report.warnings = warnings.all;
    if (faults.count + unreadable.count === 0) await sink.finish(faults, report);
    const found = faults.count + unreadable.count;
    if (found === 0) return;
    // Readers stop after this many unreadable records.
    stopped ||= unreadable.count >= MAX_FAULTS;
    throw refusal(request.file, [...faults.faults, ...unreadable.faults], { found, stopped });
  });
}

/** Prepares rows of `tokens`, like prepareRows(). */
export function prepareTokenRows(
  request: BundleRequest,
  rows: Rows,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  return prepareRows(request, rows, unreadable, (bundle) =>
    framedRows(
      (given, faults) => {
        const row = readTokenRow(given, faults);
        return row && { line: faults.line, row };
      },
      (frame) => bundle.write({ kind: 'tokens', rows: frame }),
    ),
  );
}

/** Prepares rows of a flat dataset, like prepareRows(). */
export function prepareFlatRows(
  request: BundleRequest,
  dataset: FlatDataset,
  rows: Rows,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  return prepareRows(request, rows, unreadable, (bundle) =>
    framedRows(FLAT_READERS[dataset].read, (frame) =>
      bundle.write({ kind: 'rows', dataset, rows: frame }),
    ),
  );
}

/** @param read returns a row in its stored form, or null after adding its faults */
function framedRows<T>(
  read: (row: unknown, faults: FaultLog) => T | null,
  write: (rows: T[]) => Promise<unknown>,
): RowSink {
  let frame: T[] = [];
  return {
    add(given, faults) {
      const row = read(given, faults);
      if (row !== null) frame.push(row);
      if (frame.length < ROWS_PER_FRAME) return true;
      const full = frame;
      frame = [];
      return write(full).then(() => true);
    },
    finish: () => write(frame),
  };
}
