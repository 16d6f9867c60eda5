import fc from 'fast-check';
import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { KeptReplies, replyMemory } from '../../server/api/replies.js';
import {
  defaultThreads,
  divideMemory,
  leastMemoryMib,
  PROCESS_MIB,
  type ShareName,
  SHARES,
  THREAD_MIB,
} from '../../server/memory.js';
import { settingsOf } from '../support/settings.js';

const MIB = 2 ** 20;
const NAMES = Object.keys(SHARES) as ShareName[];

describe('the memory of the process', () => {
  it('is divided completely, each share with its minimum or more', () => {
    const memory = fc.record({
      threads: fc.integer({ min: 1, max: 64 }),
      moreMib: fc.nat(20_000),
      fragments: fc.option(fc.nat(1000), { nil: undefined }),
      columns: fc.option(fc.nat(1000), { nil: undefined }),
    });
    fc.assert(
      fc.property(memory, ({ threads, moreMib, fragments, columns }) => {
        const given = {
          ...(fragments === undefined ? {} : { fragments: fragments * MIB }),
          ...(columns === undefined ? {} : { columns: columns * MIB }),
        };
        const totalMib = leastMemoryMib(threads, given) + moreMib;
        const shares = divideMemory(totalMib, threads, given);
        expect(shares).toMatchObject(given);
        for (const name of NAMES) {
          if (name in given) continue;
          expect(shares[name]).toBeGreaterThanOrEqual(SHARES[name].leastMib * MIB);
        }
        const sum = NAMES.reduce((bytes, name) => bytes + shares[name], 0);
        const all = PROCESS_MIB * MIB + threads * THREAD_MIB * MIB + sum;
        expect(all).toBeLessThanOrEqual(totalMib * MIB);
        expect(all).toBeGreaterThan(totalMib * MIB - NAMES.length);
      }),
    );
  });

  it('has threads for half of what the caches could have, and at least one', () => {
    expect(defaultThreads(leastMemoryMib(1))).toBe(1);
    const forTwo = leastMemoryMib(0) + 4 * THREAD_MIB;
    expect(defaultThreads(forTwo)).toBe(Math.min(2, availableParallelism()));
    expect(defaultThreads(2 ** 20)).toBe(availableParallelism());
  });

  it('is what the settings say; too little is refused with the amount needed', () => {
    const least = leastMemoryMib(1);
    expect(settingsOf(['--memory-mib', String(least)])).toMatchObject({
      threads: 1,
      memory: divideMemory(least, 1),
    });
    expect(settingsOf(['--threads', '3']).memory).toEqual(divideMemory(2048, 3));
    expect(() => settingsOf(['--memory-mib', String(least - 1)])).toThrow(
      `--memory-mib: expected at least ${least} for 1 worker threads, not ${least - 1}`,
    );
    const words = ['--threads', '1', '--fragments-memory-mib', '3000'];
    expect(() => settingsOf(words)).toThrow(
      /^--memory-mib: expected at least 3504 for 1 worker threads and these shares, not 2048$/,
    );
  });
});

it('kept replies of all endpoints share one budget', () => {
  const memory = replyMemory(1000);
  const bytesOf = (text: string) => text.length;
  const a = new KeptReplies<string>(memory, 'a', bytesOf);
  const b = new KeptReplies<string>(memory, 'b', bytesOf);
  a.put('key', 'x'.repeat(600));
  b.put('key', 'y'.repeat(300));
  expect([a.find('key')?.document[0], b.find('key')?.document[0]]).toEqual(['x', 'y']);
  b.put('other', 'z'.repeat(500));
  expect([a.find('key'), b.find('key')?.document[0]]).toEqual([null, 'y']);
  b.put('key', 'w'.repeat(1001));
  expect(b.find('key')).toBeNull();
});
