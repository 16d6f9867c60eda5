import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onStore } from '../../server/cli/runtime.js';

const MAIN = path.resolve('dist/server/cli/main.js');
const TARGET = '/api/v1/replay/So11111111111111111111111111111111111111112';

let directory: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'fathom-kill-'));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(directory, { recursive: true });
});

/** Starts `fathom serve` and waits for its URL. */
async function serve(): Promise<{ url: string; kill: () => Promise<void> }> {
  const words = [MAIN, 'serve', '--data', directory, '--port', '0', '--threads', '1'];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', (bytes) => {
      said += String(bytes);
      const found = /url=(\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => reject(new Error(`serve ended: ${said}`)));
  });
  const kill = (): Promise<void> => {
    child.kill('SIGKILL');
    return gone;
  };
  return { url, kill };
}

describe('a server that is killed', () => {
  it('has lost at most the last second of its counts, and made none up', async () => {
    const { key } = await onStore(directory, (store) =>
      store.createKey({
        tier: 'premium',
        name: null,
        requestsPerMinute: Infinity,
        monthlyQuota: null,
      }),
    );
    /** Calls so many times, and says what the last reply counts. */
    const call = async (url: string, times: number): Promise<number> => {
      const used: number[] = [];
      for (let i = 0; i < times; i++) {
        const response = await fetch(url + TARGET, { headers: { 'x-api-key': key } });
        expect(response.status).toBe(200);
        await response.arrayBuffer();
        used.push(Number(response.headers.get('x-quota-used')));
      }
      return Math.max(...used);
    };
    let counted = 0;
    for (let round = 0; round < 3; round++) {
      const server = await serve();
      const first = await call(server.url, 20);
      expect(first).toBeGreaterThanOrEqual(counted + 20);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      // These are less than a second old when the server dies.
      const last = await call(server.url, 10);
      expect(last).toBe(first + 10);
      await server.kill();
      const after = await serve();
      const found = (await call(after.url, 1)) - 1;
      expect(found).toBeGreaterThanOrEqual(first);
      expect(found).toBeLessThanOrEqual(last);
      counted = found;
      await after.kill();
    }
  });
});
