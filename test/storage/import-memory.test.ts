import { once } from 'node:events';
import { createWriteStream, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ImportReport } from '../../storage/import/formats.js';
import { importRows } from '../../storage/import/import.js';
import { optionsOf, Scratch, TOKEN } from './import-helpers.js';

const scratch = new Scratch();

const MIB = 1024 * 1024;
const FILE_MIB = 100;
/** The rest of the process may grow, too; the file alone would exceed it. */
const MAX_GROWTH_MIB = 90;
const LEVELS = 2_000;
const START_US = 1_700_000_000_000_000;

/** A Tardis file of FILE_MIB: a snapshot, then messages of ten changes, ten a second. */
async function writeFeed(file: string): Promise<number> {
  const out = createWriteStream(file);
  out.write('exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n');
  const row = (us: number, snapshot: boolean, i: number) => {
    const bid = i % 2 === 0;
    const price = (bid ? 50_000 - (i >> 1) : 50_001 + (i >> 1)).toFixed(2);
    return `binance,BTCUSDT,${us},${us + 1000},${snapshot},${bid ? 'bid' : 'ask'},${price},${1 + (i % 7)}.5\n`;
  };
  for (let i = 0; i < LEVELS; i++) out.write(row(START_US, true, i));
  let us = START_US;
  for (let bytes = 0; bytes < FILE_MIB * MIB;) {
    let block = '';
    for (let message = 0; message < 1_000; message++) {
      us += 100_000;
      for (let i = 0; i < 10; i++) block += row(us, false, (us / 100_000 + i * 37) % LEVELS);
    }
    bytes += block.length;
    if (!out.write(block)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
  return us;
}

it('a large file passes through bounded memory, as fast as its rows are read', async () => {
  const file = scratch.file('large.csv');
  const lastUs = await writeFeed(file);
  expect(statSync(file).size).toBeGreaterThan(FILE_MIB * MIB);
  const report = new ImportReport();
  const options = optionsOf('tardis-incremental-l2', { ...TOKEN, every: '60s' });
  const before = process.memoryUsage().rss;
  let peak = before;
  let rows = 0;
  for await (const row of importRows('tardis-incremental-l2', [file], options, report)) {
    rows++;
    expect(row).toHaveProperty('price_usd', 50_000.5);
    peak = Math.max(peak, process.memoryUsage().rss);
  }
  const first = Math.ceil(START_US / 60e6);
  expect(rows).toBe(Math.floor(lastUs / 60e6) - first + 1);
  expect(report.rows).toBe(rows);
  expect((peak - before) / MIB).toBeLessThan(MAX_GROWTH_MIB);
});
