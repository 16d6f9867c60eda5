/** Datasets and file formats that `fathom ingest` knows. */
import path from 'node:path';
import { UsageError } from '../errors.js';
import { quotedForShell } from './hints.js';
import { STANDARD_INPUT } from './standard-input.js';

export const DATASETS = [
  'tokens',
  'snapshots',
  'cells',
  'levels',
  'dca_orders',
  'limit_orders',
  'holders',
  'dlmm_pools',
  'dlmm_hours',
  'token_hours',
] as const;
export type Dataset = (typeof DATASETS)[number];

export const FILE_FORMATS = ['ndjson', 'csv', 'parquet', 'arrow'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

const FORMAT_OF_ENDING: Readonly<Record<string, FileFormat>> = {
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
  '.parquet': 'parquet',
  '.arrow': 'arrow',
  '.arrows': 'arrow',
};

/** Flags for other endings. */
const FLAGS_OF_ENDING: Readonly<Record<string, string>> = {
  '.tsv': '--format csv --delimiter tab',
  '.tab': '--format csv --delimiter tab',
  '.txt': '--format csv',
  '.json': '--format ndjson',
  '.feather': '--format arrow',
  '.ipc': '--format arrow',
  '.pq': '--format parquet',
};
/** Commands that unpack files packed by other means than gzip. */
const UNPACKERS: Readonly<Record<string, string>> = {
  '.zst': 'zstd -dc',
  '.xz': 'xz -dc',
  '.bz2': 'bzip2 -dc',
  '.lz4': 'lz4 -dc',
  '.zip': 'unzip -p',
};

/** Datasets whose rows contain lists, which CSV cannot hold. */
const NESTED: readonly Dataset[] = ['snapshots'];
/** Depth datasets: only these can be merged. */
const DEPTH: readonly Dataset[] = ['snapshots', 'cells', 'levels'];

/**
 * The named format, otherwise that of the file's ending (before a `.gz`).
 * @throws UsageError if the ending belongs to no format, or the dataset cannot have it
 */
export function formatOf(file: string, dataset: Dataset, named?: FileFormat): FileFormat {
  const format = named ?? formatOfEnding(file, dataset);
  if (format === 'csv' && NESTED.includes(dataset)) {
    throw new UsageError(
      `${file}: ${dataset} are nested and cannot be read from CSV; use NDJSON, Parquet or Arrow, or dataset cells or levels`,
    );
  }
  return format;
}

/** @throws UsageError if the dataset cannot be merged */
export function checkMerge(dataset: Dataset, merge: boolean): void {
  if (merge && !DEPTH.includes(dataset)) {
    throw new UsageError(
      `--merge applies to ${DEPTH.slice(0, -1).join(', ')} and ${DEPTH.at(-1)}, not to ${dataset}`,
    );
  }
}

/** @throws UsageError that says what to add, or how to unpack the file */
function formatOfEnding(file: string, dataset: Dataset): FileFormat {
  if (file === STANDARD_INPUT) {
    throw new UsageError(`--format: standard input needs it, one of ${FILE_FORMATS.join(', ')}`);
  }
  const name = path.basename(file).toLowerCase();
  const ending = path.extname(name.endsWith('.gz') ? name.slice(0, -3) : name);
  const format = FORMAT_OF_ENDING[ending];
  const gzipped = name.endsWith('.gz') && (format === 'parquet' || format === 'arrow');
  const flags = FLAGS_OF_ENDING[ending];
  if (flags !== undefined) {
    throw new UsageError(`${file}: the ending names no format: add ${flags}`);
  }
  const unpacker = UNPACKERS[ending];
  if (unpacker !== undefined) {
    const plain: FileFormat = NESTED.includes(dataset) ? 'ndjson' : 'csv';
    const inner = FORMAT_OF_ENDING[path.extname(name.slice(0, -ending.length))] ?? plain;
    throw new UsageError(
      `${file}: packed files are read only if packed by gzip: ${unpacker} ${quotedForShell(file)} | fathom ingest ${dataset} - --format ${inner}`,
    );
  }
  if (format === undefined || gzipped) {
    throw new UsageError(
      `${file}: the ending names no format; expected ${Object.keys(FORMAT_OF_ENDING).join(', ')} (NDJSON and CSV also with .gz), or --format`,
    );
  }
  return format;
}
