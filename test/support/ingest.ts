/** Ingest as the command does it, within the test's process. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect } from 'vitest';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { decodeSegment } from '../../compute/segment/segment.js';
import { command } from '../../server/cli/commands/ingest.js';
import { readWords } from '../../server/cli/flags.js';
import { mappingOf } from '../../server/cli/ingest-options.js';
import { withStore } from '../../storage/access.js';
import { FaultyFileError, InputError } from '../../storage/errors.js';
import type { Dataset, FileFormat } from '../../storage/ingest/datasets.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import type { UseStore } from '../../storage/operations.js';
import type { FileReport } from '../../storage/ingest/prepared.js';
import type { Store } from '../../storage/store.js';
import { withStoreOf } from './cli.js';
import { temporaryDirectory } from './folders.js';
import { sharedPool } from './pool.js';
import { openStore } from './stores.js';
import {
  type CellRow,
  cellsOfSnapshot,
  type Json,
  type SnapshotRow,
  writeRowsArrow,
} from './tables.js';

const rewrite = (input: Parameters<typeof rewriteSegments>[0]) =>
  Promise.resolve(rewriteSegments(input));

/** A directory's store, opened for each call. */
export const storeIn =
  (directory: string): UseStore =>
  (body) =>
    withStore(directory, { rewrite }, body);

/** An open store, as in a server. */
export const openStoreOf =
  (store: Store): UseStore =>
  (body) =>
    body(store);

export interface IngestOptions {
  merge?: boolean;
  format?: FileFormat;
  /** The directory's store: the open one, or one opened for the files. */
  store?: Store;
  /** Flags of the command that describe the files. */
  flags?: readonly string[];
}

/** Ingests files; returns the reports. @throws what the command would say */
export async function ingest(
  directory: string,
  dataset: Dataset,
  files: readonly string[],
  { merge = false, format, store, flags = [] }: IngestOptions = {},
): Promise<FileReport[]> {
  const reports: FileReport[] = [];
  const request = {
    directory,
    dataset,
    files,
    merge,
    pool: await sharedPool(2),
    useStore: store === undefined ? storeIn(directory) : openStoreOf(store),
    ...(format === undefined ? {} : { format }),
    ...(flags.length === 0 ? {} : described(dataset, flags)),
  };
  for await (const report of ingestFiles(request)) reports.push({ ...report });
  return reports;
}

/** What the command's flags say about the files. */
function described(dataset: Dataset, flags: readonly string[]) {
  const { mapping, delimiter } = mappingOf(
    dataset,
    readWords([dataset, '-', ...flags], command).flags,
  );
  return { mapping, ...(delimiter === undefined ? {} : { delimiter }) };
}

/** The faults for which a file is refused. */
export async function faultsOf(
  directory: string,
  dataset: Dataset,
  file: string,
  options: IngestOptions = {},
): Promise<readonly string[]> {
  try {
    await ingest(directory, dataset, [file], options);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const [last] = error.message.split('\n').slice(error.faults.length);
    const says = error instanceof FaultyFileError ? /: nothing was stored: .*\d faults?\b/ : /^$/;
    expect(error.message.startsWith(error.faults.join('\n'))).toBe(true);
    expect(last ?? '').toMatch(says);
    return error.faults;
  }
  throw new Error(`${file} was not refused`);
}

/** A stored cell: market's name, bin, cents of support, cents of resistance. */
type StoredCell = [string, number, number, number];

interface StoredSnapshot {
  t: number;
  tier: string;
  priceUsd: number;
  cells: StoredCell[];
}

/** Every visible snapshot of a token, read back from its segments. */
export function storedSnapshots(
  directory: string,
  chain: 'mainchain' | 'evmchain',
  address: string,
): Promise<StoredSnapshot[]> {
  return withStoreOf(directory, (store) => snapshotsIn(store, chain, address));
}

/** The same from an open store. */
export async function snapshotsIn(
  { depth }: Store,
  chain: 'mainchain' | 'evmchain',
  address: string,
): Promise<StoredSnapshot[]> {
  const token = depth.token(chain, address);
  if (token === null) return [];
  const always = { fromS: 0, toS: 2 ** 32, nowS: 2 ** 32, maxSnapshots: 1_000_000 };
  const plan = await depth.plan({ tokenId: token.tokenId, ...always });
  const runs = (await depth.readSegments(plan.segmentIds)).map(decodeSegment);
  return plan.snapshots.map(({ segment, row, t, tier }) => {
    const run = runs[segment];
    const cells: StoredCell[] = [];
    for (let i = run.cellOffsets[row]; i < run.cellOffsets[row + 1]; i++) {
      const { source, address: at, pair } = plan.markets[run.market[i]];
      const name = `${source}/${at ?? pair ?? ''}`;
      cells.push([name, run.bin[i], run.supportCents[i], run.resistanceCents[i]]);
    }
    return { t, tier, priceUsd: run.priceUsd[row], cells };
  });
}

export const MINT = 'So11111111111111111111111111111111111111112';

export const lines = (rows: readonly object[]) =>
  `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`;

const csvField = (value: string | number | boolean | null | undefined): string => {
  const text = String(value ?? '');
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Rows as the text of a CSV file; undefined and null are empty. */
export const csv = (rows: readonly Json[]): string =>
  [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))]
    .map((fields) => `${fields.map(csvField).join(',')}\n`)
    .join('');

export const snapshot = (
  t: number,
  cells: number[][] = [[0, 5, 0]],
  more: Json = {},
): SnapshotRow => ({
  chain: 'mainchain',
  address: MINT,
  t,
  price_usd: 2,
  markets: [{ source: 'Kraken', exchange_type: 'CEX', pair: 'A/B', cells }],
  ...more,
});

/** Three flat cells of one snapshot. */
export const cells = (t: number, more: Json = {}): CellRow[] =>
  cellsOfSnapshot(MINT, t, 2, { pair: 'A/B', ...more }, [
    [-1, 5, 0],
    [0, 0, 5],
    [1, 0, 6],
  ]);

/** Runs statements in a DuckDB of their own. */
export async function duckdb(...statements: string[]): Promise<void> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
}

/** What DuckDB reads an NDJSON file with. */
export const readJson = (name: string) => `read_json('${name}')`;

/** A directory for files, with a data directory in it. */
export class Scratch {
  readonly data: string;
  private files = 0;

  constructor(readonly directory: string) {
    this.data = path.join(directory, 'data');
  }

  /** A new one, removed when the file's tests end. */
  static held(): Scratch {
    return new Scratch(temporaryDirectory());
  }

  /** The path of a file with this name. */
  place(name: string): string {
    return path.join(this.directory, name);
  }

  /** A new file with these contents; its name ends with `ending`. */
  file(ending: string, contents: string | Uint8Array): string {
    const name = this.place(`${this.files++}${ending}`);
    writeFileSync(name, contents);
    return name;
  }

  /** The same file with these contents instead. */
  overwrite(name: string, contents: Uint8Array): string {
    writeFileSync(name, contents);
    return name;
  }

  /** A new Parquet file with the rows of a query. */
  async parquet(query: string): Promise<string> {
    const name = this.place(`${this.files++}.parquet`);
    await duckdb(`COPY (${query}) TO '${name}' (FORMAT parquet)`);
    return name;
  }

  /** A file of the rows in each format, and the line that their first has there. */
  async forms(rows: readonly Json[]): Promise<[name: string, line: number][]> {
    const ndjson = this.file('.ndjson', lines(rows));
    const [more, another] = [[1], 1].map((unknown) => rows.map((row) => ({ unknown, ...row })));
    const [arrow, arrows] = ['.arrow', '.arrows'].map((ending) => this.file(ending, ''));
    writeRowsArrow(arrow, rows, { form: 'file', dictionary: true });
    writeRowsArrow(arrows, rows, { form: 'stream', dictionary: false });
    return [
      [ndjson, 1],
      [this.file('.jsonl.gz', gzipSync(`\r\n${lines(more)}`)), 2],
      [this.file('.csv', csv(rows).replaceAll('\n', '\r\n')), 2],
      [this.file('.csv.gz', gzipSync(`\n\n${csv(another)}`)), 4],
      [await this.parquet(`SELECT * FROM ${readJson(ndjson)}`), 1],
      [arrow, 1],
      [arrows, 1],
    ];
  }

  /** The messages of a file's faults, without the file name at their start. */
  async faultsOf(dataset: Dataset, name: string, options: IngestOptions = {}): Promise<string[]> {
    const faults = await faultsOf(this.data, dataset, name, options);
    expect(faults.filter((fault) => !fault.startsWith(`${name}:`))).toEqual([]);
    return faults.map((fault) => fault.slice(name.length + 1));
  }
}

/** A directory for files beside an open store, both for the tests of a file. */
export class StoreScratch extends Scratch {
  store!: Store;

  constructor() {
    super(temporaryDirectory());
    beforeAll(async () => {
      this.store = await openStore(this.data);
    });
    afterAll(() => this.store.close());
  }

  /** Ingests a file into the open store. */
  ingest(dataset: Dataset, file: string, options: IngestOptions = {}): Promise<FileReport[]> {
    return ingest(this.data, dataset, [file], { store: this.store, ...options });
  }

  /** What the store has of a token. */
  snapshots(address = MINT): Promise<StoredSnapshot[]> {
    return snapshotsIn(this.store, 'mainchain', address);
  }

  /** What the store has of the token after it accepted a file with one snapshot, which `flags` describe. */
  async takes(dataset: Dataset, file: string, ...flags: string[]): Promise<StoredSnapshot[]> {
    expect(await this.ingest(dataset, file, { flags })).toMatchObject([{ snapshots: 1 }]);
    return this.snapshots();
  }

  /** The faults with which a file is refused, without its name. */
  async refuses(dataset: Dataset, file: string, ...flags: string[]): Promise<string[]> {
    const faults = await faultsOf(this.data, dataset, file, { store: this.store, flags });
    return faults.map((fault) => fault.replace(`${file}:`, ''));
  }
}

const FEW_VALUES: Readonly<Record<string, string>> = {
  chain: 'mainchain or evmchain',
  direction: 'BUY or SELL',
  exchange_type: 'DEX or CEX',
  side: 'bid or ask',
};

/** The message for a file without a field's column. */
export function missingColumnFault(name: string): string {
  const which = name in FEW_VALUES ? `, where VALUE is ${FEW_VALUES[name]}` : '';
  // Lists have no --set.
  const set = name === 'markets' ? '' : ` or --set ${name}=VALUE${which}`;
  return `1: ${name}: the file has no column of this name: add --column ${name}=NAME${set}`;
}
