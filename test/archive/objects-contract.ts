/** What objects do anywhere: in a folder, a bucket of the tests' server, or of a foreign one. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ObjectFaultError, type Objects } from '../../storage/archive/objects.js';

export const KEY = 'segments/mainchain/So11/raw/2026-11-20-abc';
export const sha256Of = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

/** @param open objects without any, or those of the test before */
export function describeObjects(place: string, open: () => Promise<Objects>): void {
  describe(`Objects in ${place}`, () => {
    it('are read by ranges as they were written, and are gone once removed', async () => {
      const objects = await open();
      await fc.assert(
        fc.asyncProperty(
          fc.uint8Array({ minLength: 1, maxLength: 5000 }),
          fc.nat(),
          fc.nat(),
          async (bytes, from, more) => {
            await objects.put(KEY, bytes, sha256Of(bytes));
            const at = from % bytes.length;
            const length = 1 + (more % (bytes.length - at));
            const read = await objects.read(KEY, at, length);
            expect(Buffer.compare(read, bytes.subarray(at, at + length))).toBe(0);
            // Callers may transfer its memory.
            expect(read.buffer.byteLength).toBe(length);
            await expect(objects.read(KEY, at, bytes.length + 1)).rejects.toThrow(ObjectFaultError);
            await expect(objects.read(KEY, bytes.length, 1)).rejects.toThrow(ObjectFaultError);
          },
        ),
        { numRuns: 20 },
      );
      expect(await objects.writtenS(KEY)).toBeGreaterThan(1_700_000_000);
      await objects.remove(KEY);
      await objects.remove(KEY);
      expect(await objects.writtenS(KEY)).toBeNull();
      await expect(objects.read(KEY, 0, 1)).rejects.toThrow(ObjectFaultError);
    });

    it('are listed once each, with their time, from any of them on', async () => {
      const objects = await open();
      expect(await objects.list('segments/', null)).toEqual([]);
      const bytes = Uint8Array.of(1);
      const keys = ['a/raw/1', 'a/raw/2', 'a-b/raw/1', 'a/1h/1 +&ü', 'b/raw/1'].map(
        (key) => `segments/${key}`,
      );
      for (const key of [...keys, 'owner', 'segment', 'segmentsx/1'])
        await objects.put(key, bytes, sha256Of(bytes));
      const listed: string[] = [];
      for (let after: string | null = null; ;) {
        const page = await objects.list('segments/', after);
        for (const { writtenS } of page) expect(writtenS).toBeGreaterThan(1_700_000_000);
        if (page.length === 0) break;
        listed.push(...page.map(({ key }) => key));
        after = listed.at(-1)!;
      }
      expect(listed.toSorted()).toEqual(keys.toSorted());
      const [, second] = listed;
      expect((await objects.list('segments/', second))[0].key).toBe(listed[2]);
      for (const key of listed) await objects.remove(key);
      expect(await objects.list('segments/', null)).toEqual([]);
    });
  });
}
