/** A server that cannot open more files. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import WebSocket from 'ws';
import { fathomProcess, newKey, serve, type Server } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { RawClient, requestText } from '../support/raw-client.js';
import { eventually } from '../support/waiting.js';
import { ENGINES } from '../support/engines.js';

const data = temporaryDirectory();

it.runIf(process.platform === 'linux').each(ENGINES)(
  'a server with few descriptors, by engine %s, serves who is connected, obeys commands, and recovers',
  async (engine) => {
    const key = await newKey(data);
    const words = ['--port', '0', '--threads', '1', '--http-engine', engine];
    // Loading its modules takes some hundred at once.
    const server = await serve(data, words, { descriptors: 400 });
    const ask = async (client: RawClient) => {
      client.send(requestText('GET /api/v1/top-scores', { 'x-api-key': key }));
      await client.until('"count"');
      client.socket.destroy();
    };
    // More than are accepted at once: each makes room for another.
    for (let i = 0; i < 400; i += 20) {
      await Promise.all(Array.from({ length: 20 }, () => connectAndClose(server.port, key)));
    }
    const first = await RawClient.connect(server.port);
    const crowd = await Promise.all(
      Array.from({ length: 400 }, () => RawClient.connect(server.port)),
    );
    await eventually('some are refused', () => crowd.some(({ socket }) => socket.closed));
    await ask(first);
    const keys = await fathomProcess(['keys', 'list', '--data', data]);
    expect([keys.status, keys.stderr]).toEqual([0, '']);
    // A server that cannot accept waiting connections would spin.
    const before = cpuMsOf(server);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(cpuMsOf(server) - before).toBeLessThan(400);
    for (const { socket } of crowd) socket.destroy();
    await eventually('it accepts again', () => server.logged().includes('accepted again'));
    await ask(await RawClient.connect(server.port));
    expect(server.logged().split('out of descriptors')).toHaveLength(2);
    expect(server.logged()).not.toContain('"level":"error"');
    expect(await server.stop()).toEqual({ status: 0, signal: null });
  },
);

/** Opens a live connection, and closes it. @throws Error if it is refused */
async function connectAndClose(port: number, key: string): Promise<void> {
  const headers = { 'x-api-key': key };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/stream`, { headers });
  await once(socket, 'open');
  socket.close();
  await once(socket, 'close');
}

/** Processor time that a server has used. */
function cpuMsOf({ pid }: Server): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
