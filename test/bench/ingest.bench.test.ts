import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { runIngest } from '../../bench/ingest/command.js';
import { makeInput } from '../../bench/ingest/inputs.js';
import { temporaryDirectory } from '../support/folders.js';
import { resultsOf } from './program.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = temporaryDirectory();

describe('npm run bench:ingest', () => {
  it('runs the command on its files and finds in the store what it generated', () => {
    const names = 'cells.parquet,snapshots.ndjson';
    const { stdout, results } = resultsOf<{
      smoke: boolean;
      rows: Record<string, number | string>[];
    }>('ingest', ['--smoke', '--cells', '3000', '--only', names], path.join(folder, 'out.json'));
    const { smoke, rows } = results;
    expect([smoke, rows.map(({ name }) => name).join(',')]).toEqual([true, names]);
    for (const row of rows) {
      expect(stdout).toContain(row.name);
      // 347 cells per snapshot: the nearest number of snapshots.
      expect(row.cells).toBe(9 * 347);
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

  it('fails if the store holds something else', async () => {
    const input = await makeInput('cells.csv', 2000, folder);
    const wrong = { ...input, file: path.join(root, 'test', 'nothing.csv') };
    const more = { ...input, expected: { ...input.expected, items: input.expected.items + 1 } };
    const built = { name: input.name, cells: input.cells };
    expect(built).toEqual({ name: 'cells.csv', cells: 347 });
    await expect(builtRun(wrong)).rejects.toThrow(/ended with 1: .*no such file/s);
    await expect(builtRun(more)).rejects.toThrow(/347 rows, 1 tokens, 348 entries were generated/);
    expect(readdirSync(folder)).not.toContain('data');
  });
});

/** runIngest of the build: the command that it starts is the one beside it. */
async function builtRun(input: Parameters<typeof runIngest>[0]) {
  const { runIngest: built } = (await import(path.join(root, 'dist/bench/ingest/command.js'))) as {
    runIngest: typeof runIngest;
  };
  return built(input);
}
