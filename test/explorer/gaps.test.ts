/** The gaps of a whole history, from a token's coverage. */
import { describe, expect, it } from 'vitest';
import { gapBetween, gapsOf, isLate } from '../../explorer/state/gaps.js';

const tier = (name: '1h' | '15m' | 'raw', first_t: number, last_t: number, s: number | null) => ({
  tier: name,
  snapshot_count: 9,
  first_t,
  last_t,
  median_interval_s: s,
});

describe('a history', () => {
  it('is whole where a coarse tier meets a finer one, although its last snapshot is hidden', () => {
    const tiers = [
      tier('raw', 100_700, 200_000, 100),
      tier('15m', 50_000, 99_900, 900),
      tier('1h', 3600, 48_600, 3600),
    ];
    expect(gapsOf({ tiers, gaps: [] })).toEqual([]);
    expect(gapsOf({ tiers: tiers.toReversed(), gaps: [] })).toEqual([]);
  });

  it('has the gaps that coverage names, except where another tier fills them', () => {
    const tiers = [tier('raw', 10_000, 50_000, 100), tier('15m', 9000, 30_000, 900)];
    const gaps = [
      { tier: 'raw' as const, from: 40_000, to: 41_000 },
      { tier: 'raw' as const, from: 15_000, to: 25_000 },
    ];
    expect(gapsOf({ tiers, gaps })).toEqual([{ from: 40_000, to: 41_000, intervalS: 100 }]);
  });

  it('has a gap between tiers that is longer than three usual intervals of the coarser one', () => {
    const raw = tier('raw', 20_000, 50_000, 100);
    const gapAfter = (lastT: number) =>
      gapsOf({ tiers: [raw, tier('15m', 900, lastT, 900)], gaps: [] });
    expect(gapAfter(17_300)).toEqual([]);
    expect(gapAfter(17_299)).toEqual([{ from: 17_299, to: 20_000, intervalS: 900 }]);
  });

  it('goes on late once its newest snapshot is older than three usual intervals', () => {
    const tiers = [tier('raw', 10_000, 50_000, 100), tier('15m', 9000, 30_000, 900)];
    expect([50_000, 50_300, 50_301].map((nowS) => isLate({ tiers }, 0, nowS))).toEqual([
      ...[false, false, true],
    ]);
    expect(isLate({ tiers: tiers.toReversed() }, 0, 50_301)).toBe(true);
    // The page has seen a snapshot that the coverage does not have yet.
    expect(isLate({ tiers }, 50_200, 50_301)).toBe(false);
    // Without an interval, nothing is usual.
    expect(isLate({ tiers: [tier('raw', 5, 5, null)] }, 0, 1e9)).toBe(false);
    expect(isLate({ tiers: [] }, 0, 1e9)).toBe(false);
  });

  it('is whole without tiers, or with a single snapshot', () => {
    expect(gapsOf({ tiers: [], gaps: [] })).toEqual([]);
    expect(gapsOf({ tiers: [tier('raw', 5, 5, null)], gaps: [] })).toEqual([]);
  });

  it('has a gap between two times if it overlaps them', () => {
    const gaps = [{ from: 10, to: 20, intervalS: 1 }];
    const found = ([from, to]: [number, number]) => gapBetween(gaps, from, to) !== undefined;
    expect(
      [
        [0, 10],
        [20, 30],
        [10, 20],
        [0, 11],
        [12, 15],
      ].map((one) => found(one as [number, number])),
    ).toEqual([false, false, true, true, true]);
  });
});
