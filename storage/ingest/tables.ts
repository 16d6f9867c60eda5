/** Checks rows of the datasets that are tables, from any source, and writes them into a bundle. */
import { FaultLog, MAX_FAULTS } from '../../compute/ingest/fields.js';
import { WarningTally } from '../../compute/ingest/warnings.js';
import type { BundleWriter } from '../bundle.js';
import type { FlatDataset } from '../contract.js';
import type { NumberedRow } from './columns.js';
import { flatSink, tokenSink } from './flat.js';
import { FIELDS } from './fields.js';
import { warnOfTime } from './future-times.js';
import { holderSink } from './holders.js';
import {
  type BundleRequest,
  type PreparedFile,
  refusal,
  type RowSink,
  withBundle,
} from './prepared.js';

/** Rows between two reports of progress. */
const PROGRESS_ROWS = 8192;

/** The datasets without depth. */
type TableDataset = 'tokens' | 'holders' | FlatDataset;

/**
 * Prepares rows of a dataset from any source.
 * @param unreadable gets the faults of records in `batches` that cannot be read as rows
 * @throws InputError with the first ten faults; nothing of the rows is stored
 */
export function prepareTable(
  request: BundleRequest,
  dataset: TableDataset,
  batches: AsyncIterable<Iterable<NumberedRow>> | Iterable<Iterable<NumberedRow>>,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  return withBundle(request, async (bundle, report) => {
    const faults = new FaultLog();
    const warnings = new WarningTally();
    const pastTime = FIELDS[dataset].find(({ isPast }) => isPast)?.name;
    let stopped = false;
    const sink = sinkOf(dataset, bundle);
    for await (const rows of batches) {
      for (const { line, row } of rows) {
        faults.line = line;
        report.rows++;
        const fields = row as Record<string, unknown> | null;
        if (pastTime !== undefined) warnOfTime(warnings, fields?.[pastTime], line);
        if (dataset === 'dca_orders') warnOfRemainder(warnings, fields, line);
        const added = sink.add(row, faults);
        // Awaiting a promise for each of millions of rows would take longer than most rows do.
        const shouldContinue = typeof added === 'boolean' ? added : await added;
        if (report.rows % PROGRESS_ROWS === 0) request.onProgress?.(report);
        stopped = !shouldContinue || faults.count >= MAX_FAULTS;
        if (stopped) break;
      }
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

/** Valid, since the two may have been valued at different prices; but often they are swapped. */
function warnOfRemainder(
  warnings: WarningTally,
  row: Record<string, unknown> | null,
  line: number,
): void {
  const { deposited_usd: deposited, remaining_usd: remaining } = row ?? {};
  if (typeof deposited !== 'number' || typeof remaining !== 'number' || remaining <= deposited) {
    return;
  }
  const what = (): string =>
    `remaining_usd, ${remaining}, is greater than deposited_usd, ${deposited}`;
  warnings.add('over_deposit', line, what);
}

function sinkOf(dataset: TableDataset, bundle: BundleWriter): RowSink {
  if (dataset === 'tokens') return tokenSink(bundle);
  return dataset === 'holders' ? holderSink(bundle) : flatSink(dataset, bundle);
}
