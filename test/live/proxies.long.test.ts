/** Live through docs/deploy's proxies, if they are installed. */
import https from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey, type Service, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { ingestCells, LiveClient, timesOf } from '../support/live-client.js';
import { INSTALLED_PROXIES, type Proxy, PROXY_NAMES, startProxy } from '../support/proxies.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;

describe.runIf(INSTALLED_PROXIES.length > 0)('Live behind a proxy', () => {
  let directory: string;
  let key: string;
  let service: Service;
  let nextT = T0;

  const commit = async (): Promise<number> => {
    const t = (nextT += 60);
    await ingestCells(directory, [[t, 1]]);
    return t;
  };

  beforeAll(async () => {
    directory = temporaryDirectory();
    key = await newKey(directory);
    service = await serveHere(directory, ['--as-of', String(NOW_S)]);
    await commit();
  });

  for (const program of PROXY_NAMES) {
    describe.runIf(INSTALLED_PROXIES.includes(program))(program, () => {
      let proxy: Proxy;

      beforeAll(async () => {
        proxy = await startProxy(program, Number(new URL(service.url).port));
        await eventually('the proxy passes requests on', async () => {
          proxy.check();
          const client = await LiveClient.open(proxy.url, key).catch(() => null);
          client?.socket.close();
          return client !== null;
        });
      });
      afterAll(() => proxy.stop());

      it('passes on a WebSocket, its subprotocol and its close code', async () => {
        const client = await LiveClient.open(proxy.url, null, ['fathom.v1.msgpack']);
        expect(client.socket.protocol).toBe('fathom.v1.msgpack');
        client.send({ op: 'auth', key });
        client.send({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT });
        expect((await client.next()).type).toBe('subscribed');
        for (let i = 0; i < 3; i++) {
          const t = await commit();
          expect(timesOf(await client.next(({ type }) => type === 'snapshots'))).toEqual([t]);
        }
        client.socket.close();
        const wrong = await LiveClient.open(proxy.url, 'wrong');
        expect(await wrong.end()).toMatchObject({
          code: 4401,
          reason: expect.stringMatching(/^Invalid API key/),
        });
      });

      it('passes on each event as it arrives', async () => {
        let text = '';
        const stream = https.get(`${proxy.url}/api/v1/stream/${MINT}`, {
          headers: { 'x-api-key': key, accept: 'text/event-stream' },
          rejectUnauthorized: false,
        });
        stream.on('response', (reply) => {
          reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        });
        await eventually('the first event', () => text.includes('"subscribed"'));
        for (let i = 0; i < 3; i++) {
          const t = await commit();
          await eventually('the next one', () => text.includes(`{"t":${t},`));
        }
        stream.destroy();
      });
    });
  }
});
