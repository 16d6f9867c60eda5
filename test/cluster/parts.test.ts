import { headers } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/random.js';
import { headersOf, partsOf } from '../../storage/log/parts.js';

const HEADER = 'Fathom-Parts';
const ofText = (text: string) => {
  const made = headers();
  made.set(HEADER, text);
  return partsOf(made);
};

describe('The positions of a bundle’s parts', () => {
  it('are written as runs', () => {
    const positions = [7, 8, 9, 12, 13, 11, 14];
    const made = headersOf({ upload: 'a-1', positions });
    expect(made.get(HEADER)).toBe('a-1 7+3 2+2 -3+1 2+1');
    expect(partsOf(made)).toEqual({ upload: 'a-1', positions });
  });

  it('come back whatever they are, and fit in the headers of JetStream', () => {
    const random = seededRandom(7);
    const upTo = (end: number): number => Math.floor(random() * end);
    for (let round = 0; round < 200; round++) {
      let next = 1 + upTo(1e9);
      const positions = Array.from({ length: 1 + upTo(200) }, () => {
        if (upTo(3) === 0) next += upTo(5000);
        return next++;
      });
      // Some were sent again.
      if (upTo(4) === 0) positions[upTo(positions.length)] = next;
      const made = headersOf({ upload: 'x', positions });
      expect(partsOf(made)).toEqual({ upload: 'x', positions });
    }
    // The largest bundle, with hundreds of entries of others between each two parts.
    const positions = Array.from({ length: 8192 }, (_, i) => 1e9 + i * 1000);
    const made = headersOf({ upload: crypto.randomUUID(), positions });
    expect(made.get(HEADER).length).toBeLessThan(60_000);
    expect(partsOf(made)?.positions).toEqual(positions);
  });

  it('are none in a header that no version writes', () => {
    expect(partsOf(headers())).toBeNull();
    for (const text of ['', 'x', 'x ', 'x 1', 'x 1+', 'x 0+2', 'x 5+1 -9+1', 'x y+1']) {
      expect(ofText(text), text).toBeNull();
    }
    expect(ofText('x 1+99999999999')?.positions).toHaveLength(8192);
  });
});
