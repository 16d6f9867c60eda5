import { expect, it } from 'vitest';
import { asIfKilled, serve, withStoreOf, type Server } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { becomes } from '../support/waiting.js';

const TARGET = '/replay/So11111111111111111111111111111111111111112';
const directory = temporaryDirectory();

it('a server that is killed loses at most the last second of its counts, and invents none', async () => {
  const { id, key } = await withStoreOf(directory, (store) =>
    store.createKey({ tier: 'premium', requestsPerMinute: Infinity }),
  );
  /** Makes this many calls. @returns the count in the last reply */
  const call = async (server: Server, times: number): Promise<number> => {
    const used: number[] = [];
    for (let i = 0; i < times; i++) {
      const response = await server.get(TARGET, key);
      expect(response.status).toBe(200);
      await response.arrayBuffer();
      used.push(Number(response.headers.get('x-quota-used')));
    }
    return Math.max(...used);
  };
  /** Calls that would remain if the server were killed now; -1 if its files changed while they were copied. */
  const storedCalls = async (): Promise<number> => {
    try {
      return await callsIn(asIfKilled(directory));
    } catch {
      return -1;
    }
  };
  const callsIn = (copy: string) =>
    withStoreOf(copy, (store) => {
      const now = new Date();
      const month = now.getUTCFullYear() * 100 + now.getUTCMonth() + 1;
      return Promise.resolve(store.usage.month(id, month).calls);
    });
  const start = () => serve(directory, ['--port', '0', '--threads', '1']);
  let counted = 0;
  let server = await start();
  for (let round = 0; round < 3; round++) {
    const first = await call(server, 20);
    expect(first).toBeGreaterThanOrEqual(counted + 20);
    // Calls older than a second have been written; later ones may be, when the server dies.
    await becomes(async () => (await storedCalls()) >= first, true);
    const last = await call(server, 10);
    expect(last).toBe(first + 10);
    await server.stop('SIGKILL');
    server = await start();
    counted = await call(server, 1);
    const found = counted - 1;
    expect(found).toBeGreaterThanOrEqual(first);
    expect(found).toBeLessThanOrEqual(last);
  }
});
