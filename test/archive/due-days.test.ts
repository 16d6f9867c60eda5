/** The search for days that are due does not stall a server with long histories. */
import { expect, it } from 'vitest';
import { TIERS } from '../../compute/market.js';
import { DAY_S } from '../../compute/time.js';
import { Archiver, isInStore } from '../../storage/archive/archiver.js';
import { byTier, type Directory, type SegmentRef } from '../../storage/depth/directory.js';
import { countingTurns } from '../support/waiting.js';
import { T0 } from './days.js';

const DAYS = 300;
const SEGMENTS_A_DAY = 20;

/** How often the times of a segment were asked for. */
let looks = 0;

/** A segment of some seconds; `times` may be of several. */
function segment(times: number[], isArchived = false): SegmentRef {
  const own = Uint32Array.from(times);
  return {
    segmentId: 1,
    tier: 'raw',
    cells: 1,
    get times() {
      looks++;
      return own;
    },
    bandCells: own,
    digests: own,
    isArchived,
  };
}

const everySegment = Array.from({ length: DAYS * SEGMENTS_A_DAY }, (_, i) => {
  const t = T0 + i * (DAY_S / SEGMENTS_A_DAY);
  return segment([t, t + 60, t + 120]);
});

it('A day is found in a long history with a few looks', () => {
  looks = 0;
  expect(isInStore(everySegment, T0 + 299 * DAY_S)).toBe(true);
  expect(looks).toBeLessThan(60);
});

it('A day is in the store if a segment of the store has a snapshot in it', () => {
  const day = T0 + DAY_S;
  const cases: [SegmentRef[], boolean][] = [
    [[], false],
    [[segment([day - 1])], false],
    [[segment([day])], true],
    [[segment([day + DAY_S - 1])], true],
    [[segment([day + DAY_S])], false],
    // Around the day, without a snapshot in it.
    [[segment([day - 1, day + DAY_S])], false],
    [[segment([day - 1, day + 5, day + DAY_S])], true],
    [[segment([day + 5], true)], false],
    [[segment([day + 5], true), segment([day + 6])], true],
    [[segment([day - 1]), segment([day + 5], true), segment([day + DAY_S])], false],
  ];
  for (const [segments, expected] of cases) expect(isInStore(segments, day)).toBe(expected);
});

it('A search through many days lets the event loop turn', async () => {
  const directory: Directory = byTier((tier) => (tier === 'raw' ? everySegment : []));
  const tokens = Array.from({ length: 50 }, (_, id) => id);
  const rows = tokens.flatMap((id) =>
    Array.from({ length: DAYS }, (_, i) => [id, TIERS.indexOf('raw'), T0 / DAY_S + i]),
  );
  const archiver = new Archiver({
    database: { rows: () => Promise.resolve(rows) },
    directories: { get: () => Promise.resolve(directory) },
    times: { afterS: 3600, graceS: 0 },
    nowS: () => T0 + (DAYS + 9) * DAY_S,
  } as never);
  let found = 0;
  const turns = await countingTurns(async () => {
    found = (await archiver.due()).length;
  });
  expect(found).toBe(50 * (DAYS - 1));
  expect(turns).toBeGreaterThan(3);
});
