import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { CommitsResult } from '../../bench/cluster/commits.js';
import { hasNats } from '../../bench/cluster/nats.js';
import { readClusterOptions } from '../../bench/cluster/options.js';
import type { ReadingResult } from '../../bench/cluster/reading.js';
import { BenchUsageError } from '../../bench/errors.js';

const folder = mkdtempSync(path.join(os.tmpdir(), 'fathom-cluster-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('npm run bench:cluster', () => {
  it.skipIf(!hasNats)('measures commits, pages and bots on a single machine and on a node', () => {
    const file = path.join(folder, 'cluster.json');
    const main = path.resolve('dist/bench/cluster/main.js');
    const words = [main, '--smoke', '--json', file];
    const { status, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' });
    expect(status).toBe(0);
    const { results } = JSON.parse(readFileSync(file, 'utf8')) as {
      results: { commits: CommitsResult[]; reading: ReadingResult[] };
    };
    const [{ servers, logBytesASnapshot, catchUp, ...times }] = results.commits;
    expect(servers).toBe(1);
    const { singleMs, nodeMs, publishMs, applyMs } = times;
    for (const { p50, p99 } of [singleMs, nodeMs, publishMs, applyMs]) {
      expect(p50).toBeGreaterThan(0);
      expect(p99).toBeGreaterThanOrEqual(p50);
    }
    expect(logBytesASnapshot).toBeGreaterThan(1000);
    expect(catchUp.entriesPerS).toBeGreaterThan(0);
    const [{ scenario, single, node }] = results.reading;
    expect(stdout).toContain(scenario);
    for (const { p50Ms, p99Ms, pagesPerSecond } of [single, node]) {
      expect(p50Ms).toBeGreaterThan(0);
      expect(p99Ms).toBeGreaterThanOrEqual(p50Ms);
      expect(pagesPerSecond).toBeGreaterThan(0);
    }
  });

  it('refuses wrong flags', () => {
    const json = ['--json', path.join(folder, 'none.json')];
    expect(() => readClusterOptions(['--rounds', '0', ...json])).toThrow(BenchUsageError);
    expect(readClusterOptions(['--seconds', '2', ...json]).load.forMs).toBe(2000);
  });
});
