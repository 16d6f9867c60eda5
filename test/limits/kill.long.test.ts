import { afterAll, describe, expect, it } from 'vitest';
import { cleanUp, serve, temporaryDirectory, withStoreOf, type Server } from '../support/cli.js';

const TARGET = '/replay/So11111111111111111111111111111111111111112';
const directory = temporaryDirectory();

afterAll(cleanUp);

describe('a server that is killed', () => {
  it('has lost at most the last second of its counts, and made none up', async () => {
    const { key } = await withStoreOf(directory, (store) =>
      store.createKey({
        tier: 'premium',
        name: null,
        requestsPerMinute: Infinity,
        monthlyQuota: null,
      }),
    );
    /** Calls so many times, and says what the last reply counts. */
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
    const start = () => serve(directory, ['--port', '0', '--threads', '1']);
    let counted = 0;
    let server = await start();
    for (let round = 0; round < 3; round++) {
      const first = await call(server, 20);
      expect(first).toBeGreaterThanOrEqual(counted + 20);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      // These are less than a second old when the server dies.
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
});
