/** Appends rows of which one is wrong: FILE. Prints how many are there after garbage collection. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../dist/storage/duckdb/database.js';

const ROWS = 1500;
/** Beyond the rows that are sent at once. */
const WRONG_ROW = 1200;

const database = await Database.openFile(process.argv[2], { memoryLimitMiB: 128, threads: 1 });
await database.run('CREATE TABLE things (id BIGINT, name VARCHAR)');
const rows = Array.from({ length: ROWS }, (_, i) => [i === WRONG_ROW ? 'no number' : i, 'x']);
await database.transaction((tx) => tx.append('things', rows)).catch(() => console.log('failed'));
for (let i = 0; i < 5; i++) {
  globalThis.gc();
  await sleep(20);
}
const [[count]] = await database.rows('SELECT count(*) FROM things');
console.log(`rows: ${count}`);
await database.close();
