import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TIERS, type Tier } from '../../compute/market.js';
import { EMPTY_DIRECTORY, planSnapshots, type Directory } from '../../storage/depth/directory.js';
import { visibleSnapshots } from '../reference/replay.js';
import { directoryOfTimes, segmentRef } from '../support/runs.js';

const END = 2 ** 32 - 1;

interface Stored {
  tier: Tier;
  t: number;
}

const T0 = 1_794_000_000 - (1_794_000_000 % 3600);
/** On the borders of the tiers, a second beside them, and anywhere. */
const time = fc
  .tuple(fc.integer({ min: 0, max: 40 }), fc.constantFrom(-1, 0, 1, 300, 899))
  .map(([quarter, beside]) => T0 + quarter * 900 + beside);
const stored = fc.uniqueArray(fc.record({ tier: fc.constantFrom(...TIERS), t: time }), {
  selector: ({ tier, t }) => `${tier} ${t}`,
  maxLength: 40,
  // Many: otherwise too few are at the very moment requested.
  size: 'max',
});

describe('planSnapshots', () => {
  it('plans the snapshots that the rule makes visible', () => {
    fc.assert(
      fc.property(
        stored,
        fc.integer({ min: 1, max: 9 }),
        time,
        fc.integer({ min: 0, max: 40_000 }),
        fc.oneof(time, fc.constant(END)),
        fc.integer({ min: 1, max: 12 }),
        (all, perSegment, fromS, length, nowS, maxSnapshots) => {
          const directory = directoryOfTimes(all, perSegment);
          const toS = fromS + length;
          const plan = planSnapshots(directory, { fromS, toS, nowS, maxSnapshots });
          const expected = visibleSnapshots(all, nowS).filter(({ t }) => t >= fromS && t < toS);
          expect(plan.snapshots.map(({ tier, t }) => ({ tier, t }))).toEqual(
            expected.slice(0, maxSnapshots),
          );
          expect(plan.nextT).toBe(expected[maxSnapshots]?.t ?? null);
          expect(new Set(plan.segmentIds).size).toBe(plan.segmentIds.length);
          const refs = TIERS.flatMap((tier) => directory[tier]);
          for (const { segment, row, t, tier, bandCells } of plan.snapshots) {
            const ref = refs.find(({ segmentId }) => segmentId === plan.segmentIds[segment]);
            expect([ref?.tier, ref?.times[row], ref?.bandCells[row]]).toEqual([tier, t, bandCells]);
          }
        },
      ),
      { numRuns: 700 },
    );
  });

  it('with a step plans the newest of each, page by page', () => {
    fc.assert(
      fc.property(
        stored,
        stored,
        time,
        fc.integer({ min: 0, max: 40_000 }),
        fc.oneof(time, fc.constant(END)),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(60, 300, 900, 3600, 14_400, 86_400),
        (all, late, fromS, length, nowS, maxSnapshots, stepS) => {
          const toS = fromS + length;
          const inWindow = visibleSnapshots(all, nowS).filter(({ t }) => t >= fromS && t < toS);
          const stepOf = ({ t }: Stored) => Math.ceil(t / stepS);
          const expected = inWindow.filter(
            (one) => !inWindow.some((other) => other.t > one.t && stepOf(other) === stepOf(one)),
          );
          const before = directoryOfTimes(all, 3);
          const pagesOf = (directories: readonly Directory[]) => {
            const pages: Stored[][] = [];
            for (let from: number | null = fromS; from !== null;) {
              const directory = directories[Math.min(pages.length, directories.length - 1)];
              const window = { fromS: from, toS, nowS, maxSnapshots, stepS };
              const { snapshots, segmentIds, nextT } = planSnapshots(directory, window);
              expect(new Set(snapshots.map(({ segment }) => segment)).size).toBe(segmentIds.length);
              pages.push(snapshots.map(({ tier, t }) => ({ tier, t })));
              from = nextT;
            }
            return pages;
          };
          const pages = pagesOf([before]);
          expect(pages.flat()).toEqual(expected);
          expect(pages.slice(0, -1).every((page) => page.length === maxSnapshots)).toBe(true);
          // Data that arrives after the first page: no step comes twice, and the later pages have it.
          const has = ({ tier, t }: Stored) => all.some((one) => one.tier === tier && one.t === t);
          const after = directoryOfTimes([...all, ...late.filter((one) => !has(one))], 3);
          const steps = pagesOf([before, after]).flat().map(stepOf);
          expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b));
        },
      ),
      { numRuns: 400 },
    );
  });

  it('with a step looks up few of the snapshots that it drops', () => {
    let looked = 0;
    const times = Uint32Array.from({ length: 100_000 }, (_, i) => T0 + 60 * i);
    const counted = new Proxy(times, {
      get: (_, name) => {
        looked++;
        return Reflect.get(times, name, times) as unknown;
      },
    });
    const ref = segmentRef(1, times, { times: counted });
    const directory = { ...EMPTY_DIRECTORY, raw: [ref] };
    const window = { fromS: T0, toS: END, nowS: END, maxSnapshots: 288, stepS: 86_400 };
    expect(planSnapshots(directory, window).snapshots).toHaveLength(71);
    expect(looked).toBeLessThan(100_000 / 10);
  });
});
