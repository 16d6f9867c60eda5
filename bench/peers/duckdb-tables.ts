/** The tables in a separate DuckDB, opened with DuckDB's npm package. */
// These peers do not use Fathom's wrapper of DuckDB.
// oxlint-disable-next-line no-restricted-imports
import { DuckDBInstance, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import path from 'node:path';
import type { TableFiles } from './tables.js';

interface LoadedDuckdb {
  version: string;
  connection: DuckDBConnection;
  connect: () => Promise<DuckDBConnection>;
  close: () => void;
}

/**
 * Loads the tables, ordered by token and time, into a file in `folder`.
 *
 * One thread per query: the clients keep both cores busy, and scans return rows in the order in which they were loaded,
 * which saves sorting (some 50 ms per page).
 */
export async function loadDuckdb(folder: string, files: TableFiles): Promise<LoadedDuckdb> {
  const file = path.join(folder, 'peer.duckdb');
  const instance = await DuckDBInstance.create(file, { threads: '1' });
  const connection = await instance.connect();
  await connection.run(
    'CREATE TABLE cells (token USMALLINT, t UINTEGER, market USMALLINT, bin SMALLINT, support_usd DOUBLE, resistance_usd DOUBLE)',
  );
  await connection.run('CREATE TABLE snapshots (token USMALLINT, t UINTEGER, price_usd DOUBLE)');
  await connection.run(`COPY cells FROM '${files.cells}' (FORMAT csv, HEADER false)`);
  await connection.run(`COPY snapshots FROM '${files.snapshots}' (FORMAT csv, HEADER false)`);
  await connection.run('CHECKPOINT');
  const [[version]] = await rowsOf(connection, 'SELECT version()');
  return {
    version: String(version),
    connection,
    connect: () => instance.connect(),
    close: () => instance.closeSync(),
  };
}

export async function rowsOf(connection: DuckDBConnection, sql: string): Promise<DuckDBValue[][]> {
  return (await connection.run(sql)).getRows();
}
