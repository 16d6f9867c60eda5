/** Checks rows of flat datasets and writes them into a bundle. */
import type { FaultLog } from '../../compute/ingest/fields.js';
import type { BundleWriter } from '../bundle.js';
import type { FlatDataset } from '../contract.js';
import { flatReader, readTokenRow } from './flat-rows.js';
import type { RowSink } from './prepared.js';

/** Rows per frame, which the server reads in one turn of some 2 ms. */
const ROWS_PER_FRAME = 256;

export function tokenSink(bundle: BundleWriter): RowSink {
  return framedRows(
    (given, faults) => {
      const row = readTokenRow(given, faults);
      return row && { line: faults.line, row };
    },
    (rows) => bundle.write({ kind: 'tokens', rows }),
  );
}

export function flatSink(dataset: FlatDataset, bundle: BundleWriter): RowSink {
  return framedRows(flatReader(dataset), (rows) => bundle.write({ kind: 'rows', dataset, rows }));
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
