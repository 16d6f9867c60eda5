import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ENGINE_NAMES,
  type EngineName,
  MAX_RECEIVED_BODY_BYTES,
} from '../../server/http/engine.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { createRouter, type Route } from '../../server/http/router.js';
import { HTTP_LIMITS, type HttpServer, startHttpServer } from '../../server/http/server.js';
import { StoreUnavailableError } from '../../storage/errors.js';
import { logInto } from '../support/log.js';
import { RawClient, requestText } from '../support/raw-client.js';
import { becomes, eventually } from '../support/waiting.js';

const UPGRADE_TO_ANOTHER = requestText('GET /echo/a/of/b', {
  Connection: 'Upgrade',
  Upgrade: 'h2c',
});
/** More than the buffers at both ends of a connection hold. */
const BIG_BYTES = 20 * 1024 * 1024;
/** Bytes that reveal their position in the body. */
const big = new Uint8Array(new Uint32Array(BIG_BYTES / 4).map((_, i) => i * 2_654_435_761).buffer);

const logged: string[] = [];
const log = logInto(logged);
let held: (() => void)[] = [];
let cancels: Int32Array[] = [];
let onceBody = new Uint8Array();

const routes: Route[] = [
  {
    method: 'GET',
    path: '/big',
    handle: ({ exchange }) => exchange.reply(200, [['Content-Type', 'test']], big),
  },
  {
    method: 'GET',
    path: '/permanent',
    handle: ({ exchange }) => exchange.reply(200, [['Content-Type', 'test']], big, 'permanent'),
  },
  {
    method: 'GET',
    path: '/once/:bytes',
    handle: ({ exchange, params }) => {
      onceBody = big.slice(0, Number(params.bytes));
      exchange.reply(200, [['Content-Type', 'test']], onceBody, 'once');
    },
  },
  {
    method: 'GET',
    path: '/keyed/:key',
    handle: ({ exchange, params }) => {
      exchange.belongsTo(params.key);
      exchange.reply(200, [['Content-Type', 'test']], big);
    },
  },
  {
    method: 'GET',
    path: '/held',
    handle: async ({ exchange }) => {
      cancels.push(exchange.cancel);
      await new Promise<void>((resolve) => held.push(resolve));
      exchange.replyJson(200, { held: true });
    },
  },
  {
    method: 'GET',
    path: '/echo/:first/of/:second',
    handle: ({ exchange, params }) => exchange.replyJson(200, { ...params, query: exchange.query }),
  },
  {
    method: 'GET',
    path: '/throws',
    handle: () => {
      throw new Error('a secret of the house');
    },
  },
  {
    method: 'GET',
    path: '/rejects',
    handle: async () => {
      await Promise.resolve();
      throw new Error('a secret of the house');
    },
  },
  {
    method: 'GET',
    path: '/unavailable',
    handle: () => {
      throw new StoreUnavailableError('the database is being reopened');
    },
  },
  { method: 'GET', path: '/nothing', handle: ({ exchange }) => exchange.reply(304, [], null) },
  {
    method: 'POST',
    path: '/body',
    maxBodyBytes: 1000,
    handle: async ({ exchange, readBody }) => {
      const bytes = await readBody();
      exchange.replyJson(200, { text: Buffer.from(bytes).toString() });
    },
  },
];

const startWith = async (name: EngineName, limits = {}) =>
  startHttpServer({
    engine: await loadEngine(name, log),
    ...{ host: '127.0.0.1', port: 0, handle: createRouter(routes, log), log },
    keepsBody: () => true,
    // With one, the server listens for requests to upgrade.
    socketPath: '/socket',
    limits: { ...HTTP_LIMITS, maxKeylessBytesInFlight: 4 * BIG_BYTES, ...limits },
  });

/** No server is sent more than this. */
const MAX_SENT_BYTES = 64 * 1024 * 1024;

/** Sends as much as the connection accepts, until the server closes it. */
async function sendUntilClosed(client: RawClient, text: string): Promise<void> {
  while (!client.socket.closed) {
    if (client.socket.bytesWritten > MAX_SENT_BYTES) throw new Error('the connection stayed open');
    if (client.socket.writableLength < 2 ** 20) client.send(text);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe.each(ENGINE_NAMES)('engine %s', (name) => {
  let server: HttpServer;
  let url: string;
  const start = (limits = {}) => startWith(name, limits);
  beforeAll(async () => {
    server = await start();
    url = `http://127.0.0.1:${server.port}`;
  });
  afterAll(async () => {
    held.forEach((resume) => resume());
    await server.close();
  });

  const release = () => {
    held.forEach((resume) => resume());
    held = [];
    cancels = [];
  };

  describe('routes', () => {
    it('pass the variable parts of a path, decoded if possible', async () => {
      const response = await fetch(`${url}/echo/a%20b/of/%zz?x=%20&y`);
      expect(await response.json()).toEqual({ first: 'a b', second: '%zz', query: 'x=%20&y' });
    });

    it.each(['/', '/nowhere', '/echo/a/of/', '/echo//of/b', '/big/', '/BIG', '/echo/a/of/b/c'])(
      '404 for %s',
      async (path) => {
        const response = await fetch(url + path);
        expect(response.status).toBe(404);
        expect(response.headers.get('content-type')).toBe('application/json');
        expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{12}-/);
        expect(await response.json()).toEqual({
          error: 'Not Found',
          message: 'There is no such endpoint',
          error_code: 'not_found',
        });
      },
    );

    it.each([
      ['POST', '/big', 'GET, HEAD'],
      ['DELETE', '/big', 'GET, HEAD'],
      ['OPTIONS', '/big', 'GET, HEAD'],
      ['MKCALENDAR', '/big', 'GET, HEAD'],
      ['GET', '/body', 'POST'],
      ['HEAD', '/body', 'POST'],
    ])('405 for %s %s', async (method, path, allow) => {
      const body = method === 'POST' ? 'x'.repeat(100_000) : undefined;
      const response = await fetch(url + path, { method, body });
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
      if (method === 'HEAD') return;
      expect(await response.json()).toMatchObject({ error_code: 'method_not_allowed' });
    });

    it('an unregistered method: 405 by uWebSockets.js, refused by Node’s parser', async () => {
      const { status } = await fetch(`${url}/big`, { method: 'BREW' });
      expect(status).toBe(name === 'uws' ? 405 : 400);
    });

    it.each(['/throws', '/rejects'])('report what %s only in the log', async (path) => {
      const response = await fetch(url + path);
      const text = await response.text();
      const id = response.headers.get('x-request-id') as string;
      expect(response.status).toBe(500);
      expect(JSON.parse(text)).toEqual({
        error: 'Internal Server Error',
        message: `Internal error, request id ${id}`,
        error_code: 'internal_error',
      });
      const line = logged.find((entry) => entry.includes(`"request_id":"${id}"`));
      expect(line).toContain('a secret of the house');
    });

    it('are 503 while the store is unavailable, which is logged once in a while', async () => {
      const before = logged.length;
      for (let i = 0; i < 5; i++) {
        const response = await fetch(`${url}/unavailable`);
        expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
        expect(await response.json()).toMatchObject({ error_code: 'replay_busy' });
      }
      const lines = logged.slice(before).filter((line) => line.includes('requests get 503'));
      expect(lines).toEqual([expect.stringContaining('the database is being reopened')]);
    });

    it('give every request a distinct id', async () => {
      const ids = await Promise.all(
        Array.from({ length: 20 }, async () => (await fetch(url)).headers.get('x-request-id')),
      );
      expect(new Set(ids).size).toBe(20);
    });
  });

  describe('request bodies', () => {
    it('413 if they are too long, and the connection stays open', async () => {
      const client = await RawClient.connect(server.port);
      const body = 'x'.repeat(200_000);
      client.send(
        `POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      expect(await client.until('payload_too_large')).toMatch(/^HTTP\/1.1 413 /);
      client.send(requestText('GET /nowhere'));
      await client.until('not_found');
      client.socket.destroy();
    });

    const LONG = { 'Content-Length': String(MAX_RECEIVED_BODY_BYTES + 1) };
    const CHUNKED = { 'Transfer-Encoding': 'chunked' };

    it.each(['GET /nowhere', 'POST /big', 'POST /body', 'GET /echo/a/of/b'])(
      'declared longer than the server receives: the reply to %s ends the connection',
      async (line) => {
        const client = await RawClient.connect(server.port);
        client.send(requestText(line, LONG));
        if (line === 'POST /body') client.send('x'.repeat(1001));
        expect(await client.until('\r\n\r\n')).toMatch(/\r\nConnection: close\r\n/);
        await client.closed;
      },
    );

    it('as long as the server receives are dropped, and the connection stays open', async () => {
      const client = await RawClient.connect(server.port);
      const headers = { 'Content-Length': String(MAX_RECEIVED_BODY_BYTES) };
      client.send(requestText('GET /echo/a/of/b', headers));
      client.send('x'.repeat(MAX_RECEIVED_BODY_BYTES));
      await client.until('"first"');
      client.send(requestText('GET /nowhere'));
      expect(await client.until('not_found')).not.toMatch(/\r\nConnection: close\r\n.*"first"/s);
      client.socket.destroy();
    });

    it.each([
      ['refused', 'GET /nowhere'],
      ['answered', 'GET /echo/a/of/b'],
      ['in work', 'GET /held'],
      ['answered at length', 'GET /big'],
      ['refused as too long', 'POST /body'],
    ])('without an end are not received forever: the request is %s', async (_, line) => {
      const client = await RawClient.connect(server.port);
      client.send(requestText(line, CHUNKED));
      await sendUntilClosed(client, `4000\r\n${'x'.repeat(0x4000)}\r\n`);
      await eventually('the request is forgotten', () => server.live === 0);
      release();
    });

    it('that end late delay a large reply, which then arrives whole', async () => {
      const client = await RawClient.connect(server.port);
      client.send(requestText('GET /big', CHUNKED));
      await eventually('the request arrived', () => server.live === 1);
      client.send('3\r\nabc\r\n0\r\n\r\n');
      await eventually('the whole body came', () => client.receivedBytes > BIG_BYTES);
      client.socket.destroy();
      await eventually('the request is forgotten', () => server.live === 0);
    });

    it('that never end leave nothing behind', async () => {
      const client = await RawClient.connect(server.port);
      client.send('POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nabc');
      await eventually('the request arrived', () => server.live === 1);
      client.socket.destroy();
      await eventually('the request is forgotten', () => server.live === 0);
    });
  });

  describe('replies', () => {
    it('of any size arrive whole', async () => {
      const response = await fetch(`${url}/big`);
      expect(response.headers.get('content-length')).toBe(String(BIG_BYTES));
      expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), big)).toBe(0);
      await eventually('the request is forgotten', () => server.live === 0);
    });

    it('to HEAD have the headers of GET and no body, and with a key the connection stays open', async () => {
      const client = await RawClient.connect(server.port);
      client.send(requestText('HEAD /keyed/a').repeat(2) + requestText('GET /'));
      const text = await client.until('"error_code"');
      const [first, second, third] = text.split('\r\n\r\n');
      for (const head of [first, second]) {
        expect(head).toMatch(/^HTTP\/1.1 200 OK/);
        expect(head).toContain(`Content-Length: ${BIG_BYTES}`);
        expect(head).toContain('Content-Type: test');
      }
      expect(third).toMatch(/^HTTP\/1.1 404 /);
      client.socket.destroy();
    });

    it.each(['HEAD /big', 'HEAD /nowhere', 'GET /nothing'])(
      'to %s, without a body or a key, end their connection',
      async (line) => {
        const client = await RawClient.connect(server.port);
        client.send(requestText(line));
        await client.closed;
        const [head, rest] = client.received.toString().split('\r\n\r\n');
        expect([head, rest]).toEqual([expect.stringMatching(/^HTTP\/1.1 (200|304|404) /), '']);
        expect(head).toMatch(/\r\nConnection: close(\r\n|$)/);
        expect(head).toMatch(/\r\nDate: \w{3}, \d/);
        expect(/\r\nContent-Length: [1-9]/.test(head)).toBe(line.startsWith('HEAD'));
      },
    );

    it('without a body state no length', async () => {
      const response = await fetch(`${url}/nothing`);
      expect([response.status, response.headers.get('content-length')]).toEqual([304, null]);
    });

    it('reach a client that reads late, and later requests on its connection work', async () => {
      const client = await RawClient.connect(server.port);
      client.socket.pause();
      client.send(requestText('GET /big'));
      await eventually('the reply is on its way', () => server.live === 1);
      client.socket.resume();
      await eventually('the whole body came', () => client.receivedBytes > BIG_BYTES);
      const received = client.received;
      const start = received.indexOf('\r\n\r\n') + 4;
      expect(Buffer.compare(received.subarray(start), big)).toBe(0);
      client.send(requestText('GET /nowhere'));
      await client.until('not_found');
      client.socket.destroy();
    });
  });

  describe('bodies of one reply', () => {
    it.each([64 * 1024, 200_000, BIG_BYTES])(
      'of %i bytes are sent whole, then freed',
      async (bytes) => {
        const sent = await (await fetch(`${url}/once/${bytes}`)).arrayBuffer();
        expect(Buffer.compare(new Uint8Array(sent), big.subarray(0, bytes))).toBe(0);
        await eventually('the body is freed', () => onceBody.byteLength === 0);
      },
    );

    it('stay until slow clients have read them', async () => {
      const slow = await RawClient.connect(server.port);
      slow.socket.pause();
      slow.send(requestText(`GET /once/${BIG_BYTES}`));
      await eventually('the reply is on its way', () => server.live === 1);
      expect(onceBody.byteLength).toBe(BIG_BYTES);
      slow.socket.resume();
      await eventually('all of it was read', () => slow.receivedBytes > BIG_BYTES);
      await eventually('the body is freed', () => onceBody.byteLength === 0);
      slow.socket.destroy();
    });

    it('are kept if others use them', async () => {
      for (const path of ['/big', '/permanent']) {
        await (await fetch(url + path)).arrayBuffer();
        await eventually('the reply is over', () => server.live === 0);
        expect(big.byteLength).toBe(BIG_BYTES);
      }
    });
  });

  describe('clients that disconnect', () => {
    it('in the middle of a reply are forgotten, with their bytes', async () => {
      const limited = await start({ maxKeylessBytesInFlight: BIG_BYTES });
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
        const limited = await start(limits);
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

    it('that read nothing of what is in memory anyway take nothing, and are not cut', async () => {
      const limited = await start({ maxKeylessBytesInFlight: BIG_BYTES });
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
      const strict = await start({ stallLimitMs: 1000, leastBytesPerS: BIG_BYTES });
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
      const client = await RawClient.connect(server.port);
      client.send(requestText('GET /held'));
      await eventually('the request arrived', () => cancels.length === 1);
      const [cancel] = cancels;
      expect(cancel[0]).toBe(0);
      client.socket.destroy();
      await eventually('the flag is set', () => Atomics.load(cancel, 0) === 1);
      release();
      expect((await fetch(`${url}/nowhere`)).status).toBe(404);
    });

    it('that do not read at all are cut off', async () => {
      const strict = await start({ stallLimitMs: 400 });
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
        const socket = connect(server.port, '127.0.0.1');
        let isClosed = false;
        socket.on('error', () => undefined).on('close', () => (isClosed = true));
        // The server, in this process, reads the request when the reset has arrived too.
        socket.once('connect', () => socket.write(request, () => socket.resetAndDestroy()));
        await eventually('the reset', () => isClosed);
      }
      expect((await fetch(`${url}/echo/a/of/b`)).status).toBe(200);
    });

    it('to upgrade to another protocol are served like any other, with their bodies', async () => {
      const client = await RawClient.connect(server.port);
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
      const chunked = await RawClient.connect(server.port);
      chunked.send(requestText('POST /body', { ...offer, 'Transfer-Encoding': 'chunked' }));
      chunked.send('4\r\npart\r\n1\r\ns\r\n0\r\n\r\n');
      await chunked.until('{"text":"parts"}');
      chunked.socket.destroy();
    });

    // uWebSockets.js closes this connection when it is idle.
    it.runIf(name === 'node')('to open a WebSocket, refused: the reply is the last', async () => {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
      let received = '';
      let isReset = false;
      socket.on('data', (data) => (received += data.toString('latin1')));
      socket.on('error', () => (isReset = true));
      socket.write(
        requestText('GET /socket', {
          ...{ Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' },
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
    });

    it('pipelined: those answered at once are answered in order', async () => {
      const client = await RawClient.connect(server.port);
      client.send(requestText('GET /echo/1/of/2') + requestText('GET /echo/2/of/2'));
      const text = await client.until('{"first":"2"');
      expect(text.indexOf('{"first":"1"')).toBeLessThan(text.indexOf('{"first":"2"'));
      client.socket.destroy();
    });

    it('pipelined by the thousand are cut off, and a request in the same turn is answered', async () => {
      const [flood, client] = await Promise.all([
        RawClient.connect(server.port),
        RawClient.connect(server.port),
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
      const client = await RawClient.connect(server.port);
      client.send(requestText('GET /held') + requestText('GET /nowhere'));
      await client.closed;
      await eventually('the request is forgotten', () => server.live === 0);
      release();
      expect((await fetch(`${url}/nowhere`)).status).toBe(404);
    });

    it.each(['GET', 'HEAD'])(
      'a flood of pipelined %s that nobody reads piles nothing up: it is cut off',
      async (method) => {
        const client = await RawClient.connect(server.port);
        client.socket.pause();
        const flood = requestText(`${method} /nowhere`).repeat(2000);
        await sendUntilClosed(client, flood);
        await eventually('the requests are forgotten', () => server.live === 0);
      },
    );

    it('with a head of 12 KB, or a longer one in one piece, are read; an endless one is refused', async () => {
      const headers = { 'X-Filler': 'x'.repeat(12_000) };
      const client = await RawClient.connect(server.port);
      const text = requestText('GET /nowhere', headers);
      client.send(text.slice(0, 6000));
      // Others are answered in the meantime, so what was sent has been read.
      await fetch(url);
      client.send(text.slice(6000));
      await client.until('not_found');
      client.socket.destroy();
      const whole = await RawClient.connect(server.port);
      whole.send(requestText('GET /nowhere', { 'X-Filler': 'x'.repeat(20_000) }));
      // Node also counts what arrives in one piece, and so does uWebSockets.js for Node 22 and 24.
      const reads = name === 'uws' && process.version.startsWith('v20.');
      await whole.until(reads ? 'not_found' : 'HTTP/1.1 431 ');
      whole.socket.destroy();
      const endless = await RawClient.connect(server.port);
      endless.send('GET /nowhere HTTP/1.1\r\nHost: a\r\nX: ');
      await sendUntilClosed(endless, 'x'.repeat(5000));
      expect(endless.received.toString()).toMatch(/^HTTP\/1.1 431 /);
    });
  });
});
