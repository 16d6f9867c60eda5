/** Reads names of database files, one per line, and says whether another process has them locked. */
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { DuckDBInstance } = createRequire(import.meta.url)('@duckdb/node-api');

for await (const file of createInterface({ input: process.stdin })) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    // Opened for reading: the probe changes nothing, and only a writing process keeps it out.
    await connection.run(`ATTACH '${file}' AS probed (READ_ONLY)`);
    console.log('free');
  } catch (error) {
    console.log(/set lock/.test(error.message) ? 'held' : error.message.split('\n')[0]);
  }
  connection.closeSync();
  instance.closeSync();
}
