import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { runIngest } from '../../bench/ingest/command.js';
import { makeInput } from '../../bench/ingest/inputs.js';
import { hasNats } from '../../bench/nats.js';
import { temporaryDirectory } from '../support/folders.js';
import { resultsOf } from './program.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = temporaryDirectory();

describe('npm run bench:ingest', () => {
  it('runs the command on its files, which reads what was generated', () => {
    const names =
      'cells.parquet,cells-dictionary.arrow,cells.csv,snapshots.ndjson,snapshots.parquet,books.ndjson,holders.parquet,dca_orders.ndjson,limit_orders.ndjson,dlmm_pools.ndjson,token_hours.ndjson';
    const { stdout, results } = resultsOf<{
      smoke: boolean;
      rows: Record<string, number | string>[];
    }>('ingest', ['--smoke', '--cells', '3000', '--only', names], path.join(folder, 'out.json'));
    const { smoke, rows } = results;
    expect([smoke, rows.map(({ name }) => name).join(',')]).toEqual([true, names]);
    for (const row of rows) {
      expect(stdout).toContain(row.name);
      // 347 cells per snapshot: the nearest number of snapshots.
      const cells = { 'cells.parquet': 9, 'snapshots.ndjson': 9, 'cells.csv': 2 }[row.name];
      if (cells !== undefined) expect(row.cells, `${row.name}`).toBe(cells * 347);
      for (const name of ['wallS', 'ownS', 'cpuS', 'peakMegabytes', 'inputBytes', 'storedBytes']) {
        expect(row[name], name).toBeGreaterThan(0);
      }
      expect(row.ownS).toBeLessThan(row.wallS as number);
    }
  });

  it('reports how long ingested files block the event loop of a running server', () => {
    const only = ['--only', 'tokens.ndjson,ladders.ndjson,dlmm_hours.ndjson'];
    const { stdout, results } = resultsOf<{
      rows: { name: string; rows: number; loop: { maxMs: number } }[];
    }>('ingest', ['--serving', '--smoke', ...only], path.join(folder, 'serving.json'));
    const { rows } = results;
    expect(rows.map(({ name, rows: count }) => [name, count])).toEqual([
      ['tokens.ndjson', 500],
      ['ladders.ndjson', 100],
      ['dlmm_hours.ndjson', 500],
    ]);
    for (const { name, loop } of rows) {
      expect(loop.maxMs).toBeGreaterThan(0);
      expect(stdout).toContain(name);
    }
  });

  it('fails if the command reads something else', async () => {
    const input = await makeInput('cells.csv', 2000, folder);
    expect([input.name, input.rows, input.cells]).toEqual(['cells.csv', 347, 347]);
    const wrong = { ...input, file: path.join(root, 'test', 'nothing.csv') };
    await expect(builtRun(wrong)).rejects.toThrow(/ended with 1: .*no such file/s);
    for (const more of [
      { ...input, rows: 348 },
      { ...input, cells: 346 },
    ]) {
      await expect(builtRun(more)).rejects.toThrow(/were generated, 347 with 347 were read/);
    }
    expect(readdirSync(folder)).not.toContain('data');
  });

  it.skipIf(!hasNats)('compares a node of a cluster with a single server', () => {
    const { results } = resultsOf<{
      rows: { single: object; node: object; entriesPerSecond: number }[];
    }>('ingest', ['--nats', '--smoke'], path.join(folder, 'nats.json'));
    const times = { p50Ms: expect.any(Number) as number, p99Ms: expect.any(Number) as number };
    expect(results.rows).toMatchObject([{ single: times, node: times }]);
    expect(results.rows[0].entriesPerSecond).toBeGreaterThan(0);
  });
});

/** runIngest of the build: the command that it starts is the one beside it. */
async function builtRun(input: Parameters<typeof runIngest>[0]) {
  const { runIngest: built } = (await import(path.join(root, 'dist/bench/ingest/command.js'))) as {
    runIngest: typeof runIngest;
  };
  return built(input);
}
