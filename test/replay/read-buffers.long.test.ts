/** Buffers that pages use one after another are large enough, and keep a bounded memory. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ReadBuffers } from '../../server/replay/read-buffers.js';

it('have room for every file, a separate one for each file of a page, and keep at most 2 MiB', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 3_000_000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(sizes, { maxLength: 10 }), (pages) => {
      const buffers = new ReadBuffers();
      const given = new Set<ArrayBuffer>();
      for (const files of pages) {
        const page = files.map((bytes, index) => buffers.at(index, bytes));
        expect(page.every(({ byteLength }, index) => byteLength >= files[index])).toBe(true);
        expect(new Set(page).size).toBe(page.length);
        for (const buffer of page) given.add(buffer);
      }
      const again = Array.from({ length: 20 }, (_, index) => buffers.at(index, 1));
      const kept = again.filter((buffer) => given.has(buffer));
      const bytes = kept.reduce((sum, { byteLength }) => sum + byteLength, 0);
      expect(bytes).toBeLessThanOrEqual(2 ** 21);
    }),
  );
});

it('are used again by files of similar size', () => {
  const buffers = new ReadBuffers();
  const first = buffers.at(0, 70_000);
  expect(buffers.at(0, 100_000)).toBe(first);
  expect(buffers.at(0, 1)).toBe(first);
  expect(buffers.at(1, 70_000)).not.toBe(first);
});
