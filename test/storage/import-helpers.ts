import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { readWords } from '../../server/cli/flags.js';
import { DESCRIBING, importOptions } from '../../server/cli/import-options.js';
import {
  type ImportFormat,
  type ImportOptions,
  ImportReport,
} from '../../storage/import/formats.js';
import { temporaryDirectory } from '../support/folders.js';
import { importRows } from '../../storage/import/import.js';
import { NothingImportedError } from '../../storage/import/refusals.js';

const SHARED = path.resolve('..', 'shared', 'data');
export const hasShared = existsSync(SHARED);
export const shared = (file: string) => path.join(SHARED, file);
export const fixture = (file: string) => path.resolve('test', 'fixtures', 'import', file);

export const SOL = 'So11111111111111111111111111111111111111112';
export const TOKEN = { token: `mainchain:${SOL}` };

/** A value of a foreign document, as JSON.parse gives it. */
export type Parsed = ReturnType<typeof JSON.parse>;

/** What the rows of `snapshots` hold. */
export interface SnapshotRow {
  chain: string;
  address: string;
  t: number;
  price_usd: number;
  markets: {
    source: string;
    exchange_type: string;
    type: string;
    address: string | null;
    pair: string;
    book: { bids: number[][]; asks: number[][] };
    clmm: Record<string, Parsed>;
    dlmm: Record<string, Parsed>;
    constant_product: Record<string, number>;
  }[];
}

export interface TokensRow {
  chain: string;
  address: string;
  symbol: string;
  decimals: number | null;
  asset: string | null;
}

/** Values of flags, as texts. */
export type RawImportFlags = Readonly<Partial<Record<string, string | readonly string[]>>>;

/** The import options that flags give. @throws UsageError */
export function optionsOf(format: ImportFormat, flags: RawImportFlags): ImportOptions {
  const words = Object.entries(flags).flatMap(([name, value = []]) =>
    [value].flat().map((text) => `--${name}=${text}`),
  );
  const read = readWords(words, { flags: DESCRIBING, words: {} }).flags;
  // Symbols are found in a store.
  const token = read.token !== undefined && 'address' in read.token ? read.token : undefined;
  return importOptions(format, { ...read, token });
}

/** Imports files as the command does; `nothing` is its message if no row comes of them. */
export async function importAll<Row = SnapshotRow>(
  format: ImportFormat,
  files: string[],
  flags: RawImportFlags = {},
) {
  const report = new ImportReport();
  const rows: Row[] = [];
  let nothing: string | null = null;
  const options = optionsOf(format, flags);
  try {
    for await (const row of importRows(format, files, options, report)) rows.push(row as Row);
  } catch (error) {
    if (!(error instanceof NothingImportedError)) throw error;
    nothing = error.message;
  }
  return { rows, report, nothing };
}

/** Faults that ingest would find in the rows. */
export function faultsOf(rows: unknown[]): unknown[] {
  return binSnapshotRows(rows, { firstLine: 1, mode: 'replace' }).faults;
}

/** Files in a directory of their own, for the tests of a file. */
export class Scratch {
  private readonly dir = temporaryDirectory();

  file(name: string, content: string | Uint8Array = ''): string {
    const file = path.join(this.dir, name);
    writeFileSync(file, content);
    return file;
  }
}
