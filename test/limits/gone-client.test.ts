import { expect, it } from 'vitest';
import { Limiter } from '../../server/limits/limiter.js';
import type { CallCounter } from '../../storage/contract.js';
import { parsePlans } from '../../server/limits/plans.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MemoryUsage } from '../support/memory-sources.js';
import { RawClient, requestText } from '../support/raw-client.js';
import { KEY, MINT, heldService, steadyStore } from '../support/service.js';
import { eventually } from '../support/waiting.js';

const depth = new MemoryDepth();
const charged: number[] = [];

depth.add('mainchain', MINT, steadyStore(10, 2));
class ObservedUsage extends MemoryUsage {
  override counter(...args: [string, number, string]): CallCounter {
    const counter = super.counter(...args);
    return {
      add(calls) {
        charged.push(calls);
        counter.add(calls);
      },
    };
  }
}
const plans = parsePlans(
  '{"premium":{"monthly_quota":2,"rates":{"general":{"requests":"unlimited"}}}}',
  'plans',
);
const limiter = new Limiter({ usage: new ObservedUsage(), plans });
// Room for the one that arrives while both are being read.
const service = await heldService({ depth, limiter, pageLimits: { inWork: 3 } });

const get = () => service.get(`/replay/${MINT}`);

it('a client that disconnects before its reply returns the quota reserved for its call', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  depth.beforeRead = () => gate;
  const clients = await Promise.all([0, 1].map(() => RawClient.connect(service.server.port)));
  for (const client of clients) {
    client.send(requestText(`GET /api/v1/replay/${MINT}`, { 'x-api-key': KEY }));
  }
  await eventually('both are in work', () => depth.reads.length === 2);
  const third = await get();
  expect(depth.reads.length).toBe(2);
  expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1']);
  clients[0].socket.destroy();
  // Its place is free as soon as the server notices that it disconnected; the other keeps its place.
  const admitted = eventually('its place is free', () => depth.reads.length === 3);
  let fourth = get();
  while (!(await Promise.race([admitted.then(() => true), fourth.then(() => false)]))) {
    fourth = get();
  }
  depth.beforeRead = async () => {};
  open();
  expect((await fourth).status).toBe(200);
  await clients[1].until('200 OK');
  expect(charged).toEqual([1, 1]);
  expect((await get()).status).toBe(429);
});
