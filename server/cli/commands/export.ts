/** `fathom export --out DIR` */
import path from 'node:path';
import { DEFAULT_MAX_PCT, DEFAULT_MIN_PCT } from '../../../compute/ladder.js';
import { TIERS } from '../../../compute/market.js';
import { REPLAY_GROUPS } from '../../../compute/replay/query.js';
import type { TokenName } from '../../../storage/contract.js';
import { UsageError } from '../../../storage/errors.js';
import {
  type ExportCounts,
  type ExportRequest,
  UnwrittenFilesError,
} from '../../../storage/export/job.js';
import { DEFAULT_DATASETS, EXPORT_DATASETS } from '../../../storage/export/layout.js';
import { MAX_PCT, MIN_PCT, STEP_NAMES, STEPS } from '../../replay/parameters.js';
import { defineCommand } from '../command.js';
import { exportDepth, followStore, windowOf } from '../export-run.js';
import {
  type Flags,
  type FlagValues,
  instant,
  instantBy,
  JSON_OUTPUT,
  STORE_FLAGS,
} from '../flags.js';
import { storedToken, token, TOKEN_FORMS } from '../named-token.js';
import {
  counted,
  failureText,
  PartlyDone,
  sizeText,
  printJson,
  ProgressLine,
  printNote,
} from '../output.js';
import { storeOf } from '../runtime.js';
import { closingAtSignal } from '../signals.js';

const FLAGS = {
  ...STORE_FLAGS,
  out: {
    placeholder: 'DIR',
    meaning: 'folder of the export: one of an earlier run, an empty one, or a new one',
    needed: true,
    names: 'directory',
    read: folderOf,
  },
  dataset: {
    repeated: true,
    placeholder: 'NAME',
    meaning: 'what to export',
    default: 'cells and snapshots',
    values: EXPORT_DATASETS,
  },
  token: {
    repeated: true,
    placeholder: 'TOKEN',
    meaning: `exports only this token: ${TOKEN_FORMS}`,
    default: 'all tokens',
    read: token,
  },
  from: {
    placeholder: 'TIME',
    meaning: 'start of the window',
    default: 'the first snapshot',
    read: instantBy,
  },
  to: { placeholder: 'TIME', meaning: 'end of the window', default: 'now', read: instantBy },
  'as-of': {
    placeholder: 'TIME',
    meaning: 'the time that counts as now, as for a server with --as-of',
    default: "the system's clock",
    read: instant,
  },
  tier: {
    placeholder: 'T',
    meaning: 'exports only the shown snapshots of this tier',
    default: 'all tiers',
    values: TIERS,
  },
  group: {
    placeholder: 'G',
    meaning: 'the unit that one ladder sums',
    default: 'market',
    values: REPLAY_GROUPS,
  },
  step: {
    placeholder: 'STEP',
    meaning: 'only the newest snapshot of each step',
    default: 'every snapshot',
    values: STEP_NAMES,
  },
  'min-pct': {
    placeholder: 'N',
    meaning: 'lower end of the band, in percent of the price',
    default: String(DEFAULT_MIN_PCT),
    read: percent,
  },
  'max-pct': {
    placeholder: 'N',
    meaning: 'upper end of the band, in percent of the price',
    default: String(DEFAULT_MAX_PCT),
    read: percent,
  },
  follow: { meaning: 'goes on as the store changes, until a signal comes' },
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Writes depth, scores, holders, orders and hours as Parquet files that DuckDB, ClickHouse, Spark, Polars and pandas read as one table: a file for each day and token. A second run writes only days that are new or have changed, and removes those that are gone. Readers never see half a file. If an object of the archive is lost, it writes the other files, names those that it could not, and exits with 1. A server that has the store open keeps serving.',
  flags: FLAGS,
  examples: [
    'fathom export --out export',
    'fathom export --out exports/week --token mainchain:SOL --token evmchain:WETH --from -7d --group venue',
    'fathom export --out exports/hourly --dataset snapshots --step 1h --json',
  ],
  run: (flags) => run(flags),
});

/** @throws UsageError */
function percent(text: string, from: string): number {
  const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (value >= MIN_PCT && value <= MAX_PCT) return value;
  throw new UsageError(`${from}: expected a percentage from ${MIN_PCT} to ${MAX_PCT}, not ${text}`);
}

/** @throws UsageError */
function folderOf(text: string, from: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return path.resolve(text);
  throw new UsageError(
    `${from}: expected a folder, not ${text}: export to a folder and copy it, for example with aws s3 sync`,
  );
}

async function run(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const { out, tier = null, group = 'market', step } = flags;
  const minPct = flags['min-pct'] ?? DEFAULT_MIN_PCT;
  const maxPct = flags['max-pct'] ?? DEFAULT_MAX_PCT;
  if (minPct >= maxPct) throw new UsageError(`--min-pct: expected less than --max-pct (${maxPct})`);
  windowOf(flags);
  const view = {
    group,
    min_pct: minPct,
    max_pct: maxPct,
    step_s: step === undefined ? null : STEPS[step],
  };
  const { useStore } = await storeOf(flags);
  const tokens: TokenName[] = [];
  for (const named of flags.token) tokens.push(await storedToken(useStore, named));
  const progress = new ProgressLine();
  const request = (): Omit<ExportRequest, 'folder'> => ({
    view,
    datasets: flags.dataset.length === 0 ? DEFAULT_DATASETS : [...new Set(flags.dataset)],
    tier,
    tokens: tokens.length === 0 ? null : tokens,
    ...windowOf(flags),
    onProgress: ({ written, rows }, file) =>
      progress.show(`${counted(written, 'file')}, ${counted(rows, 'row')}; ${file}`),
  });
  let startedMs = performance.now();
  /** @returns the run as JSON */
  const note = (counts: ExportCounts): Record<string, unknown> => {
    progress.end();
    const seconds = Math.round(performance.now() - startedMs) / 1000;
    printNote(`${out}: ${resultText(counts)}${flags.follow ? '' : ` in ${seconds} s`}`);
    startedMs = performance.now();
    return { out, ...counts, seconds };
  };
  const report = (counts: ExportCounts): void => {
    const document = note(counts);
    if (flags.json) printJson(document);
  };
  await closingAtSignal(async (stop) => {
    if (!flags.follow) return report(await exportDepth(useStore, out, request()));
    const fail = (error: unknown): void => printNote(`${failureText(error)}; trying again`);
    return followStore(useStore, out, request, report, fail, stop);
  })
    .catch((error: unknown) => {
      if (!(error instanceof UnwrittenFilesError)) throw error;
      const { counts, failed } = error;
      throw new PartlyDone(error, { ...note(counts), failed });
    })
    .finally(() => progress.end());
}

function resultText({ written, rows, bytes, unchanged, removed }: ExportCounts): string {
  const gone = removed === 0 ? '' : `, ${counted(removed, 'file')} removed`;
  return `${counted(written, 'file')} written (${counted(rows, 'row')}, ${sizeText(bytes)}), ${unchanged} up to date${gone}`;
}
