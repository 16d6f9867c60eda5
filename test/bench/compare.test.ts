/** The comparison of two builds: its verdicts on made-up times, and on processes that keep to them. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCompareOptions } from '../../bench/compare/options.js';
import { seededRandom } from '../../bench/compare/random.js';
import { compareBuilds, regressions } from '../../bench/compare/run.js';
import {
  grownCounters,
  judgeTimes,
  median,
  MIN_PAIRS,
  ratioInterval,
  type PairedTurns,
} from '../../bench/compare/verdict.js';

const root = path.resolve(import.meta.dirname, '../..');
const OPTIONS = { threshold: 0.05, errorRate: 0.01, cases: 60 };
const TURNS = 21;

/** Times as machines give them: drifting with the hour, with pauses that hit one turn. */
function noisyTurns(seed: number, slowdown: number, noise: number): PairedTurns {
  const random = seededRandom(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const turns = { base: [] as number[], head: [] as number[] };
  let drift = 0;
  for (let i = 0; i < TURNS; i++) {
    drift += 0.1 * normal();
    const time = (factor: number) =>
      10 * factor * Math.exp(drift + noise * normal()) * (random() < 0.1 ? 1 + 2 * random() : 1);
    turns.base.push(time(1));
    turns.head.push(time(slowdown));
  }
  return turns;
}

const verdicts = (runs: number, slowdown: number, noise: number) =>
  Array.from({ length: runs }, (_, seed) => judgeTimes(noisyTurns(seed, slowdown, noise), OPTIONS));
const slower = (judged: ReturnType<typeof verdicts>) =>
  judged.filter(({ verdict }) => verdict === 'slower').length;

describe('verdicts', () => {
  it('find nothing in two runs of one build, whatever the machine does', () => {
    for (const noise of [0.005, 0.03, 0.1]) {
      expect(slower(verdicts(80, 1, noise)), `noise ${noise}`).toBe(0);
    }
  });

  it('find most builds that are slower by a fourth, or faster, in turns as noisy as these', () => {
    expect(slower(verdicts(60, 1.25, 0.02))).toBeGreaterThanOrEqual(50);
    const faster = verdicts(60, 1 / 1.25, 0.02).filter(({ verdict }) => verdict === 'faster');
    expect(faster.length).toBeGreaterThanOrEqual(50);
  });

  it('let a change below the threshold pass, shown as it may be', () => {
    for (const judged of verdicts(50, 1.03, 0.002)) {
      expect(judged.verdict).toBe('same');
      expect(judged.ratio).toBeGreaterThan(1.01);
    }
  });

  it('ask for more proof the more cases there are', () => {
    const turns = noisyTurns(3, 1.1, 0.05);
    const one = ratioInterval(turns, 0.01);
    const many = ratioInterval(turns, 0.01 / 1000);
    expect(many.low).toBeLessThanOrEqual(one.low);
    expect(many.high).toBeGreaterThanOrEqual(one.high);
  });

  it('hold their ratio within their interval, and turn it over with the builds', () => {
    fc.assert(
      fc.property(fc.integer(), fc.double({ min: 0.5, max: 2, noNaN: true }), (seed, factor) => {
        const { base, head } = noisyTurns(seed, factor, 0.05);
        const there = ratioInterval({ base, head }, 0.01);
        const back = ratioInterval({ base: head, head: base }, 0.01);
        expect(there.low).toBeLessThanOrEqual(there.ratio);
        expect(there.high).toBeGreaterThanOrEqual(there.ratio);
        expect(there.ratio * back.ratio).toBeCloseTo(1, 9);
      }),
      { numRuns: 30 },
    );
  });

  it('are not given on a handful of turns', () => {
    const few = {
      base: new Array<number>(MIN_PAIRS - 1).fill(1),
      head: new Array<number>(99).fill(2),
    };
    expect(() => ratioInterval(few, 0.01)).toThrow(RangeError);
  });

  it('count any growth of a counter that both builds have', () => {
    const base = { bytesOut: 100, tasksPosted: 1, cellsScanned: 5 };
    expect(
      grownCounters(base, { bytesOut: 101, tasksPosted: 1, cellsScanned: 4, fresh: 9 }),
    ).toEqual([{ name: 'bytesOut', base: 100, head: 101 }]);
  });

  it('rest on the middle', () => {
    expect(median(Float64Array.of(9, 1, 5))).toBe(5);
    expect(median(Float64Array.of(4, 1, 9, 2))).toBe(3);
  });
});

describe('two builds in processes of their own', () => {
  const side = path.join(root, 'dist/bench/compare/side.js');
  const slow = path.join(root, 'test/support/slow-side.mjs');
  const options = { ...readCompareOptions(['HEAD', '--only', 'page A']), turns: 15, turnMs: 0 };

  it('agree where they are one and the same', async () => {
    const comparison = await compareBuilds(
      [side],
      [side],
      { ...options, threshold: 0.5 },
      () => undefined,
    );
    expect(comparison.skipped).toEqual([]);
    expect(comparison.cases.length).toBeGreaterThan(8);
    expect(comparison.cases.filter(({ otherResult }) => otherResult)).toEqual([]);
    expect(regressions(comparison).flatMap(({ grown }) => grown)).toEqual([]);
  });

  it('differ where one is made slow, or sends more bytes', async () => {
    const compare = (...words: string[]) =>
      compareBuilds([slow], [slow, ...words], options, () => undefined);
    expect(regressions(await compare())).toEqual([]);
    expect(regressions(await compare('6'))).toMatchObject([{ verdict: 'slower' }]);
    expect(regressions(await compare('1', '101'))).toMatchObject([
      { grown: [{ name: 'bytesOut', base: 100, head: 101 }] },
    ]);
  });

  it('are not compared by cases that one of them lacks', async () => {
    const { cases, skipped } = await compareBuilds([slow], [side], options, () => undefined);
    expect(cases).toEqual([]);
    expect(skipped.join()).toContain('REV lacks it');
  });
});

describe('npm run bench:compare', () => {
  const compare = (...words: string[]) =>
    spawnSync(process.execPath, [path.join(root, 'dist/bench/compare/main.js'), ...words], {
      cwd: root,
      encoding: 'utf8',
    });

  it('refuses wrong flags and unknown revisions with status 2', () => {
    for (const words of [
      [],
      ['HEAD', 'again'],
      ['HEAD', '--turns', '3'],
      ['HEAD', '--only', 'nothing'],
      ['no-such-revision'],
      ['--all'],
    ]) {
      const { status, stdout, stderr } = compare(...words);
      expect([status, stdout], words.join(' ')).toEqual([2, '']);
      expect(stderr).toContain('--turns');
    }
  });
});
