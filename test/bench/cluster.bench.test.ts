import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CommitsResult } from '../../bench/cluster/commits.js';
import { hasNats } from '../../bench/cluster/nats.js';
import type { ReadingResult } from '../../bench/cluster/reading.js';
import { temporaryDirectory } from '../support/folders.js';
import { runProgram } from './program.js';

const folder = temporaryDirectory();

describe('npm run bench:cluster', () => {
  it.skipIf(!hasNats)('measures commits, pages and bots on a single machine and on a node', () => {
    const words = ['--smoke', '--json', path.join(folder, 'cluster.json')];
    const { status, stdout } = runProgram('cluster', words);
    expect(status).toBe(0);
    const { results } = JSON.parse(readFileSync(words[2], 'utf8')) as {
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
});
