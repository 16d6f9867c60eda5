/** The axis of values of Compare's lines. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rangeOf, ticksBetween } from '../../explorer/compare/value-axis.js';

it('a logarithmic axis has round ticks with room between them', () => {
  const amount = fc.double({ min: 0, max: 9, noNaN: true }).map((power) => 10 ** power);
  const ratio = fc.double({ min: 0.01, max: 8, noNaN: true }).map((power) => 10 ** power);
  const minGap = fc.double({ min: 0.04, max: 0.13, noNaN: true });
  fc.assert(
    fc.property(amount, ratio, minGap, (least, factor, gap) => {
      const [low, high] = rangeOf('log', least, least * factor);
      expect(low).toBeLessThan(least);
      expect(high).toBeGreaterThan(least * factor);
      const ticks = ticksBetween(low, high, gap);
      expect(ticks.length).toBeGreaterThan(1);
      for (const [i, value] of ticks.entries()) {
        expect(value).toBeGreaterThanOrEqual(low * (1 - 1e-9));
        expect(value).toBeLessThanOrEqual(high * (1 + 1e-9));
        // As short as the labels of amounts, which have three digits.
        expect(Math.abs(value / Number(value.toPrecision(3)) - 1)).toBeLessThan(1e-9);
        const before = ticks[i - 1] ?? 0;
        expect(Math.log(value / before) / Math.log(high / low)).toBeGreaterThan(gap * (1 - 1e-6));
      }
    }),
  );
  expect(ticksBetween(1.5e6, 60e6, 0.08)).toEqual([2e6, 5e6, 10e6, 20e6, 50e6]);
  expect(ticksBetween(15e3, 60e6, 0.12)).toEqual([30e3, 100e3, 300e3, 1e6, 3e6, 10e6, 30e6]);
});

it('an axis spans its values: from zero, around them, or by their ratio', () => {
  expect(rangeOf('from zero', 50, 100)).toEqual([0, 105]);
  expect(rangeOf('fitted', -1, 1)).toEqual([-1.1, 1.1]);
  expect(rangeOf('fitted', 2, 2)).toEqual([1, 3]);
  expect(rangeOf('from zero', 0, 0)).toEqual([0, 1]);
  expect(rangeOf('log', 1, 1e4)).toEqual([1 / 10 ** 0.2, 1e4 * 10 ** 0.2]);
  // A steady depth is a line in the middle, not noise.
  const [low, high] = rangeOf('log', 100, 100);
  expect([high / low, (low * high) / 1e4].map((one) => one.toFixed(6))).toEqual([
    '2.000000',
    '1.000000',
  ]);
  for (const axis of ['from zero', 'fitted', 'log'] as const)
    expect(rangeOf(axis, null, null)[0]).toBeLessThan(rangeOf(axis, null, null)[1]);
});
