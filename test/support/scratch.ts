/** Files with something wrong, and what ingest says of them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'vitest';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { faultsOf } from './ingest.js';
import { cellsOfSnapshot, type CellRow, type Json, type SnapshotRow } from './tables.js';

export const MINT = 'So11111111111111111111111111111111111111112';

export const lines = (rows: readonly object[]) =>
  `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`;

/** Rows as a CSV file's text; undefined and null are empty. */
export const csv = (rows: readonly Json[]): string =>
  [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))]
    .map((fields) => `${fields.map((field) => field ?? '').join(',')}\n`)
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

/** What DuckDB reads an NDJSON file with. */
export const readJson = (name: string) => `read_json('${name}')`;

/** A directory for files, and a data directory in it. */
export class Scratch {
  readonly data: string;
  private files = 0;

  constructor(readonly directory: string) {
    this.data = path.join(directory, 'data');
  }

  /** A place for a file of this name. */
  place(name: string): string {
    return path.join(this.directory, name);
  }

  /** A new file with these contents; its name ends with `ending`. */
  file(ending: string, contents: string | Uint8Array): string {
    const name = this.place(`${this.files++}${ending}`);
    writeFileSync(name, contents);
    return name;
  }

  /** A new Parquet file of a query's rows. */
  async parquet(query: string): Promise<string> {
    const name = this.place(`${this.files++}.parquet`);
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await connection.run(`COPY (${query}) TO '${name}' (FORMAT parquet)`);
    connection.closeSync();
    return name;
  }

  /** The messages of a file's faults, without its name, which each begins with. */
  async said(dataset: Dataset, name: string, format?: string): Promise<string[]> {
    const faults = await faultsOf(this.data, dataset, name, { format });
    expect(faults.filter((fault) => !fault.startsWith(`${name}:`))).toEqual([]);
    return faults.map((fault) => fault.slice(name.length + 1));
  }
}
