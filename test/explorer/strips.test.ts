/** The strips below the map without a browser: their layers, and what they state of a time. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Ladder } from '../../explorer/ladder/ladder.js';
import { largest, OTHERS, pointAt, pointsOf } from '../../explorer/strips/course.js';
import { niceAbove, scoreScale } from '../../explorer/strips/scales.js';
import { hueIndex, HUES, huesOf, OTHERS_HUE } from '../../explorer/strips/hues.js';
import { leastDifference } from '../support/colours.js';
import { layersIn, layersOf, linesAt, momentAt } from '../../explorer/strips/reading.js';

describe('the layers of a strip', () => {
  it('are the largest ones, and one for all others', () => {
    const layer = (key: string, usd: number) => ({
      key,
      label: key,
      supportUsd: [usd, 0],
      resistanceUsd: [1, usd],
    });
    const layers = largest(Array.from({ length: 9 }, (_, i) => layer(`v${i}`, i)));
    expect(layers.map(({ key }) => key)).toEqual(['v8', 'v7', 'v6', 'v5', 'v4', 'v3', 'others']);
    expect(layers[6]).toMatchObject({
      label: '3 others',
      supportUsd: [3, 0],
      resistanceUsd: [3, 3],
    });
    expect(largest([layer('a', 1)])).toEqual([layer('a', 1)]);
  });

  it('have at each time the last point before it, and none in a gap', () => {
    const points = pointsOf([100, 200, 610], 100, [{ from: 200, to: 610, intervalS: 100 }]);
    expect(
      [0, 99, 100, 199, 200, 299, 300, 609, 610, 709, 710].map((t) => pointAt(points, t)),
    ).toEqual([-1, -1, 0, 0, 1, 1, -1, -1, 2, 2, -1]);
  });

  it('hold until the next point, or for the usual interval if a gap of the history follows', () => {
    const gaps = [
      { from: 310, to: 900, intervalS: 100 },
      { from: 900, to: 940, intervalS: 20 },
    ];
    expect(pointsOf([100, 200, 310, 900, 1500], 60, gaps).ends).toEqual([200, 310, 410, 960, 1610]);
    // However far apart the points are, the history is whole between them.
    expect(pointsOf([100, 200, 310, 900], 60, []).ends).toEqual([200, 310, 900, 1010]);
    expect(pointsOf([100], 60, gaps).ends).toEqual([160]);
    expect(pointsOf([], 60, gaps).ends).toEqual([]);
  });

  it('have the amounts of a moment’s snapshot; layers not shown count as others', () => {
    const names = ['a', 'b', OTHERS];
    const layers = names.map((key) => ({ key, label: key, supportUsd: [], resistanceUsd: [] }));
    const course = { from: 0, to: 9, ...pointsOf([], 1), layers };
    const exact = new Map([
      ['b', 1],
      ['c', 2],
      ['d', 4],
    ]);
    expect(layersOf(course, 5, exact)).toEqual({ t: 5, usd: [0, 1, 6] });
  });

  it('use the moment’s own values unless it is later, or a later point is known', () => {
    const course = { from: 0, to: 400, ...pointsOf([100, 200], 100), layers: [] };
    const at = (ladderT: number, t: number) =>
      momentAt({ ladder: { t: ladderT } as Ladder, scored: null }, t, course)?.ladder.t ?? null;
    expect([at(150, 150), at(160, 150), at(150, 199), at(150, 200), at(200, 250)]).toEqual([
      150,
      null,
      150,
      null,
      200,
    ]);
  });
});

it('a strip has no values after its course ends, unless the course ends now', () => {
  const layers = [{ key: 'a', label: 'a', supportUsd: [1, 2], resistanceUsd: [0, 0] }];
  const course = { from: 0, to: 300, ...pointsOf([100, 200], 100), layers };
  const read = (t: number, endsNow: boolean) => layersIn(course, t, endsNow)?.usd[0] ?? null;
  expect([150, 250, 300, 301, 900].map((t) => read(t, false))).toEqual([1, 2, 2, null, null]);
  expect([99, 150, 301, 900].map((t) => read(t, true))).toEqual([null, 1, 2, 2]);
});

it('a score is that of the snapshot beside it, or has its own time', () => {
  const lines = {
    from: 0,
    to: 900,
    ...pointsOf([110, 300, 410], 300),
    layers: [],
    scores: [70, 80, null],
    scoreT: [300, 300, 600],
    supportUsd: [1, 2, 3],
    resistanceUsd: [0, 0, 0],
  };
  const none = { bins: [], supportUsd: [], resistanceUsd: [] };
  const ladder = { t: 350, ...none } as unknown as Ladder;
  const scored = { service_score: 90, service_last_run: new Date(350_000).toISOString() };
  const read = (t: number, own: typeof scored | null | undefined) => {
    const moment = own === undefined ? null : { ladder, scored: own };
    const { t: of, score, scoreT } = linesAt(lines, t, moment, false) ?? {};
    return [of, score, scoreT];
  };
  expect(read(120, undefined)).toEqual([110, 70, 300]);
  expect(read(310, undefined)).toEqual([300, 80, null]);
  expect(read(410, undefined)).toEqual([410, null, null]);
  // A moment between two points, such as one that is played, whose own score is not known yet.
  expect(read(350, null)).toEqual([350, 80, 300]);
  expect(read(350, scored)).toEqual([350, 90, null]);
  const later = { ...scored, service_last_run: new Date(390_000).toISOString() };
  expect(read(395, later)).toEqual([350, 90, 390]);
});

it.each([
  [1, 1],
  [30.3e6, 40e6],
  [50.5e6, 60e6],
  [112e6, 120e6],
  [170e6, 200e6],
  [999_000, 1e6],
  [0.0123, 0.015],
])('the scale of amounts up to %s ends at %s', (most, end) => {
  expect(niceAbove(most)).toBe(end);
});

it('the scale of scores has round ends and spans at least 10', () => {
  expect(scoreScale([71, 84])).toEqual({ low: 70, high: 85 });
  expect(scoreScale([98.2, 99.9])).toEqual({ low: 90, high: 100 });
  expect(scoreScale([0, 0])).toEqual({ low: 0, high: 10 });
});

describe('the colour of a layer', () => {
  it('depends on its name alone', () => {
    const [orca] = huesOf(['orca'], 'dark');
    expect(huesOf(['some-venue', 'orca'], 'dark')[1]).toEqual(orca);
    expect(hueIndex('some-venue')).toBe(hueIndex('some-venue'));
    const indexes = Array.from({ length: 400 }, (_, at) => hueIndex(`venue-${at}`));
    expect(new Set(indexes).size).toBe(HUES.dark.length);
  });

  it('has stripes if an earlier layer has it, so that no two look the same', () => {
    const index = hueIndex('orca');
    const [a, b] = Array.from({ length: 400 }, (_, at) => `venue-${at}`).filter(
      (key) => hueIndex(key) === index,
    );
    const hues = huesOf(['orca', a, 'okx', b], 'light');
    expect(hues.map(({ stripePx }) => stripePx)).toEqual([0, 3, 0, 6]);
    expect(new Set(hues.map(({ colour }) => colour)).size).toBe(2);
  });

  it.each(['dark', 'light'] as const)(
    'differs from all others, support and resistance for every colour vision on a %s page',
    (theme) => {
      const sides = { dark: ['#3ea8d8', '#ee8f3b'], light: ['#1478ad', '#d4660e'] };
      const css = readFileSync('explorer/styles/theme.css', 'utf8');
      for (const side of sides[theme]) expect(css).toContain(side);
      expect(HUES[theme]).toHaveLength(10);
      const all = [...HUES[theme], OTHERS_HUE[theme], ...sides[theme]];
      expect(leastDifference(all)).toBeGreaterThan(6);
    },
  );
});
