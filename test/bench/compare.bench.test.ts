/** The comparison of two builds, with processes that report made-up times, and as users run it. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runProgram } from './program.js';
import { readCompareOptions } from '../../bench/compare/options.js';
import { faultsOf } from '../../bench/compare/outcome.js';
import { documentOf, tableOf } from '../../bench/compare/report.js';
import { compareBuilds, type Comparison } from '../../bench/compare/run.js';
import { treeOf } from '../../bench/compare/trees.js';
import { MIN_PAIRS } from '../../bench/compare/verdict.js';

const root = path.resolve(import.meta.dirname, '../..');

describe('two builds in their own processes', () => {
  const side = path.join(root, 'dist/bench/compare/side.js');
  const madeUp = path.join(root, 'test/support/slow-side.mjs');
  const options = {
    ...readCompareOptions(['HEAD', '--only', 'page A']),
    turns: 15,
    turnMs: 0,
    threshold: 1,
  };
  const revisions = {
    base: { commit: 'a'.repeat(40), dirty: false },
    head: { commit: 'b'.repeat(40), dirty: true },
  };
  const compare = (base: object, head: object) =>
    compareBuilds(
      [madeUp, JSON.stringify(base)],
      [madeUp, JSON.stringify(head)],
      options,
      () => undefined,
    );
  const faults = (comparison: Comparison, allowOtherResults = false) =>
    faultsOf(comparison, { allowOtherResults });
  const text = (comparison: Comparison, allowOtherResults = false) =>
    tableOf(comparison, revisions, { allowOtherResults });

  it('agree if they are the same build', async () => {
    const groups = ['page A'] as const;
    const both = { ...options, groups, turns: MIN_PAIRS, threshold: 5 };
    const comparison = await compareBuilds([side], [side], both, () => undefined);
    const { cases, ...rest } = comparison;
    expect(rest).toEqual({ failed: [], gone: [], baseFailed: [], fresh: [] });
    expect(cases.length).toBeGreaterThan(5);
    for (const one of cases) {
      expect(Object.keys(one.counters), one.name).not.toEqual([]);
      for (const { base, head } of Object.values(one.counters)) expect(head).toBe(base);
    }
    expect(faults(comparison)).toEqual([]);
  });

  it('differ if one is made slow, or sends more bytes', async () => {
    const same = await compare({}, {});
    expect(faults(same)).toEqual([]);
    expect(text(same)).toContain('No regression in 2 cases.');
    const slow = await compare({}, { busyMs: 6 });
    expect(slow.cases).toMatchObject([{ verdict: 'slower' }, { verdict: 'same' }]);
    expect(faults(slow)).toEqual(['1 of 2 cases slower']);
    const more = await compare({}, { bytesOut: 101 });
    expect(faults(more)).toEqual(['1 of 2 cases with a counter that grew']);
    expect(text(more)).toContain('bytesOut grew from 100 to 101');
    const less = await compare({}, { bytesOut: 99 });
    expect(faults(less)).toEqual([]);
    expect(text(less)).toContain('bytesOut fell from 100 to 99');
  });

  it.each([
    ['load', 'page A', 0],
    ['first result', 'page A/made up', 1],
    ['turn', 'page A/made up', 1],
    ['hash', 'page A/made up', 1],
    ['unload', 'page A, its end', 2],
  ])('fail if this build fails at %s', async (failsAt, what, compared) => {
    const comparison = await compare({}, { failsAt });
    expect(comparison.failed).toEqual([{ what, reason: 'made to fail' }]);
    expect(comparison.cases).toHaveLength(compared);
    expect(faults(comparison, true)).toContain('this build fails at 1 groups or cases');
    expect(text(comparison)).toContain(`${what}: this build fails at it (made to fail)`);
    expect(text(comparison)).not.toContain('No regression');
  });

  it('fail if this build fails, even if REV fails in the same place', async () => {
    const comparison = await compare({ failsAt: 'first result' }, { failsAt: 'first result' });
    expect(faults(comparison)).toEqual(['this build fails at 1 groups or cases']);
  });

  it('fail if nothing is left to compare', async () => {
    const comparison = await compare({ failsAt: 'load' }, {});
    expect(faults(comparison, true)).toEqual(['nothing was compared']);
    expect(text(comparison)).toContain('page A: REV lacks it or fails at it (made to fail)');
    expect(text(comparison)).toContain('Failed: nothing was compared.');
    expect(faults(await compare({ names: ['one'] }, { names: ['two'] }), true)).toEqual([
      'nothing was compared',
    ]);
  });

  it('pass without the cases that REV lacks, and say so', async () => {
    const older = await compare({ failsAt: 'first result' }, {});
    expect(older.baseFailed).toEqual([{ what: 'page A/made up', reason: 'made to fail' }]);
    expect(older.fresh).toEqual([]);
    expect(faults(older)).toEqual([]);
    const fresh = await compare({ names: ['page A/made up'] }, {});
    expect(faults(fresh)).toEqual([]);
    expect(text(fresh)).toContain('page A/other: REV lacks it');
  });

  it('fail on another result or a missing case, unless that is allowed', async () => {
    const other = await compare({}, { hash: '11111111' });
    expect(faults(other)).toEqual(['1 of 2 cases with another result']);
    expect(faults(other, true)).toEqual([]);
    expect(text(other, true)).toContain(', other result');
    expect(text(other, true)).toContain('(allowed: 1 with another result)');
    const gone = await compare({}, { names: ['page A/made up'] });
    expect(gone.gone).toEqual(['page A/other']);
    expect(faults(gone)).toEqual(['this build no longer has 1 cases']);
    expect(faults(gone, true)).toEqual([]);
  });

  it('fail on a result that changes', async () => {
    const comparison = await compare({}, { lastHash: '22222222' });
    const reason = 'gave 00000000, then 22222222';
    expect(comparison.failed).toEqual([{ what: 'page A/made up', reason }]);
    expect(faults(comparison, true)).toEqual(['this build fails at 1 groups or cases']);
  });

  it('are named when their process ends', async () => {
    await expect(compare({}, { diesAt: 'turn' })).rejects.toThrow(
      'this build, page A/made up: its process ended with 3',
    );
    await expect(compare({ diesAt: 'load' }, {})).rejects.toThrow('REV, loading page A');
  });

  it('are reported with the counters, hashes and revisions of both', async () => {
    const comparison = await compare({}, { bytesOut: 101, hash: '11111111' });
    expect(documentOf(comparison, revisions, options)).toMatchObject({
      ...revisions,
      passed: false,
      faults: ['1 of 2 cases with a counter that grew', '1 of 2 cases with another result'],
      cases: [
        {
          counters: { bytesOut: { base: 100, head: 101 } },
          grown: ['bytesOut'],
          hash: { base: '00000000', head: '11111111' },
          otherResult: true,
        },
        { counters: { bytesOut: { base: 100, head: 100 } }, grown: [], otherResult: false },
      ],
    });
    expect(text(comparison)).toContain('REV aaaaaaaa, this build bbbbbbbb and changes');
    const clean = { base: revisions.base, head: revisions.base };
    expect(tableOf(comparison, clean, options)).toContain('the same sources');
  });
});

describe('npm run bench:compare', () => {
  it('refuses unknown revisions with status 2', () => {
    for (const words of [['no-such-revision'], ['--all']]) {
      const { status, stdout, stderr } = runProgram('compare', words, { cwd: root });
      expect([status, stdout], words.join(' ')).toEqual([2, '']);
      expect(stderr).toContain('--turns');
    }
  });

  it('builds all of another revision, its WebAssembly too', async () => {
    const { side } = await treeOf('HEAD');
    const built = path.resolve(path.dirname(side), '../..');
    expect(existsSync(path.join(built, 'compute/kernels.wasm'))).toBe(true);
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
