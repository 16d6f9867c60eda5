/** The files to ingest, by dataset and format, and what the store must have afterwards. */
import path from 'node:path';
import { FLAT_DATASETS } from '../../storage/contract.js';
import { MAX_DLMM_POOLS } from '../../storage/lp/dlmm-pools.js';
import type { Store } from '../../storage/store.js';
import { sizesOf } from '../data/pages.js';
import { arrowOfCells } from './arrow-input.js';
import { linesOfBooks, linesOfCells, linesOfSnapshots } from './depth-lines.js';
import {
  countHolders,
  countRows,
  flatLines,
  holderLines,
  ladderLines,
  orderLines,
  tokenLines,
} from './flat-lines.js';
import { parquetOfCells, parquetOfLines } from './parquet-input.js';
import type { Contents, Written } from './written.js';

export const INPUT_NAMES = [
  'cells.parquet',
  'cells.arrow',
  'cells-dictionary.arrow',
  'cells.csv',
  'cells.ndjson',
  'snapshots.ndjson',
  'books.ndjson',
  'holders.ndjson',
  'holders.parquet',
  'dca_orders.ndjson',
  'dca_orders.parquet',
  'tokens.ndjson',
  'ladders.ndjson',
  'limit_orders.ndjson',
  'dlmm_pools.ndjson',
  'dlmm_hours.ndjson',
  'token_hours.ndjson',
] as const;
export type InputName = (typeof INPUT_NAMES)[number];

export interface Input {
  name: InputName;
  dataset: string;
  file: string;
  rows: number;
  /** 0 if the dataset has none. */
  cells: number;
  expected: Contents;
}

/** Text formats get this share of the cells, because they take ten times the bytes per cell. */
const TEXT_SHARE = 1 / 4;
const FLAT_SHARE = 1 / 40;
/** A ladder has two hundred cells. */
const LADDER_SHARE = 1 / 200;

/** Writes one file of the wanted size into a folder. */
export async function makeInput(name: InputName, cells: number, folder: string): Promise<Input> {
  const file = path.join(folder, name);
  const { tokens, items, ...size } = await write(name, cells, file);
  return { name, dataset: datasetOf(name), file, ...size, expected: { tokens, items } };
}

function write(name: InputName, cells: number, file: string): Written | Promise<Written> {
  const text = Math.ceil(cells * TEXT_SHARE);
  const flat = Math.ceil(cells * FLAT_SHARE);
  switch (name) {
    case 'cells.parquet':
      return parquetOfCells(file, sizesOf(cells));
    case 'cells.arrow':
      return arrowOfCells(file, sizesOf(cells), 'plain');
    case 'cells-dictionary.arrow':
      return arrowOfCells(file, sizesOf(cells), 'dictionary');
    case 'cells.csv':
      return linesOfCells(file, sizesOf(text), 'csv');
    case 'cells.ndjson':
      return linesOfCells(file, sizesOf(text), 'ndjson');
    case 'snapshots.ndjson':
      return linesOfSnapshots(file, sizesOf(cells));
    case 'books.ndjson':
      return linesOfBooks(file, cells);
    case 'holders.ndjson':
      return holderLines(file, text);
    case 'holders.parquet':
      return parquetOfLines(file, 'holders', (lines) => holderLines(lines, text));
    case 'dca_orders.ndjson':
      return orderLines(file, flat);
    case 'dca_orders.parquet':
      return parquetOfLines(file, 'dca_orders', (lines) => orderLines(lines, flat));
    case 'tokens.ndjson':
      return tokenLines(file, flat);
    case 'ladders.ndjson':
      return ladderLines(file, Math.ceil(cells * LADDER_SHARE));
    case 'limit_orders.ndjson':
      return flatLines(file, 'limit_orders', flat);
    case 'dlmm_pools.ndjson':
      return flatLines(file, 'dlmm_pools', Math.min(flat, MAX_DLMM_POOLS));
    case 'dlmm_hours.ndjson':
      return flatLines(file, 'dlmm_hours', flat);
    case 'token_hours.ndjson':
      return flatLines(file, 'token_hours', flat);
  }
}

function datasetOf(name: InputName): string {
  if (name === 'books.ndjson' || name === 'ladders.ndjson') return 'snapshots';
  return name.startsWith('cells') ? 'cells' : name.slice(0, name.indexOf('.'));
}

/** Counts what a store has of this input. */
export async function contentsOf(store: Store, { dataset }: Input): Promise<Contents> {
  const { tokens, cells } = await store.summary();
  if (dataset === 'holders') return countHolders(store);
  const flat = FLAT_DATASETS.find((one) => one === dataset);
  return { tokens, items: flat === undefined ? cells : await countRows(store, flat) };
}
