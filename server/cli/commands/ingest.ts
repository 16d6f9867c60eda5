/** `fathom ingest DATASET FILE...` */
import { stat } from 'node:fs/promises';
import { UsageError } from '../../../storage/errors.js';
import { type Dataset, DATASETS, FILE_FORMATS } from '../../../storage/ingest/datasets.js';
import { exampleOf, formatsOf, ingestFiles } from '../../../storage/ingest/ingest.js';
import type { FileReport } from '../../../storage/ingest/prepared.js';
import { defineCommand } from '../command.js';
import { DRY_RUN, type Flags, type FlagValues, JSON_OUTPUT, STORE_FLAGS } from '../flags.js';
import { MAPPING_FLAGS, mappingOf } from '../ingest-options.js';
import { counted, PartlyDone, printJson, ProgressLine, printNote } from '../output.js';
import {
  replacedJson,
  replacedText,
  storedText,
  warningJson,
  warningText,
} from '../file-report.js';
import { dataDirectory, rehearsed, storeThrough, withPool } from '../runtime.js';

const FLAGS = {
  ...STORE_FLAGS,
  format: {
    placeholder: 'FORMAT',
    meaning: 'format of the files, regardless of their extension',
    default: "by the file's extension",
    values: FILE_FORMATS,
  },
  merge: {
    meaning: "snapshots, cells and levels: merges the file's markets into stored snapshots",
  },
  ...MAPPING_FLAGS,
  strict: { meaning: 'refuses a whole file for any warning' },
  'dry-run': DRY_RUN,
  json: JSON_OUTPUT,
} as const satisfies Flags;

/** Bytes of files that keep more than one thread busy from the start. */
const LARGE_BYTES = 4 * 1024 * 1024;

export const command = defineCommand({
  about:
    'Loads files of one dataset, in order, each in its own transaction. The first refused file ends the command; files before it stay loaded. FILE ends in .ndjson, .jsonl or .csv (also with .gz), .parquet, .arrow or .arrows, or is - for standard input, with --format.',
  words: { dataset: { values: DATASETS }, file: { repeated: true, names: 'file' } },
  flags: FLAGS,
  examples: [
    'fathom ingest tokens tokens.csv',
    'fathom ingest snapshots monday.ndjson.gz tuesday.ndjson.gz --data data --json',
    'fathom ingest cells cells.parquet --merge',
    'fathom ingest cells recorded.csv --delimiter ";" --time-unit ms --column t=timestamp --token-column symbol',
    'zstd -dc cells.csv.zst | fathom ingest cells - --format csv --dry-run',
  ],
  run: (flags, { dataset, file }) => ingest(dataset, file, flags),
});

/** The report on a file; its times include reading. */
interface TimedReport extends FileReport {
  seconds: number;
  cells_per_second: number;
}

async function ingest(
  dataset: Dataset,
  files: readonly string[],
  flags: FlagValues<typeof FLAGS>,
): Promise<void> {
  const dryRun = flags['dry-run'];
  const { mapping, delimiter } = mappingOf(dataset, flags);
  const reports: TimedReport[] = [];
  const documentOf = (): Record<string, unknown> => ({
    dataset,
    files: reports.map(jsonReport),
    ...(dryRun ? { dry_run: true } : {}),
  });
  const progress = new ProgressLine();
  let startedMs = performance.now();
  const ingestInto = async (directory: string): Promise<void> => {
    const { format, merge } = flags;
    const requested = { directory, dataset, files, merge, ...(format && { format }) };
    // Refuses wrong flags before threads start, which takes longer.
    await formatsOf(requested);
    const threads =
      (await sizeOf(files)) < LARGE_BYTES ? { threadsAtStart: 1 } : { threadsAtStart: Infinity };
    await withPool(async (pool) => {
      const request = {
        ...requested,
        dryRun,
        strict: flags.strict,
        pool,
        useStore: storeThrough(directory, pool),
        onProgress: (report: FileReport) => progress.show(progressText(report)),
        mapping,
        ...(delimiter === undefined ? {} : { delimiter }),
      };
      for await (const report of ingestFiles(request)) {
        const timed = withTime(report, performance.now() - startedMs);
        startedMs = performance.now();
        reports.push(timed);
        progress.end();
        printNote(`${dryRun ? 'dry run, nothing stored: ' : ''}${reportText(timed)}`);
        if (timed.rows === 0) printNote(`warning: ${timed.file} has no rows`);
        for (const warning of timed.warnings) {
          printNote(warningText(warning, exampleOf(timed.file, warning)));
        }
      }
    }, threads);
  };
  try {
    await rehearsed(dryRun, dataDirectory(flags.data), ingestInto);
  } catch (error) {
    progress.end();
    if (error instanceof UsageError) throw error;
    throw new PartlyDone(error, documentOf());
  }
  if (flags.json) printJson(documentOf());
}

/** Bytes of all files; Infinity if one is no plain file. */
async function sizeOf(files: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const file of files) {
    const found = await stat(file).catch(() => null);
    bytes += found?.isFile() === true ? found.size : Infinity;
  }
  return bytes;
}

function withTime(report: FileReport, elapsedMs: number): TimedReport {
  const seconds = elapsedMs / 1000;
  return { ...report, seconds, cells_per_second: Math.round(report.cells / seconds) };
}

function jsonReport({
  droppedLevels,
  earlierLevels,
  replaced,
  warnings,
  ...report
}: TimedReport): object {
  const { file, rows, snapshots, cells, ...times } = report;
  return {
    file,
    rows,
    snapshots,
    cells,
    dropped_levels: droppedLevels,
    ...(earlierLevels === 0 ? {} : { earlier_levels: earlierLevels }),
    replaced: replacedJson(replaced),
    warnings: warnings.map((warning) => warningJson(warning, exampleOf(file, warning))),
    ...times,
  };
}

function progressText({ file, rows, cells }: FileReport): string {
  return `${file}: ${counted(rows, 'row')}, ${counted(cells, 'cell')}`;
}

function reportText(report: TimedReport): string {
  const { file, seconds } = report;
  const earlier =
    report.earlierLevels === 0
      ? ''
      : `, ${counted(report.earlierLevels, 'level')} of earlier books within a second left out`;
  return `${file}: ${storedText(report, report.cells_per_second)}${earlier}${replacedText(report.replaced)} in ${seconds.toFixed(1)} s`;
}
