/** The comparison of two builds, as users run it, and with made-up results. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Cases,
  type ComparedCase,
  comparedCases,
  faultsOf,
  tableOf,
} from '../../bench/compare/outcome.js';
import { temporaryDirectory } from '../support/folders.js';
import { resultsOf, runProgram } from './program.js';

const root = path.resolve(import.meta.dirname, '../..');
const folder = temporaryDirectory();

/** A run with cases of these CPU times, hashes and sizes. */
const run = (cases: Record<string, [cpuMs: number, hash?: string, bytes?: number]>): Cases =>
  Object.fromEntries(
    Object.entries(cases).map(([name, [cpuMs, hash = '0', bytes]]) => {
      const extra = { cpuMs, ...(bytes === undefined ? {} : { bytes }) };
      return [name, { opsPerSecond: 1, p50Ms: 99, p99Ms: 99, samples: 1, hash, extra }];
    }),
  );

describe('two builds', () => {
  const both = (base: Cases[], head: Cases[]) => {
    const compared = comparedCases(base, head);
    return { faults: faultsOf(compared), text: tableOf(compared).join('\n') };
  };

  it('are compared by the least CPU time of their turns, which alone fails nothing', () => {
    const { faults, text } = both(
      [run({ a: [20] }), run({ a: [10] }), run({ a: [30] })],
      [run({ a: [15] }), run({ a: [40] })],
    );
    expect(faults).toEqual([]);
    expect(text).toMatch(/^a +10 +15 +1\.500$/m);
  });

  it('show sizes that differ', () => {
    const { faults, text } = both([run({ a: [1, 'x', 100] })], [run({ a: [1, 'x', 90] })]);
    expect([faults, text]).toEqual([[], expect.stringContaining('100 to 90 bytes')]);
  });

  it.each([
    ['another result', { a: [1, 'y'], b: [1] }, 'another result of a'],
    ['a case that is gone', { b: [1] }, 'this build no longer has a'],
    ['no case in common', { c: [1] }, 'this build no longer has a, b'],
  ] as const)('fail with %s', (_, head, fault) => {
    const { faults } = both([run({ a: [1, 'x'], b: [1] })], [run(head as never)]);
    expect(faults[0]).toBe(fault);
  });

  it('fail if nothing is left to compare, and pass with a case that REV lacks', () => {
    expect(both([], [run({ a: [1] })]).faults).toEqual(['the builds have no case in common']);
    const { faults, text } = both([run({ a: [1] })], [run({ a: [1], b: [1] })]);
    expect([faults, text]).toEqual([[], expect.stringMatching(/^b .*REV lacks it$/m)]);
  });
});

describe('npm run bench:compare', () => {
  it('refuses unknown revisions with status 2', () => {
    for (const words of [['no-such-revision'], ['--all'], []]) {
      const { status, stdout, stderr } = runProgram('compare', words, { cwd: root });
      expect([status, stdout], words.join(' ')).toEqual([2, '']);
      expect(stderr).toContain('--turns');
    }
  });

  it('builds another revision and runs the cases of both', () => {
    const words = ['HEAD', '--smoke', '--only', 'page A', '--allow-other-results'];
    const { stdout, results } = resultsOf<{ cases: ComparedCase[] }>(
      ...(['compare', words, path.join(folder, 'compare.json')] as const),
    );
    expect(results.cases.length).toBeGreaterThan(10);
    for (const { name, base, head } of results.cases) {
      expect([name, base?.hash]).toEqual([name, expect.stringMatching(/^[0-9a-f]{8}$/)]);
      expect(head?.ms, name).toBeGreaterThan(0);
      expect(stdout).toContain(name);
    }
  });

  it('ends with status 1, not 2, if the sources do not compile', () => {
    const tree = mkdtempSync(path.join(os.tmpdir(), 'fathom-compare-test-'));
    try {
      for (const name of ['package.json', 'package-lock.json', 'server/bootstrap']) {
        cpSync(path.join(root, name), path.join(tree, name), { recursive: true });
      }
      // A separate folder: an install in the tree must not reach the clone's packages.
      const modules = path.join(tree, 'node_modules');
      mkdirSync(modules);
      symlinkSync(path.join(root, 'node_modules/@typescript'), path.join(modules, '@typescript'));
      const installed = '.package-lock.json';
      cpSync(path.join(root, 'node_modules', installed), path.join(modules, installed));
      writeFileSync(path.join(tree, 'wrong.ts'), 'export const = 1;\n');
      const compilerOptions = { outDir: 'dist', types: [], lib: ['es5'], skipLibCheck: true };
      const config = { compilerOptions, files: ['wrong.ts'] };
      writeFileSync(path.join(tree, 'tsconfig.build.json'), JSON.stringify(config));
      const words = ['server/bootstrap/bench.mjs', 'compare/main.js', 'HEAD'];
      const made = spawnSync(process.execPath, words, { cwd: tree, encoding: 'utf8' });
      expect([made.status, made.stdout]).toEqual([1, expect.stringContaining('wrong.ts(1,')]);
      expect(made.stderr).toContain('do not compile');
    } finally {
      rmSync(tree, { recursive: true, force: true });
    }
  });
});
