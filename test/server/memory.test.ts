import fc from 'fast-check';
import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { EncodedDocument } from '../../compute/documents.js';
import {
  Reply,
  jsonOf,
  replyDocument,
  type ReplyMemory,
  replyMemory,
  smallForms,
} from '../../server/api/replies.js';
import type { Exchange } from '../../server/http/exchange.js';
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
      blocks: fc.option(fc.nat(1000), { nil: undefined }),
    });
    fc.assert(
      fc.property(memory, ({ threads, moreMib, fragments, blocks }) => {
        const given = {
          ...(fragments === undefined ? {} : { fragments: fragments * MIB }),
          ...(blocks === undefined ? {} : { blocks: blocks * MIB }),
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

describe('cached replies', () => {
  /** Answers with a document of so many bytes; says whether it had to be made. */
  const isMade = async (memory: ReplyMemory, key: string, bytes = 1000): Promise<boolean> => {
    let made = false;
    const reply = Reply.cached(memory, key, () => {
      made = true;
      return 'x'.repeat(bytes - 2);
    });
    expect(await jsonOf(reply)).toHaveLength(bytes);
    return made;
  };

  it('of all endpoints share one budget', async () => {
    const memory = replyMemory(4000);
    expect(await isMade(memory, 'a key')).toBe(true);
    expect(await isMade(memory, 'b key')).toBe(true);
    expect([await isMade(memory, 'a key'), await isMade(memory, 'b key')]).toEqual([false, false]);
    expect(await isMade(memory, 'b other', 1500)).toBe(true);
    expect([await isMade(memory, 'b key'), await isMade(memory, 'a key')]).toEqual([false, true]);
    expect(memory.calculatedSize).toBeLessThanOrEqual(4000);
  });

  it('count all the memory that their bodies keep', async () => {
    const memory = replyMemory(1_000_000);
    const forms = smallForms(null)['application/json'];
    const exchange = { reply: () => undefined } as unknown as Exchange;
    const document = Array.from({ length: 5000 }, (_, i) => i % 7);
    for (let i = 0; i < 10; i++) {
      await isMade(memory, `small ${i}`, 100 + i);
      const reply = Reply.cached(memory, `large ${i}`, () => [...document, i]);
      await replyDocument(exchange, reply, forms.gzip);
    }
    const kept = [...memory.values()].reduce(
      (sum: number, one) => sum + (one as EncodedDocument).body.buffer.byteLength,
      0,
    );
    expect(memory.size).toBe(20);
    expect(kept).toBeLessThanOrEqual(memory.calculatedSize);
  });

  it('are not kept if one alone exceeds the budget', async () => {
    const memory = replyMemory(4000);
    expect(await isMade(memory, 'key', 5000)).toBe(true);
    expect(await isMade(memory, 'key', 5000)).toBe(true);
    expect(memory.calculatedSize).toBe(0);
  });

  it('are made once for requests that arrive at the same time, and again after a failure', async () => {
    const memory = replyMemory(4000);
    let calls = 0;
    const reply = Reply.cached(memory, 'key', () => {
      calls++;
      return calls === 1 ? Promise.reject(new Error('not yet')) : Promise.resolve({ calls });
    });
    const ask = () => jsonOf(reply).catch((error: unknown) => (error as Error).message);
    expect(await Promise.all([ask(), ask()])).toEqual(['not yet', 'not yet']);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual(Array(3).fill('{"calls":2}'));
    expect(calls).toBe(2);
  });
});
