/** Validates rows of flat datasets into a bundle. */
import { FaultLog, MAX_FAULTS } from '../../compute/ingest/fields.js';
import type { BundleWriter, FlatRowValues } from '../bundle.js';
import type { FlatDataset, TokenRow } from '../contract.js';
import { FLAT_READERS, readTokenRow } from './flat-fields.js';
import { type BundleRequest, type PreparedFile, refusal, withBundle } from './prepared.js';
import type { NumberedRow } from './rows.js';

/** Rows of one frame. */
const ROWS_A_FRAME = 2000;

type Rows = AsyncIterable<NumberedRow> | Iterable<NumberedRow>;

/** What becomes of a dataset's rows. */
interface RowsForm<T> {
  /** A valid row in its stored form, or null with its faults added. */
  read: (row: unknown, faults: FaultLog, line: number) => T | null;
  write: (bundle: BundleWriter, rows: T[]) => Promise<void>;
}

const TOKENS: RowsForm<{ line: number; row: TokenRow }> = {
  read(given, faults, line) {
    const row = readTokenRow(given, faults);
    return row === null ? null : { line, row };
  },
  write: (bundle, rows) => bundle.write({ kind: 'tokens', rows }),
};

/**
 * Prepares rows of `tokens`, wherever they come from.
 * @param unreadable filled by `rows` with what is no row at all
 * @throws InputError with the first ten faults; nothing of the rows stays
 */
export function prepareTokenRows(
  request: BundleRequest,
  rows: Rows,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  return prepareRows(request, rows, unreadable, TOKENS);
}

/** Prepares rows of a flat dataset, as prepareTokenRows does those of `tokens`. */
export function prepareFlatRows(
  request: BundleRequest,
  dataset: FlatDataset,
  rows: Rows,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  const form: RowsForm<FlatRowValues> = {
    read: FLAT_READERS[dataset].read,
    write: (bundle, values) => bundle.write({ kind: 'rows', dataset, rows: values }),
  };
  return prepareRows(request, rows, unreadable, form);
}

function prepareRows<T>(
  request: BundleRequest,
  rows: Rows,
  unreadable: FaultLog,
  { read, write }: RowsForm<T>,
): Promise<PreparedFile> {
  return withBundle(request, async (bundle, report) => {
    const faults = new FaultLog();
    let frame: T[] = [];
    for await (const { line, row } of rows) {
      faults.line = line;
      const taken = read(row, faults, line);
      report.rows++;
      if (taken !== null) frame.push(taken);
      if (frame.length >= ROWS_A_FRAME) {
        await write(bundle, frame);
        frame = [];
        request.onProgress?.(report);
      }
      if (faults.count >= MAX_FAULTS) break;
    }
    const all = [...faults.faults, ...unreadable.faults];
    if (all.length > 0) throw refusal(request.file, all);
    await write(bundle, frame);
  });
}
