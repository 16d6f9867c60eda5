import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isAscending } from '../../compute/segment/verify.js';

it('times ascend if each is greater than the one before: a check accepts none twice', () => {
  const times = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 6 });
  fc.assert(
    fc.property(times, (list) => {
      const wanted = [...new Set(list)].sort((a, b) => a - b).join();
      expect(isAscending(Uint32Array.from(list))).toBe(list.join() === wanted);
    }),
    { examples: [[[3, 3]], [[1, 2, 2, 3]], [[]], [[1, 2, 3]]] },
  );
});
