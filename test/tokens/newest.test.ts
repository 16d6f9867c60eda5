import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TIERS } from '../../compute/market.js';
import type { NewestSnapshots } from '../../storage/contract.js';
import { byTier, type Directory, newestSnapshots } from '../../storage/depth/directory.js';
import { directoryOfTimes } from '../support/runs.js';
import {
  commitRows,
  FreshStore,
  MINT,
  orca,
  OTHER_MINT,
  snapshot,
  tokenOf,
} from '../support/stores.js';

const DELAY_S = 900;

/** Directories with a few snapshots per tier, cut into segments anywhere. */
const directories: fc.Arbitrary<Directory> = fc
  .tuple(
    fc.uniqueArray(
      fc.record({ tier: fc.constantFrom(...TIERS), t: fc.integer({ min: 0, max: 4000 }) }),
      { selector: ({ tier, t }) => `${tier} ${t}`, maxLength: 60 },
    ),
    fc.record(byTier(() => fc.integer({ min: 1, max: 6 }))),
  )
  .map(([snapshots, perSegment]) => directoryOfTimes(snapshots, perSegment));

/** Every snapshot with its segment and row. */
const places = (directory: Directory) =>
  TIERS.flatMap((tier) =>
    directory[tier].flatMap(({ segmentId, times }) =>
      Array.from(times, (t, row) => ({ segmentId, row, t, tier })),
    ),
  );

/** The greatest t; at equal t, the finer tier. */
function newestAt(directory: Directory, atS: number) {
  const found = places(directory)
    .filter(({ t }) => t <= atS)
    .sort((a, b) => b.t - a.t || TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier));
  return found[0] ?? null;
}

describe('the newest snapshots', () => {
  it('are those found by looking at all of them', () => {
    fc.assert(
      fc.property(directories, fc.integer({ min: -10, max: 6000 }), (directory, nowS) => {
        const found = newestSnapshots(directory, nowS, DELAY_S);
        expect(found.newest).toEqual(newestAt(directory, nowS));
        expect(found.delayed).toEqual(newestAt(directory, nowS - DELAY_S));
      }),
      { numRuns: 500 },
    );
  });

  it('stay the same until the stated moment, and change then', () => {
    fc.assert(
      fc.property(directories, fc.integer({ min: 0, max: 6000 }), (directory, nowS) => {
        const { nextChangeS, ...before } = newestSnapshots(directory, nowS, DELAY_S);
        const at = (momentS: number) => {
          const { newest, delayed } = newestSnapshots(directory, momentS, DELAY_S);
          return { newest, delayed };
        };
        if (nextChangeS === null) {
          expect(at(1_000_000)).toEqual(before);
          return;
        }
        expect(nextChangeS).toBeGreaterThan(nowS);
        expect(at(nextChangeS - 1)).toEqual(before);
        // A coarser snapshot may become hidden by a finer one of the same moment.
        const times = new Set(places(directory).map(({ t }) => t));
        expect(times.has(nextChangeS) || times.has(nextChangeS - DELAY_S)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a store', () => {
  const fresh = new FreshStore();

  it('finds those of all tokens among many segments', async () => {
    const { store } = fresh;
    for (let t = 100; t <= 600; t += 100) {
      await commitRows(store, [snapshot(t), snapshot(t + 50, [orca()], { address: OTHER_MINT })]);
    }
    for (const [nowS, delayS] of [
      [555, 300],
      [600, 100],
      [700, 0],
      [120, 60],
    ]) {
      const found = new Map<number, NewestSnapshots>();
      for await (const part of store.depth.allNewestSnapshots(nowS, delayS)) {
        for (const [tokenId, newest] of part) found.set(tokenId, newest);
      }
      for (const [address, firstT] of [
        [MINT, 100],
        [OTHER_MINT, 150],
      ] as const) {
        const newestT = (atS: number) => {
          const t = firstT + 100 * Math.min(Math.floor((atS - firstT) / 100), 5);
          return t < firstT ? null : t;
        };
        const { newest, delayed } = found.get(tokenOf(store, address)) ?? {};
        expect([newest?.t ?? null, delayed?.t ?? null], `${address} at ${nowS}`).toEqual([
          newestT(nowS),
          newestT(nowS - delayS),
        ]);
      }
    }
  });
});
