import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BenchUsageError } from '../../bench/errors.js';
import type { runIngest } from '../../bench/ingest/command.js';
import { INPUT_NAMES, makeInput } from '../../bench/ingest/inputs.js';
import { readIngestOptions } from '../../bench/ingest/options.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'fathom-ingest-bench-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('npm run bench:ingest', () => {
  it('runs the command on its files and finds in the store what it generated', () => {
    const json = path.join(folder, 'out.json');
    const names = 'cells.parquet,snapshots.ndjson';
    const flags = ['--smoke', '--cells', '3000', '--only', names, '--json', json];
    const main = path.join(root, 'dist/bench/ingest/main.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...flags], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
    const { smoke, rows } = JSON.parse(readFileSync(json, 'utf8')) as {
      smoke: boolean;
      rows: Record<string, number | string>[];
    };
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
    const json = path.join(folder, 'serving.json');
    const only = ['--only', 'tokens.ndjson,ladders.ndjson,dlmm_hours.ndjson'];
    const main = path.join(root, 'dist/bench/ingest/main.js');
    const flags = ['--serving', '--smoke', ...only, '--json', json];
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...flags], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
    const { rows } = JSON.parse(readFileSync(json, 'utf8')) as {
      rows: { name: string; rows: number; loop: { maxMs: number } }[];
    };
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

  it('refuses wrong flags', () => {
    expect(readIngestOptions(['--smoke'])).toMatchObject({ names: INPUT_NAMES, runs: 1 });
    for (const words of [['--only', 'cells'], ['--cells', '0'], ['--runs', 'x'], ['more']]) {
      expect(() => readIngestOptions(words)).toThrow(BenchUsageError);
    }
  });
});

/** runIngest of the build: the command that it starts is the one beside it. */
async function builtRun(input: Parameters<typeof runIngest>[0]) {
  const { runIngest: built } = (await import(path.join(root, 'dist/bench/ingest/command.js'))) as {
    runIngest: typeof runIngest;
  };
  return built(input);
}
