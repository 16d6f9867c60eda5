import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keptTimes } from '../../compute/holders/thinning.js';
import { keptReference } from '../reference/holder-retention.js';

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const NEWEST = 1_794_659_580;

/** Times at which something may be stored: dense, sparse, with gaps of any length. */
const manyTimes = fc
  .array(
    fc.record({
      gap: fc.oneof(
        fc.integer({ min: 1, max: 90 }),
        fc.integer({ min: 1, max: 3 * HOUR_S }),
        fc.integer({ min: 1, max: 9 * DAY_S }),
      ),
      again: fc.integer({ min: 1, max: 40 }),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    let t = 1_700_000_000;
    return steps.flatMap(({ gap, again }) => Array.from({ length: again }, () => (t += gap)));
  });

const sorted = (times: Iterable<number>): number[] => [...new Set(times)].sort((a, b) => a - b);

/** One snapshot per minute for this long. */
const minutes = (days: number): number[] =>
  Array.from({ length: (days * DAY_S) / MINUTE_S }, (_, i) => NEWEST - i * MINUTE_S).reverse();

const lastAtOrBefore = (times: readonly number[], t: number): number | undefined =>
  times.filter((time) => time <= t).at(-1);

describe('Thinning of holder snapshots', () => {
  it('keeps the same as the reference', () => {
    fc.assert(
      fc.property(manyTimes, (times) => {
        expect(keptTimes(times)).toEqual(keptReference(times));
      }),
      { numRuns: 300 },
    );
  });

  it('keeps the same, in whatever order and parts they arrive', () => {
    fc.assert(
      fc.property(
        manyTimes,
        fc.infiniteStream(fc.nat()),
        fc.integer({ min: 1, max: 50 }),
        (times, picks, size) => {
          const left = [...times];
          let kept: number[] = [];
          while (left.length > 0) {
            const piece = Array.from({ length: Math.min(size, left.length) }, () =>
              left.splice(picks.next().value % left.length, 1),
            );
            kept = keptTimes(sorted([...kept, ...piece.flat()]));
          }
          expect(kept).toEqual(keptTimes(times));
          // Omitted times, once more: they stay out.
          expect(keptTimes(sorted([...kept, ...times]))).toEqual(kept);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('keeps every minute of two days, and few earlier ones', () => {
    const kept = keptTimes(minutes(60));
    expect(kept.filter((t) => t > NEWEST - 2 * DAY_S)).toEqual(minutes(2));
    // 49 whole hours (the newest as far as it has come), 167 hours and 96 quarter days.
    expect(kept.length).toBeLessThanOrEqual(49 * 60 + 167 + 97);
  });

  it('keeps each day of a sparkline exactly, and windows to a hundredth of their length', () => {
    const all = minutes(60);
    const kept = keptTimes(all);
    for (let day = 0; day <= 30; day++) {
      const end = Math.floor(NEWEST / DAY_S) * DAY_S - (day - 1) * DAY_S - 1;
      expect(lastAtOrBefore(kept, end)).toBe(lastAtOrBefore(all, end));
    }
    const late = (days: number) =>
      NEWEST - days * DAY_S - (lastAtOrBefore(kept, NEWEST - days * DAY_S) ?? -Infinity);
    expect(late(1)).toBe(0);
    expect(late(7)).toBeLessThan(HOUR_S);
    expect(late(14)).toBeLessThan(6 * HOUR_S);
    expect(late(30)).toBeLessThan(6 * HOUR_S);
  });

  it('keeps all snapshots of a token that rarely has one', () => {
    const daily = Array.from({ length: 45 }, (_, i) => NEWEST - (44 - i) * DAY_S);
    expect(keptTimes(daily)).toEqual(daily);
  });

  it('loses no more than an hour to a snapshot with a wrong time', () => {
    const all = minutes(4);
    const wrong = 4_000_000_000;
    const kept = keptTimes([...all, wrong]);
    const lost = keptTimes(all).filter((t) => !kept.includes(t));
    expect(lost.length).toBeLessThan(60);
    expect(sorted(lost.map((t) => Math.floor(t / HOUR_S)))).toHaveLength(1);
  });
});
