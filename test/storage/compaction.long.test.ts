/** How far a database file grows over hours of small commits. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import {
  bookCells,
  commitRows,
  MINT,
  FreshStore,
  orca,
  segmentIds,
  snapshot,
} from '../support/stores.js';

const held = new FreshStore();

const MINUTES = 60;

it('The database file does not grow far beyond its contents, however small the commits', async () => {
  const tokens = Array.from(
    { length: 40 },
    (_, i) => MINT.slice(0, -2) + String(11 + i).replace('0', 'z'),
  );
  for (let minute = 0; minute < MINUTES; minute++) {
    const rows = tokens.map((address, i) =>
      snapshot(60_000 + minute * 60, [orca(bookCells(minute * 100 + i, 200))], { address }),
    );
    await commitRows(held.store, rows);
  }
  await held.store.settled();
  const file = path.join(held.directory.path, DATABASE_FILE);
  const openBytes = statSync(file).size + statSync(`${file}.wal`).size;
  const liveBytes = await blockBytes(tokens);
  await held.store.close();
  const closedBytes = statSync(file).size;
  console.log(
    `${tokens.length * MINUTES} snapshots in ${liveBytes} bytes of blocks; file and log ${(openBytes / liveBytes).toFixed(2)} times that, closed ${(closedBytes / liveBytes).toFixed(2)} times`,
  );
  expect(closedBytes / liveBytes).toBeLessThan(6);
  expect(openBytes).toBeLessThan(6 * liveBytes + 2 * 16 * 1024 * 1024);
  await held.open();
  expect(await blockBytes(tokens)).toBe(liveBytes);
});

async function blockBytes(tokens: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const address of tokens) {
    const blocks = await held.store.depth.readSegments(await segmentIds(held.store, address));
    for (const block of blocks) bytes += block.length;
  }
  return bytes;
}
