import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstFrom, firstIndex } from '../../compute/search.js';

const sorted = fc
  .array(fc.integer({ min: 0, max: 30 }), { maxLength: 40 })
  .map((values) => values.sort((a, b) => a - b));
/** Around the values, and between two of them. */
const wanted = fc.integer({ min: -2, max: 64 }).map((half) => half / 2);
/** The first index of `[from, to)` that passes; `to` if none does. */
function plain(from: number, to: number, passes: (index: number) => boolean): number {
  for (let i = from; i < to; i++) if (passes(i)) return i;
  return to;
}

describe('a search', () => {
  it('finds the same as a linear search, within its bounds', () => {
    fc.assert(
      fc.property(sorted, wanted, fc.nat(40), fc.nat(40), (values, least, a, b) => {
        const [from, to] = [a, b].map((end) => Math.min(end, values.length)).sort((x, y) => x - y);
        const found = plain(from, to, (i) => values[i] >= least);
        expect(firstIndex(from, to, (i) => values[i] >= least)).toBe(found);
        for (const list of [Uint32Array.from(values), Float64Array.from(values)]) {
          expect(firstFrom(list, least, from, to)).toBe(found);
        }
      }),
    );
  });

  it('covers all values by default, and none outside', () => {
    expect(firstFrom(Uint32Array.of(1, 2, 2, 5), 2)).toBe(1);
    expect(firstFrom(Uint32Array.of(1, 2, 2, 5), 6)).toBe(4);
    expect(firstFrom(new Uint32Array(0), 6)).toBe(0);
    const seen: number[] = [];
    firstIndex(3, 9, (i) => seen.push(i) < 0);
    expect(seen.every((i) => i >= 3 && i < 9)).toBe(true);
  });

  it('takes logarithmically many steps', () => {
    let looks = 0;
    firstIndex(0, 2 ** 31 - 2, (i) => {
      looks++;
      return i >= 1_234_567_890;
    });
    expect(looks).toBeLessThanOrEqual(31);
  });
});
