/**
 * Fills a database until a checkpoint finds no room: FILE. Prints the result of the checkpoint, then
 * how many rows are read and written afterwards, and the message when it is closed.
 */
import { randomFillSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../dist/storage/duckdb/database.js';

const ROWS = 100;
const database = await Database.openFile(process.argv[2], {
  memoryLimitMiB: 128,
  threads: 1,
  onFault: (error) => console.log(`fault: ${error.message.split('\n')[0]}`),
  onNotice: (text) => console.log(text),
});
await database.run('CREATE TABLE filled (id BIGINT, data BLOB)');
let id = 0;
for (let round = 0; ; round++) {
  await database.transaction(async (tx) => {
    for (let i = 0; i < ROWS; i++) {
      await tx.run('INSERT INTO filled VALUES (?, ?)', [
        id++,
        randomFillSync(new Uint8Array(60_000)),
      ]);
    }
  });
  try {
    await database.checkpoint();
  } catch (error) {
    console.log(`${error.name} ${error.constructor.name}`);
    break;
  }
}
const rows = async () => {
  for (;;) {
    try {
      return (await database.rows('SELECT count(*), count(DISTINCT data) FROM filled'))[0];
    } catch (error) {
      console.log(error.message);
      await sleep(50);
    }
  }
};
console.log(`committed ${id}, read ${(await rows()).join(' ')}`);
await database.run('INSERT INTO filled VALUES (-1, NULL)');
console.log(`written, read ${(await rows())[0]}`);
await database.close();
