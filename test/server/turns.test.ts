import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sortInTurns, Turns } from '../../storage/turns.js';
import { countingTurns } from '../support/waiting.js';

interface Item {
  key: number;
  at: number;
}
const byKey = (a: Item, b: Item): number => a.key - b.key;

it('sorts as Array does, stably, whatever the length', async () => {
  const lengths = fc.oneof(fc.nat(3), fc.nat(6000), fc.constantFrom(1023, 1024, 1025, 3072));
  await fc.assert(
    fc.asyncProperty(lengths, fc.nat(), fc.integer({ min: 1, max: 500 }), async (n, seed, keys) => {
      const items = Array.from({ length: n }, (_, at) => ({
        key: ((at + 1) * (2 * seed + 7919)) % keys,
        at,
      }));
      const before = [...items];
      expect(await sortInTurns(items, byKey, new Turns())).toEqual([...items].sort(byKey));
      expect(items).toEqual(before);
    }),
    { numRuns: 60 },
  );
});

it('lets other work run', async () => {
  const items = Array.from({ length: 200_000 }, (_, at) => ({ key: (at * 7919) % 104_729, at }));
  const turns = await countingTurns(() => sortInTurns(items, byKey, new Turns()));
  expect(turns).toBeGreaterThan(5);
});

it('runs one piece of work at a time, however many there are', async () => {
  const perLook: number[] = [];
  let begun = 0;
  let working = 20;
  const look = (): void => {
    perLook.push(begun);
    begun = 0;
    if (working > 0) setImmediate(look);
  };
  const work = async (): Promise<void> => {
    const turns = new Turns();
    for (let turn = 0; turn < 3; turn++) {
      const untilMs = performance.now() + 2;
      while (performance.now() < untilMs);
      await turns.take();
      begun++;
    }
    working--;
  };
  const all = Array.from({ length: working }, work);
  setImmediate(look);
  await Promise.all(all);
  expect(perLook.reduce((sum, count) => sum + count, 0) + begun).toBe(60);
  expect(Math.max(...perLook)).toBe(1);
});

/** Waits for a message: what follows runs while the event loop handles the results of a poll. */
async function handlingPoll(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(null);
  await once(port2, 'message');
  port1.close();
}

it('lets the event loop poll between two turns', async () => {
  await handlingPoll();
  const turns = new Turns();
  const { port1, port2 } = new MessageChannel();
  let polls = 0;
  port2.on('message', () => polls++);
  port1.postMessage(null);
  const beganMs = performance.now();
  while (performance.now() < beganMs + 5);
  expect(polls).toBe(0);
  await turns.take();
  expect(polls).toBe(1);
  port1.close();
});
