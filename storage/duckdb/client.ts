/**
 * DuckDB's client. Required, not imported: to import a CommonJS package, Node.js first parses all its files for the
 * names that they export, which takes a fifth of a command's start.
 */
import { createRequire } from 'node:module';
import type * as Client from '@duckdb/node-api';

export const client = createRequire(import.meta.url)('@duckdb/node-api') as typeof Client;

/** DuckDB's write-ahead log of a database. */
export function walOf(database: string): string {
  return `${database}.wal`;
}
