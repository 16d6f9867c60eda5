/** The files of an export: their names, and `_fathom.json`, which lists them (docs/export.md#files). */
import path from 'node:path';
import type { Tier } from '../../compute/market.js';
import type { ReplayGroup } from '../../compute/replay/query.js';
import { DAY_S, isoOf } from '../../compute/time.js';
import type { TokenName } from '../contract.js';

export const EXPORT_DATASETS = ['cells', 'snapshots'] as const;
export type ExportDataset = (typeof EXPORT_DATASETS)[number];

/** Lists what is in an export. */
export const INDEX_FILE = '_fathom.json';
export const INDEX_FORMAT = 1;
/** Held while one process writes an export. */
export const LOCK_FILE = '_fathom.lock';
/** Ends the names of files that are being written; they begin with a dot, so that no reader takes them for data. */
export const PARTIAL_ENDING = '.partial';

/** What all files of an export have in common. */
export interface ExportView {
  group: ReplayGroup;
  /** Percent from each snapshot's price. */
  min_pct: number;
  max_pct: number;
  /** Length of the steps in seconds; null: every snapshot. */
  step_s: number | null;
}

/** A file of an export, as `_fathom.json` lists it. */
export interface ExportFile {
  /** Changes with what the file holds. */
  digest: string;
  /** The window of its data, epoch seconds: `from <= t < to`. */
  from: number;
  to: number;
  rows: number;
  bytes: number;
}

export interface ExportIndex {
  fathom_export: typeof INDEX_FORMAT;
  view: ExportView;
  /** By path below the export's folder, with `/`. */
  files: Record<string, ExportFile>;
}

/** The first second of a day, UTC. */
export const dayOf = (t: number): number => t - (t % DAY_S);

const dateOf = (dayS: number): string => isoOf(dayS).slice(0, 10);

/** A file with a day of a token's depth. */
export function depthFile(
  dataset: ExportDataset,
  { chain, address }: TokenName,
  dayS: number,
  tier: Tier,
): string {
  return `${dataset}/chain=${chain}/date=${dateOf(dayS)}/${address}-${tier}.parquet`;
}

/** What the name of a file says about its data. */
export interface NamedFile extends TokenName {
  dataset: ExportDataset;
  dayS: number;
  tier: Tier;
}

const DEPTH_FILE =
  /^([a-z_]+)\/chain=(mainchain|evmchain)\/date=(\d{4}-\d\d-\d\d)\/([0-9A-Za-z]+)-(raw|15m|1h)\.parquet$/;

/** null for a file that no export writes. */
export function nameOf(file: string): NamedFile | null {
  const [, dataset, chain, date, address, tier] = DEPTH_FILE.exec(file) ?? [];
  if (!EXPORT_DATASETS.some((known) => known === dataset)) return null;
  const dayS = Date.parse(`${date}T00:00:00Z`) / 1000;
  return Number.isNaN(dayS) ? null : ({ dataset, chain, address, tier, dayS } as NamedFile);
}

/** Where a file is while it is written. */
export function partialOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}${PARTIAL_ENDING}`);
}
