/** Validates rows of `holders` into a bundle. */
import { FaultLog, MAX_FAULTS } from '../../compute/ingest/faults.js';
import type { NumberedRow } from './flat-rows.js';
import { HolderRows } from './holder-fields.js';
import { HolderGatherer } from './holder-gatherer.js';
import { withBundle, type BundleRequest, type PreparedFile } from './prepared.js';
import { refusal } from './refusal.js';

/** Rows after which progress is told. */
const PROGRESS_ROWS = 65_536;

/**
 * Prepares rows of `holders`, wherever they come from.
 * @param unreadable filled by `rows` with what is no row at all
 * @throws InputError with the first ten faults; nothing of the rows stays
 */
export function prepareHolderRows(
  request: BundleRequest,
  rows: AsyncIterable<NumberedRow> | Iterable<NumberedRow>,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  return withBundle(request, async (bundle, report) => {
    const faults = new FaultLog();
    const reader = new HolderRows();
    const gatherer = new HolderGatherer(bundle);
    const isKnown = (owner: string): boolean => gatherer.owners.has(owner);
    let mayGoOn = true;
    for await (const { line, row: given } of rows) {
      faults.line = line;
      report.rows++;
      const row = reader.read(given, isKnown, faults);
      if (row !== null) {
        if (gatherer.isNext(row)) await gatherer.begin(row, faults);
        mayGoOn = gatherer.add(row, faults);
      }
      if (report.rows % PROGRESS_ROWS === 0) request.onProgress?.(report);
      if (!mayGoOn || faults.count >= MAX_FAULTS) break;
    }
    if (faults.count + unreadable.count === 0) await gatherer.finish(faults);
    const all = [...faults.faults, ...unreadable.faults];
    if (all.length > 0) throw refusal(request.file, all);
    report.snapshots = gatherer.snapshots;
  });
}
