/** A database with the store's tables and nothing in them, for what lies below a Store. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { Database } from '../../storage/duckdb/database.js';
import { migrate } from '../../storage/migrations.js';
import type { DataDirectory } from './stores.js';

/** Opens the directory's database, made where there is none. */
export async function openSegmentDatabase(directory: DataDirectory): Promise<Database> {
  mkdirSync(directory.path, { recursive: true });
  const file = path.join(directory.path, 'segments.duckdb');
  const database = await Database.openFile(file, { memoryLimitMiB: 256, threads: 1 });
  await migrate(database, file);
  return database;
}
