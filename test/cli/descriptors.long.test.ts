/** A server that cannot open more files. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { expect, it } from 'vitest';
import WebSocket from 'ws';
import { WAL_FILE } from '../../storage/data-directory.js';
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

it.runIf(process.platform === 'linux').each(ENGINES)(
  'a server without any descriptor, by engine %s, stores and serves on, and recovers',
  async (engine) => {
    const directory = temporaryDirectory();
    const key = await newKey(directory);
    const server = await serve(directory, [
      '--port',
      '0',
      '--threads',
      '1',
      '--http-engine',
      engine,
    ]);
    const limit = (most: string) => {
      const { status } = spawnSync('prlimit', ['--pid', String(server.pid), `--nofile=${most}:`]);
      expect(status).toBe(0);
    };
    const client = await RawClient.connect(server.port);
    let asked = 0;
    const ask = async () => {
      const begin = client.receivedBytes;
      client.send(requestText(`GET /api/v1/score/${mint(asked++)}`, { 'x-api-key': key }));
      await eventually('an answer', () => client.receivedBytes > begin || client.socket.closed);
      expect(client.socket.closed).toBe(false);
    };
    const log = path.join(directory, WAL_FILE);
    const logBytes = () => statSync(log, { throwIfNoEntry: false })?.size ?? 0;
    await eventually('something is stored', async () => {
      await ask();
      return logBytes() > 0;
    });
    // All below are in use.
    limit('3');
    for (let writes = 0; writes < 3; writes++) {
      const before = logBytes();
      await eventually('more is stored', async () => {
        await ask();
        return logBytes() > before;
      });
    }
    limit('1024');
    await eventually('a further connection is served', async () => {
      const other = await RawClient.connect(server.port);
      other.send(requestText('GET /api/v1/top-scores', { 'x-api-key': key }));
      return other.until('"count"').then(
        () => true,
        () => false,
      );
    });
    const keys = await fathomProcess(['keys', 'list', '--data', directory]);
    expect([keys.status, keys.stderr]).toEqual([0, '']);
    expect(server.logged()).not.toContain('"level":"error"');
    expect(await server.stop()).toEqual({ status: 0, signal: null });
  },
);

it.runIf(process.platform === 'linux').each(ENGINES)(
  'a server, by engine %s, keeps descriptors for other things while clients keep WebSockets that have ended',
  async (engine) => {
    const directory = temporaryDirectory();
    const key = await newKey(directory);
    const words = ['--port', '0', '--threads', '1', '--http-engine', engine];
    const server = await serve(directory, words, { descriptors: 400 });
    const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
    // The server ends each at once, because it does not know the subprotocol.
    const handshake = requestText('GET /api/v1/stream', {
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Protocol': 'unknown',
    });
    const halfOpen = () => {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined);
      socket.write(handshake);
      return new Promise<typeof socket>((resolve) => {
        for (const event of ['data', 'end', 'close']) socket.once(event, () => resolve(socket));
      });
    };
    const kept = [];
    for (let i = 0; i < 600; i += 20) {
      kept.push(...(await Promise.all(Array.from({ length: 20 }, halfOpen))));
      // Half of those that were free at the start are kept, and other things may take some of them.
      expect(descriptors()).toBeLessThan(300);
    }
    const keys = await fathomProcess(['keys', 'list', '--data', directory]);
    expect([keys.status, keys.stderr]).toEqual([0, '']);
    for (const socket of kept) socket.destroy();
    await eventually('a further connection is served', async () => {
      const client = await RawClient.connect(server.port);
      client.send(requestText('GET /api/v1/top-scores', { 'x-api-key': key }));
      return client.until('"count"').then(
        () => true,
        () => false,
      );
    });
    expect(server.logged()).not.toContain('"level":"error"');
    expect(await server.stop()).toEqual({ status: 0, signal: null });
  },
);

/** An address that could be a mint, which the store does not know. */
const mint = (n: number): string => {
  const digits = [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  return `So${digits.padStart(41, '1')}2`.slice(0, 44);
};

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
