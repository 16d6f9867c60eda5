/** The comparison of two builds: its verdicts on made-up times. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { median } from '../../bench/case.js';
import { seededRandom } from '../../bench/compare/random.js';
import {
  judgeTimes,
  MIN_PAIRS,
  ratioInterval,
  type PairedTurns,
} from '../../bench/compare/verdict.js';

const OPTIONS = { threshold: 0.05, errorRate: 0.01, cases: 60 };
const TURNS = 21;

/** Times like those of real machines: drifting over the hours, with pauses that hit single turns. */
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
  it('find no difference between two runs of one build, whatever the machine does', () => {
    for (const noise of [0.005, 0.03, 0.1]) {
      expect(slower(verdicts(80, 1, noise)), `noise ${noise}`).toBe(0);
    }
  });

  it('find most builds that are slower or faster by a quarter', () => {
    expect(slower(verdicts(60, 1.25, 0.02))).toBeGreaterThanOrEqual(50);
    const faster = verdicts(60, 1 / 1.25, 0.02).filter(({ verdict }) => verdict === 'faster');
    expect(faster.length).toBeGreaterThanOrEqual(50);
  });

  it('let a change below the threshold pass, however clear it is', () => {
    for (const judged of verdicts(50, 1.03, 0.002)) {
      expect(judged.verdict).toBe('same');
      expect(judged.ratio).toBeGreaterThan(1.01);
    }
  });

  it('require more evidence the more cases there are', () => {
    const turns = noisyTurns(3, 1.1, 0.05);
    const one = ratioInterval(turns, 0.01);
    const many = ratioInterval(turns, 0.01 / 1000);
    expect(many.low).toBeLessThanOrEqual(one.low);
    expect(many.high).toBeGreaterThanOrEqual(one.high);
  });

  it('have their ratio within their interval, and invert it when the builds change places', () => {
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

  it('need more than a handful of turns', () => {
    const few = {
      base: new Array<number>(MIN_PAIRS - 1).fill(1),
      head: new Array<number>(99).fill(2),
    };
    expect(() => ratioInterval(few, 0.01)).toThrow(RangeError);
  });

  it('are based on the median', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 9, 2])).toBe(3);
  });
});
