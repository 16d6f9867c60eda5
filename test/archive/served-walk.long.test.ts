/** Two servers, of which one has an archive that fails, say the same, or 503: pages, series, live and exports. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type FaultyArchive, faultyBucket, faultyFolder } from './archive-faults.js';
import { ServedWalk, steps } from './served-walk.js';

/** FATHOM_RUNS=50 makes a longer search, with FATHOM_SEED=N. */
const RUNS = Number(process.env.FATHOM_RUNS ?? 1);
const SEED = process.env.FATHOM_SEED;

it.each<[string, () => FaultyArchive | Promise<FaultyArchive>]>([
  ['a bucket', faultyBucket],
  ['a folder', faultyFolder],
])(
  'A server whose archive is %s that fails answers like one without',
  async (_, open) => {
    const tally = { same: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(false, false, true), async (walked, cached) => {
        const walk = new ServedWalk(await open(), cached);
        try {
          await walk.start();
          for (const step of walked) await walk.take(step);
          await walk.expectRetention({ kind: 'short', quarters: 4 });
        } finally {
          await walk.end();
          tally.same += walk.tally.same;
          tally.refused += walk.tally.refused;
        }
      }),
      { numRuns: RUNS, endOnFailure: true, ...(SEED !== undefined && { seed: Number(SEED) }) },
    );
    expect(tally.same).toBeGreaterThan(tally.refused);
  },
  3_600_000,
);
