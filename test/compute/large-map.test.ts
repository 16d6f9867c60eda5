import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base58Address } from '../../demo/hash.js';
import { tokenKey } from '../../storage/depth/catalog.js';
import { LargeMap } from '../../compute/large-map.js';

describe('A large map', () => {
  it('behaves like a Map in any sequence of operations', () => {
    const key = fc.constantFrom('', 'a', 'mainchain:a', 'b', 'evm:0xab', 'evm:0xba', '€', 0, 1, 64);
    const change = fc.record({ key, value: fc.option(fc.integer()) });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const large = new LargeMap<string | number, number>();
        const map = new Map<string | number, number>();
        for (const { key, value } of changes) {
          for (const one of [large, map]) {
            if (value === null) one.delete(key);
            else one.set(key, value);
          }
        }
        expect(large.size).toBe(map.size);
        expect(new Map(large)).toEqual(map);
        expect([...large.values()].sort()).toEqual([...map.values()].sort());
        for (const { key } of changes) {
          expect([large.has(key), large.get(key)]).toEqual([map.has(key), map.get(key)]);
        }
      }),
    );
  });

  it('spreads tokens, so that none of its Maps grows large', () => {
    const count = 64_000;
    const ids = new LargeMap<number, true>();
    const bare = new LargeMap<string, true>();
    const hex = new LargeMap<string, true>();
    for (let i = 0; i < count; i++) {
      const address = base58Address(`token ${i}`);
      ids.set(i, true);
      bare.set(tokenKey('mainchain', address), true);
      hex.set(`0x${Buffer.from(address).toString('hex').slice(-40)}`, true);
    }
    for (const map of [ids, bare, hex]) {
      const { shards } = map as unknown as { shards: Map<unknown, true>[] };
      expect(map.size).toBe(count);
      expect(Math.max(...shards.map(({ size }) => size))).toBeLessThan((3 * count) / 64);
    }
    // Ids come in order: a Map grows when the previous one is full, not at the same time.
    const { shards } = ids as unknown as { shards: Map<unknown, true>[] };
    expect(new Set(shards.map(({ size }) => size)).size).toBeGreaterThan(1);
  });
});
