import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noNames, OwnerTable, pickNames } from '../../compute/holders/owners.js';
import { MAX_VALUE_BYTES } from '../../storage/duckdb/statements.js';
import { packNames, unpackNames } from '../../storage/holders/owner-names.js';
import { namesOf, textsOf } from '../support/holders.js';

const owners = fc.uniqueArray(
  fc.oneof(
    fc.string({ unit: fc.constantFrom(...'ab'), minLength: 1, maxLength: 9 }),
    fc.base64String({ minLength: 1, maxLength: 64 }),
  ),
  { maxLength: 60 },
);

function numbersOf(table: OwnerTable, texts: readonly string[]): number[] {
  const numbers = new Uint32Array(texts.length);
  table.number(namesOf(texts), 0, texts.length, numbers);
  return [...numbers];
}

describe('A table of owners', () => {
  it('numbers names in order of arrival, like a Map', () => {
    fc.assert(
      fc.property(fc.array(owners, { maxLength: 12 }), owners, (batches, first) => {
        const table = new OwnerTable(namesOf(first));
        const known = new Map(first.map((name, i) => [name, i]));
        for (const batch of batches) {
          const fresh = batch.filter((name) => !known.has(name));
          expect(table.countNew(namesOf(batch))).toBe(fresh.length);
          for (const name of fresh) known.set(name, known.size);
          expect(numbersOf(table, batch)).toEqual(batch.map((n) => known.get(n)));
        }
        expect(textsOf(table.names())).toEqual([...known.keys()]);
        expect(table.size).toBe(known.size);
      }),
    );
  });

  it('finds each of many names', () => {
    const many = Array.from({ length: 50_000 }, (_, i) => `owner${i}`);
    const table = new OwnerTable(noNames());
    const ids = numbersOf(table, many);
    expect(ids.every((id, i) => id === i)).toBe(true);
    expect(table.countNew(namesOf(many))).toBe(0);
    const again = new OwnerTable(table.names());
    expect(numbersOf(again, [many[49_999], many[7]])).toEqual([49_999, 7]);
  });

  it('gives some of its names different numbers', () => {
    const names = namesOf(['a', 'bcd', 'ef', 'g']);
    expect(textsOf(pickNames(names, [1, 3]))).toEqual(['bcd', 'g']);
    expect(textsOf(pickNames(names, []))).toEqual([]);
  });
});

describe('Stored names of owners', () => {
  const many = Array.from({ length: 5000 }, (_, i) => `${'x'.repeat(i % 60)}${i}`);

  it('are restored from chunks that each fit a value, from any owner on', () => {
    for (const from of [0, 1, 4999, 5000]) {
      const chunks = packNames(namesOf(many), from);
      for (const { data } of chunks) expect(data.length).toBeLessThanOrEqual(MAX_VALUE_BYTES);
      expect(chunks.length).toBeLessThanOrEqual(5);
      if (from === 0) expect(textsOf(unpackNames([...chunks].reverse()))).toEqual(many);
      else if (from < 5000) expect(chunks[0].firstOwner).toBe(from);
    }
    expect(textsOf(unpackNames([]))).toEqual([]);
  });

  it('are refused if a chunk is damaged or missing', () => {
    const chunks = packNames(namesOf(many), 0);
    expect(() => unpackNames(chunks.slice(1))).toThrow(/missing/);
    expect(() => unpackNames([chunks[0], chunks[2]])).toThrow(/missing/);
    const data = chunks[0].data.slice();
    data[100] ^= 1;
    expect(() => unpackNames([{ ...chunks[0], data }, ...chunks.slice(1)])).toThrow(/checksum/);
  });
});
