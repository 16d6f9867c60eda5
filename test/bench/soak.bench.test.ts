import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { trendsOf, type Held, type Sample } from '../../bench/soak/samples.js';
import { temporaryDirectory } from '../support/folders.js';
import { resultsOf } from './program.js';

const folder = temporaryDirectory();

describe('npm run soak', () => {
  it('puts a server under every kind of load, and reports what it holds', () => {
    const { stdout, results } = resultsOf<{
      work: Record<string, number>;
      samples: Sample[];
      trends: { held: string }[];
    }>('soak', ['--smoke'], path.join(folder, 'soak.json'));
    const { work, samples, trends } = results;
    for (const done of ['pages', 'botRequests', 'commits', 'slowReaders', 'keyChanges']) {
      expect(work[done], done).toBeGreaterThan(0);
    }
    expect(work.botFailures).toBe(0);
    expect(samples.length).toBeGreaterThan(0);
    for (const { held } of trends) expect(stdout).toContain(held);
  });

  /** Samples of a server that holds `of(i)` descriptors and 100 of everything else. */
  const samples = (of: (i: number) => number): Sample[] =>
    Array.from({ length: 400 }, (_, i) => ({
      residentMib: 100,
      heapMib: 100,
      externalMib: 100,
      files: 100,
      databaseMib: 100,
      descriptors: of(i),
    }));
  const grown = (of: (i: number) => number): Held[] =>
    trendsOf(samples(of)).flatMap(({ held, grew }) => (grew ? [held] : []));

  it('reports steady growth, but no warm-up, no peaks, and nothing that comes and goes', () => {
    expect(grown((i) => i)).toEqual(['descriptors']);
    expect(grown((i) => Math.min(i, 90))).toEqual([]);
    expect(grown((i) => (i % 7 === 0 ? 500 + i : 50))).toEqual([]);
    expect(grown((i) => 50 + 40 * Math.sin(i / 5))).toEqual([]);
    expect(grown((i) => (i > 350 ? 90 : 50))).toEqual([]);
  });
});
