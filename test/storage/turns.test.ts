import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { Turns } from '../../storage/turns.js';

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
