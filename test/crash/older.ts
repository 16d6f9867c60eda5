/** Stores of an earlier version. */
import path from 'node:path';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { Database } from '../../storage/duckdb/database.js';
import { SCHEMA_VERSION } from '../../storage/migrations.js';
import { openStore } from '../../bench/store.js';

/** Takes the tables of a store back to the schema before this build's. */
const TO_OLDER_SCHEMA: readonly string[] = [
  'DROP TABLE IF EXISTS segment_samples',
  "DELETE FROM meta WHERE key = 'sampled_segments'",
  "DELETE FROM meta WHERE key = 'schema_version'",
  `INSERT INTO meta VALUES ('schema_version', '${SCHEMA_VERSION - 1}')`,
];

/** Takes a closed store back to the schema before this build's. */
export async function makeOlder(directory: string): Promise<void> {
  // Moves the log's contents into the database.
  await (await openStore(directory)).close();
  const options = { memoryLimitMiB: 128, threads: 1 };
  const database = await Database.openFile(path.join(directory, DATABASE_FILE), options);
  for (const statement of TO_OLDER_SCHEMA) await database.run(statement);
  await database.close();
}
