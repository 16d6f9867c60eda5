/** `fathom ingest DATASET FILE...` */
import { UsageError } from '../../../storage/errors.js';
import { DATASETS, parseDataset } from '../../../storage/ingest/datasets.js';
import { ingestFiles } from '../../../storage/ingest/ingest.js';
import type { FileReport } from '../../../storage/ingest/prepared.js';
import { readFlags, dataDirectory } from '../flags.js';
import { count, PartlyDone, printJson, Progress, tell } from '../output.js';
import { storeThrough, withPool } from '../runtime.js';

const INGEST_USAGE = `fathom ingest DATASET FILE... [--data DIR] [--format F] [--merge] [--json]
  DATASET: ${DATASETS.join(', ')}; FILE: .ndjson .jsonl .csv (also .gz), .parquet, .arrow .arrows`;
export const command = { usage: INGEST_USAGE, run: ingest };

/** A file's line of the report; the times include reading. */
interface TimedReport extends FileReport {
  seconds: number;
  cells_per_second: number;
}

/** @throws UsageError | InputError */
export async function ingest(words: readonly string[]): Promise<void> {
  const { flags, rest } = readFlags(words, {
    data: 'text',
    format: 'text',
    merge: 'switch',
    json: 'switch',
  });
  const [datasetWord, ...files] = rest;
  if (datasetWord === undefined) throw new UsageError('DATASET: expected one');
  const dataset = parseDataset(datasetWord);
  if (files.length === 0) throw new UsageError('FILE: expected at least one');
  const directory = dataDirectory(flags.data);
  const reports: TimedReport[] = [];
  const progress = new Progress();
  let startedMs = performance.now();
  try {
    await withPool(async (pool) => {
      const request = {
        directory,
        dataset,
        files,
        merge: flags.merge,
        pool,
        useStore: storeThrough(directory, pool),
        onProgress: (report: FileReport) => progress.show(progressText(report)),
        ...(flags.format === undefined ? {} : { format: flags.format }),
      };
      for await (const report of ingestFiles(request)) {
        const timed = withTime(report, performance.now() - startedMs);
        startedMs = performance.now();
        reports.push(timed);
        progress.end();
        tell(reportText(timed));
      }
    });
  } catch (error) {
    progress.end();
    if (error instanceof UsageError) throw error;
    throw new PartlyDone(error, { dataset, files: reports.map(jsonReport) });
  }
  if (flags.json) printJson({ dataset, files: reports.map(jsonReport) });
}

function withTime(report: FileReport, elapsedMs: number): TimedReport {
  const seconds = elapsedMs / 1000;
  return { ...report, seconds, cells_per_second: Math.round(report.cells / seconds) };
}

function jsonReport({ file, rows, snapshots, cells, droppedLevels, ...rest }: TimedReport): object {
  return { file, rows, snapshots, cells, dropped_levels: droppedLevels, ...rest };
}

function progressText({ file, rows, cells }: FileReport): string {
  return `${file}: ${count(rows)} rows, ${count(cells)} cells`;
}

function reportText(report: TimedReport): string {
  const { file, rows, snapshots, cells, droppedLevels, seconds } = report;
  const depth =
    snapshots === 0
      ? ''
      : `, ${count(snapshots)} snapshots, ${count(cells)} cells (${count(report.cells_per_second)} cells/s), ${count(droppedLevels)} levels outside the ladder`;
  return `${file}: ${count(rows)} rows${depth} in ${seconds.toFixed(1)} s`;
}
