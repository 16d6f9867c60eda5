/** The space of deleted rows returns to the disk. */
import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { shrinkStep } from '../../storage/duckdb/shrink.js';
import { DataDirectory, openSegmentDatabase } from '../support/stores.js';

const directory = new DataDirectory();

it('shrinks the file to what is left, which is unchanged', async () => {
  const database = await openSegmentDatabase(directory);
  const file = path.join(directory.path, 'segments.duckdb');
  const bytes = (): number => statSync(file).size;
  const fill = async (first: number, count: number): Promise<void> => {
    const rows = Array.from({ length: count }, (_, i) => [first + i, 1, randomBytes(2000)]);
    await database.transaction((tx) => tx.append('segment_parts', rows));
  };
  const digest = async (): Promise<string> => {
    const hash = createHash('sha256');
    for (const table of ['segment_parts ORDER BY segment_id', 'keys', 'usage']) {
      const rows = await database.rows(`SELECT * FROM ${table}`);
      hash.update(JSON.stringify(rows.map((row) => row.map(String))));
    }
    return hash.digest('hex');
  };
  await fill(0, 12_000);
  // Tables with a key at the end of the file, and rows of the large table on both sides of the gap.
  await database.run(
    "INSERT INTO keys VALUES ('a', 'b', 'premium', 'h', 'd'::BLOB, 1, 2, 3, NULL, NULL, NULL, NULL)",
  );
  await database.run("INSERT INTO usage VALUES ('', 'a', 20261122, 'GET /a', 7)");
  await database.checkpoint();
  await fill(12_000, 2048);
  await database.checkpoint();
  await database.run('DELETE FROM segment_parts WHERE segment_id BETWEEN 500 AND 11000');
  const [full, content] = [bytes(), await digest()];
  for (let steps = 0; ; steps++) {
    expect(steps).toBeLessThan(20);
    const exclusive = <T>(body: () => Promise<T>): Promise<T> => body();
    const shrunk = await shrinkStep(database, file, exclusive);
    expect(shrunk.bytes).toBe(bytes());
    if (shrunk.isDone) break;
  }
  // 3,547 of 14,048 rows are left; 16 blocks of 256 KiB may stay free.
  expect(bytes()).toBeLessThan(full * 0.3 + 17 * 2 ** 18);
  expect(bytes()).toBeLessThan(full / 2);
  expect(await digest()).toBe(content);
  await expect(
    database.run("INSERT INTO usage VALUES ('', 'a', 20261122, 'GET /a', 8)"),
  ).rejects.toThrow(/uplicate/);
  await database.close();
});
