/** `fathom ingest DATASET FILE...` */
import type { Warning, WarningKind } from '../../../compute/ingest/warnings.js';
import { UsageError } from '../../../storage/errors.js';
import { type Dataset, DATASETS, FILE_FORMATS } from '../../../storage/ingest/datasets.js';
import { exampleOf, formatsOf, ingestFiles } from '../../../storage/ingest/ingest.js';
import type { FileReport } from '../../../storage/ingest/prepared.js';
import { defineCommand } from '../command.js';
import {
  dataDirectory,
  DRY_RUN,
  type Flags,
  type FlagValues,
  JSON_OUTPUT,
  STORE_FLAGS,
} from '../flags.js';
import { MAPPING_FLAGS, mappingOf } from '../ingest-options.js';
import { count, counted, PartlyDone, printJson, ProgressLine, printNote } from '../output.js';
import { replacedJson, replacedText } from '../replaced.js';
import { rehearsed, storeThrough, withPool } from '../runtime.js';

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
    await withPool(async (pool) => {
      const request = {
        ...requested,
        dryRun,
        strict: flags.strict,
        pool,
        useStore: storeThrough(directory, pool, flags),
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
        for (const warning of timed.warnings) printNote(warningText(timed.file, warning));
      }
    });
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

function withTime(report: FileReport, elapsedMs: number): TimedReport {
  const seconds = elapsedMs / 1000;
  return { ...report, seconds, cells_per_second: Math.round(report.cells / seconds) };
}

const WARNING_TEXTS: Readonly<Record<WarningKind, string>> = {
  no_cells: 'snapshots without a cell',
  outside_ladder: 'snapshots with more than half of their levels outside the ladder',
  crossed_book: 'crossed books',
  replaced_level: 'levels replaced by a later row of the same price',
  one_sided_book: 'books with only one side',
  negative_liquidity: 'CLMM pools whose liquidity falls below 0',
  far_from_price: 'books far from the price of their snapshot',
  far_from_stored: 'tokens whose price is far from the stored one',
  over_deposit: 'orders with more left than was deposited',
  future_time: 'times more than an hour ahead',
};

function warningText(file: string, warning: Warning): string {
  const { kind, count: times } = warning;
  return `warning: ${WARNING_TEXTS[kind]}: ${count(times)}, such as ${exampleOf(file, warning)}`;
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
    warnings: warnings.map((warning) => ({
      kind: warning.kind,
      count: warning.count,
      example: exampleOf(file, warning),
    })),
    ...times,
  };
}

function progressText({ file, rows, cells }: FileReport): string {
  return `${file}: ${counted(rows, 'row')}, ${counted(cells, 'cell')}`;
}

function reportText(report: TimedReport): string {
  const { file, rows, snapshots, cells, droppedLevels, seconds } = report;
  const shots = snapshots === 0 ? '' : `, ${counted(snapshots, 'snapshot')}`;
  // Snapshots of holders have no cells.
  const depth =
    cells + droppedLevels === 0
      ? ''
      : `, ${counted(cells, 'cell')} (${count(report.cells_per_second)} cells/s), ${counted(droppedLevels, 'level')} outside the ladder`;
  const earlier =
    report.earlierLevels === 0
      ? ''
      : `, ${counted(report.earlierLevels, 'level')} of earlier books within a second left out`;
  return `${file}: ${counted(rows, 'row')}${shots}${depth}${earlier}${replacedText(report.replaced)} in ${seconds.toFixed(1)} s`;
}
