import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { RawClient, requestText } from '../support/raw-client.js';
import { becomes, eventually } from '../support/waiting.js';
import { BIG_BYTES, describeEngines, release, seen, sendUntilClosed } from './engine-server.js';

const UPGRADE_TO_ANOTHER = requestText('GET /echo/a/of/b', {
  Connection: 'Upgrade',
  Upgrade: 'h2c',
});

const timers = (): number =>
  process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;

describeEngines((engine) => {
  describe('clients that disconnect', () => {
    it('in the middle of a reply are forgotten, with their bytes', async () => {
      const limited = await engine.start({ maxKeylessBytesInFlight: BIG_BYTES });
      const at = `http://127.0.0.1:${limited.port}`;
      const client = await RawClient.connect(limited.port);
      client.socket.pause();
      client.send(requestText('GET /big'));
      await eventually('the reply is on its way', () => limited.live === 1);
      const refused = await fetch(`${at}/big`);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await refused.json()).toMatchObject({ error_code: 'replay_busy' });
      client.socket.resetAndDestroy();
      await eventually('the reply is forgotten', () => limited.live === 0);
      const after = await fetch(`${at}/big`);
      expect((await after.arrayBuffer()).byteLength).toBe(BIG_BYTES);
      await limited.close();
    });

    it('that read nothing make room for those that read, without a key or with one', async () => {
      for (const route of ['/big', '/keyed/a']) {
        const limits = { maxKeylessBytesInFlight: BIG_BYTES, maxBytesInFlight: BIG_BYTES };
        const limited = await engine.start(limits);
        const at = `http://127.0.0.1:${limited.port}`;
        const idle = await RawClient.connect(limited.port);
        idle.socket.pause();
        idle.send(requestText(`GET ${route}`));
        await eventually('the reply is on its way', () => limited.live === 1);
        // Clients with a key and those without do not share a budget.
        const other = await fetch(`${at}${route === '/big' ? '/keyed/b' : '/big'}`);
        expect((await other.arrayBuffer()).byteLength).toBe(BIG_BYTES);
        const same = route === '/big' ? route : '/keyed/b';
        const statusOf = async (): Promise<number> => {
          const reply = await fetch(`${at}${same}`);
          await reply.arrayBuffer();
          return reply.status;
        };
        await becomes(statusOf, 200);
        idle.socket.resume();
        await idle.closed;
        expect(idle.receivedBytes).toBeLessThan(BIG_BYTES);
        await limited.close();
      }
    });

    it('that do not read a reply kept in memory for all: it takes no budget, and they are not cut', async () => {
      const limited = await engine.start({ maxKeylessBytesInFlight: BIG_BYTES });
      const rssBefore = process.memoryUsage.rss();
      const readers = await Promise.all(
        Array.from({ length: 12 }, async () => {
          const reader = await RawClient.connect(limited.port);
          reader.socket.pause();
          reader.send(requestText('GET /permanent'));
          return reader;
        }),
      );
      await eventually('all replies are on their way', () => limited.live === readers.length);
      expect(limited.bytesInFlight).toBe(0);
      const idle = await RawClient.connect(limited.port);
      idle.socket.pause();
      idle.send(requestText('GET /big'));
      await eventually('the budget is full', () => limited.bytesInFlight === BIG_BYTES);
      const statusOf = async (): Promise<number> => {
        const reply = await fetch(`http://127.0.0.1:${limited.port}/big`);
        await reply.arrayBuffer();
        return reply.status;
      };
      await becomes(statusOf, 200);
      idle.socket.resume();
      await idle.closed;
      expect(limited.live).toBe(readers.length);
      // Copies would be twelve times as large as the body.
      expect(process.memoryUsage.rss() - rssBefore).toBeLessThan(5 * BIG_BYTES);
      for (const { socket } of readers) socket.destroy();
      await eventually('all are forgotten', () => limited.live === 0);
      await limited.close();
    });

    it('that read, but below the minimum rate, are cut off', async () => {
      const strict = await engine.start({ stallLimitMs: 1000, leastBytesPerS: BIG_BYTES });
      const client = await RawClient.connect(strict.port);
      client.send(requestText('GET /big'));
      // About 2 MB/s: it never stalls.
      client.socket.on('data', () => {
        client.socket.pause();
        setTimeout(() => client.socket.resume(), 30);
      });
      await client.closed;
      expect(client.receivedBytes).toBeGreaterThan(100_000);
      expect(client.receivedBytes).toBeLessThan(BIG_BYTES);
      await strict.close();
    });

    it('before the reply set its flag, and the late reply does no harm', async () => {
      const client = await RawClient.connect(engine.server.port);
      client.send(requestText('GET /held'));
      await eventually('the request arrived', () => seen.cancels.length === 1);
      const [cancel] = seen.cancels;
      expect(cancel[0]).toBe(0);
      client.socket.destroy();
      await eventually('the flag is set', () => Atomics.load(cancel, 0) === 1);
      release();
      expect((await fetch(`${engine.url}/nowhere`)).status).toBe(404);
    });

    it('that do not read at all are cut off', async () => {
      const strict = await engine.start({ stallLimitMs: 400 });
      const client = await RawClient.connect(strict.port);
      client.socket.pause();
      client.send(requestText('GET /big'));
      await eventually('the reply is on its way', () => strict.live === 1);
      await eventually('the client is cut off', () => strict.live === 0);
      client.socket.resume();
      await client.closed;
      expect(client.receivedBytes).toBeLessThan(BIG_BYTES);
      await strict.close();
    });
  });

  describe('awkward requests', () => {
    it.each([
      ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'],
      ['to upgrade to another protocol', UPGRADE_TO_ANOTHER],
    ])('%s, and a reset: the server continues', async (_, request) => {
      for (let i = 0; i < 20; i++) {
        const socket = connect(engine.server.port, '127.0.0.1');
        let isClosed = false;
        socket.on('error', () => undefined).on('close', () => (isClosed = true));
        // The server, in this process, reads the request when the reset has arrived too.
        socket.once('connect', () => socket.write(request, () => socket.resetAndDestroy()));
        await eventually('the reset', () => isClosed);
      }
      expect((await fetch(`${engine.url}/echo/a/of/b`)).status).toBe(200);
    });

    it('to upgrade to another protocol are served like any other, with their bodies', async () => {
      const client = await RawClient.connect(engine.server.port);
      const offer = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': '' };
      for (const n of [1, 2, 3]) {
        client.send(requestText('POST /body', { ...offer, 'Content-Length': '6' }) + 'bo');
        client.send(`dy ${n}`);
        await client.until(`{"text":"body ${n}"}`);
        client.send(requestText(`GET /echo/${n}/of/b`, { ...offer, 'User-Agent': 'é' }));
        await client.until(`{"first":"${n}","second":"b"`);
      }
      client.send(requestText('POST /body', { ...offer, 'Content-Length': '1001' }));
      client.send('x'.repeat(1001));
      await client.until('payload_too_large');
      client.socket.destroy();
      const chunked = await RawClient.connect(engine.server.port);
      chunked.send(requestText('POST /body', { ...offer, 'Transfer-Encoding': 'chunked' }));
      chunked.send('4\r\npart\r\n1\r\ns\r\n0\r\n\r\n');
      await chunked.until('{"text":"parts"}');
      chunked.socket.destroy();
    });

    // uWebSockets.js closes this connection when it is idle.
    it.runIf(engine.name === 'node')(
      'to open a WebSocket, refused: the reply is the last',
      async () => {
        const socket = connect({
          port: engine.server.port,
          host: '127.0.0.1',
          allowHalfOpen: true,
        });
        let received = '';
        let isReset = false;
        socket.on('data', (data) => (received += data.toString('latin1')));
        socket.on('error', () => (isReset = true));
        socket.write(
          requestText('GET /socket', {
            Connection: 'Upgrade',
            Upgrade: 'websocket',
            'Sec-WebSocket-Version': '13',
            'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
          }),
        );
        await eventually('the reply', () => received.startsWith('HTTP/1.1 404 '));
        await eventually('the end of the connection', () => {
          if (!isReset) socket.write('x');
          return isReset;
        });
        // Bytes after the reply are no request: they get no reply of their own.
        expect(received.split('HTTP/1.1 ')).toHaveLength(2);
        socket.destroy();
      },
    );

    it('pipelined: those answered at once are answered in order', async () => {
      const client = await RawClient.connect(engine.server.port);
      client.send(requestText('GET /echo/1/of/2') + requestText('GET /echo/2/of/2'));
      const text = await client.until('{"first":"2"');
      expect(text.indexOf('{"first":"1"')).toBeLessThan(text.indexOf('{"first":"2"'));
      client.socket.destroy();
    });

    it('pipelined by the thousand are cut off, and a request in the same turn is answered', async () => {
      const [flood, client] = await Promise.all([
        RawClient.connect(engine.server.port),
        RawClient.connect(engine.server.port),
      ]);
      flood.send(requestText('GET /echo/1/of/2').repeat(2000));
      client.send('POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
      expect(await client.until('}')).toContain('{"text":"hello"}');
      client.send(
        `POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n${'x'.repeat(1001)}`,
      );
      await client.until('payload_too_large');
      client.socket.destroy();
      await flood.closed;
      expect(flood.received.toString().split('"first"').length).toBeLessThanOrEqual(501);
    });

    it('pipelined behind a running one: the library closes the connection, nothing else suffers', async () => {
      const client = await RawClient.connect(engine.server.port);
      client.send(requestText('GET /held') + requestText('GET /nowhere'));
      await client.closed;
      await eventually('the request is forgotten', () => engine.server.live === 0);
      release();
      expect((await fetch(`${engine.url}/nowhere`)).status).toBe(404);
    });

    it.each(['GET', 'HEAD'])(
      'a flood of pipelined %s that nobody reads piles nothing up: it is cut off',
      async (method) => {
        const timersBefore = timers();
        const client = await RawClient.connect(engine.server.port);
        client.socket.pause();
        const flood = requestText(`${method} /nowhere`).repeat(2000);
        await sendUntilClosed(client, flood);
        await eventually('the requests are forgotten', () => engine.server.live === 0);
        await eventually('nothing watches their replies', () => timers() <= timersBefore);
      },
    );

    it.runIf(engine.name === 'node')(
      'pipelined in one packet: those behind the one that ends the connection are not parsed',
      async () => {
        let parsed = 0;
        const count = (): void => void parsed++;
        subscribe('http.server.request.start', count);
        for (const flood of [requestText('GET /nowhere'), 'GET / HTTP/1.1\r\n\r\n']) {
          const client = await RawClient.connect(engine.server.port);
          client.send(flood.repeat(1200));
          await client.closed;
        }
        unsubscribe('http.server.request.start', count);
        // Two for the one without Host, and MAX_UNREAD_BYTES of replies.
        expect(parsed).toBeLessThan(400);
      },
    );

    it('with a head of 12 KB, or a longer one in one piece, are read; an endless one is refused', async () => {
      const headers = { 'X-Filler': 'x'.repeat(12_000) };
      const client = await RawClient.connect(engine.server.port);
      const text = requestText('GET /nowhere', headers);
      client.send(text.slice(0, 6000));
      // Others are answered in the meantime, so what was sent has been read.
      await fetch(engine.url);
      client.send(text.slice(6000));
      await client.until('not_found');
      client.socket.destroy();
      const whole = await RawClient.connect(engine.server.port);
      whole.send(requestText('GET /nowhere', { 'X-Filler': 'x'.repeat(20_000) }));
      // Node also counts what arrives in one piece, and so does uWebSockets.js for Node 22 and 24.
      const reads = engine.name === 'uws' && process.version.startsWith('v20.');
      await whole.until(reads ? 'not_found' : 'HTTP/1.1 431 ');
      whole.socket.destroy();
      const endless = await RawClient.connect(engine.server.port);
      endless.send('GET /nowhere HTTP/1.1\r\nHost: a\r\nX: ');
      await sendUntilClosed(endless, 'x'.repeat(5000));
      expect(endless.received.toString()).toMatch(/^HTTP\/1.1 431 /);
    });
  });
});
