/** The files of an export: their names, and `_fathom.json`, which lists them (docs/export.md#files). */
import path from 'node:path';
import type { Tier } from '../../compute/market.js';
import type { ReplayGroup } from '../../compute/replay/query.js';
import { DAY_S, isoOf } from '../../compute/time.js';
import type { TokenName } from '../contract.js';
import { EXPORT_TABLES, type ExportTableName } from './table-columns.js';

/** Datasets of depth: a file for each day, token and tier. */
export const DEPTH_DATASETS = ['cells', 'snapshots', 'scores'] as const;
export type DepthDataset = (typeof DEPTH_DATASETS)[number];
/** Datasets that are tables of the store: whole, or a file for each day. */
export const TABLE_DATASETS = ['dca_orders', 'limit_orders', 'dlmm_hours', 'token_hours'] as const;
/** The dataset of holder snapshots: a file for each day and token. */
export const HOLDERS = 'holders';
export const EXPORT_DATASETS = [...DEPTH_DATASETS, HOLDERS, ...TABLE_DATASETS] as const;
export type ExportDataset = (typeof EXPORT_DATASETS)[number];
/** What a run without others exports; every run adds TOKENS. */
export const DEFAULT_DATASETS: readonly ExportDataset[] = ['cells', 'snapshots'];
/** Datasets whose files lie in folders of a chain and a date. */
export const DATASETS_BY_CHAIN: readonly string[] = [...DEPTH_DATASETS, HOLDERS];
/** The table of all tokens, to find addresses by symbols. */
export const TOKENS = 'tokens';
/** The folders of an export. */
export const EXPORT_FOLDERS = [TOKENS, ...EXPORT_DATASETS] as const;

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
  /** The identity of the store that the files are from; absent before the first run reads it. */
  store?: string;
  view: ExportView;
  /** By path below the export's folder, with `/`. */
  files: Record<string, ExportFile>;
}

/** The first second of a day, UTC. */
export const dayOf = (t: number): number => t - (t % DAY_S);

const dateOf = (dayS: number): string => isoOf(dayS).slice(0, 10);

/** A file with a day of a token's depth. */
export function depthFile(
  dataset: DepthDataset,
  { chain, address }: TokenName,
  dayS: number,
  tier: Tier,
): string {
  return `${dataset}/chain=${chain}/date=${dateOf(dayS)}/${address}-${tier}.parquet`;
}

/** A file with a day of a mint's holder snapshots. */
export function holderFile(address: string, dayS: number): string {
  return `${HOLDERS}/chain=mainchain/date=${dateOf(dayS)}/${address}.parquet`;
}

const HOLDER_FILE = /^holders\/chain=mainchain\/date=(\d{4}-\d\d-\d\d)\/([0-9A-Za-z]+)\.parquet$/;

/** The mint and the day of a file of holders; null for other files. */
export function holdersOfFile(file: string): { address: string; dayS: number } | null {
  const [, date, address] = HOLDER_FILE.exec(file) ?? [];
  return date === undefined ? null : { address, dayS: secondsOf(date) };
}

const secondsOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) / 1000;

/** A file with a table, or with a day of it. */
export function tableFile(table: ExportTableName, dayS: number | null): string {
  const folder = dayS === null ? '' : `date=${dateOf(dayS)}/`;
  return `${table}/${folder}${table}.parquet`;
}

/** Whether the files of a dataset are named by tableFile(). */
const TABLE_FILE = /^([a-z_]+)\/(?:date=(\d{4}-\d\d-\d\d)\/)?\1\.parquet$/;

/** The table of a file, and its day (null: all of it); null for other files. */
export function tableOfFile(file: string): { table: ExportTableName; dayS: number | null } | null {
  const [, name, date] = TABLE_FILE.exec(file) ?? [];
  const table = (Object.keys(EXPORT_TABLES) as ExportTableName[]).find((known) => known === name);
  if (table === undefined) return null;
  return { table, dayS: date === undefined ? null : secondsOf(date) };
}

/** What the name of a file says about its data. */
export interface NamedFile extends TokenName {
  dataset: DepthDataset;
  dayS: number;
  tier: Tier;
}

const DEPTH_FILE =
  /^([a-z_]+)\/chain=(mainchain|evmchain)\/date=(\d{4}-\d\d-\d\d)\/([0-9A-Za-z]+)-(raw|15m|1h)\.parquet$/;

/** null for a file without depth. */
export function nameOf(file: string): NamedFile | null {
  const [, dataset, chain, date, address, tier] = DEPTH_FILE.exec(file) ?? [];
  if (!DEPTH_DATASETS.some((known) => known === dataset)) return null;
  const dayS = secondsOf(date);
  return Number.isNaN(dayS) ? null : ({ dataset, chain, address, tier, dayS } as NamedFile);
}

/** Where a file is while it is written. */
export function partialOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}${PARTIAL_ENDING}`);
}
