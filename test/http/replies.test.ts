import { describe, expect, it } from 'vitest';
import { MAX_RECEIVED_BODY_BYTES } from '../../server/http/request-head.js';
import { RawClient, requestText } from '../support/raw-client.js';
import { eventually } from '../support/waiting.js';
import {
  BIG_BYTES,
  big,
  describeEngines,
  logged,
  release,
  seen,
  sendUntilClosed,
} from './engine-server.js';

describeEngines((engine) => {
  describe('routes', () => {
    it('pass the variable parts of a path, decoded if possible', async () => {
      const response = await fetch(`${engine.url}/echo/a%20b/of/%zz?x=%20&y`);
      expect(await response.json()).toEqual({ first: 'a b', second: '%zz', query: 'x=%20&y' });
    });

    it.each(['/', '/nowhere', '/echo/a/of/', '/echo//of/b', '/big/', '/BIG', '/echo/a/of/b/c'])(
      '404 for %s',
      async (path) => {
        const response = await fetch(engine.url + path);
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
      const response = await fetch(engine.url + path, { method, body });
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
      if (method === 'HEAD') return;
      expect(await response.json()).toMatchObject({ error_code: 'method_not_allowed' });
    });

    it('an unregistered method: 405 by uWebSockets.js, refused by Node’s parser', async () => {
      const { status } = await fetch(`${engine.url}/big`, { method: 'BREW' });
      expect(status).toBe(engine.name === 'uws' ? 405 : 400);
    });

    it.each(['/throws', '/rejects'])('report what %s only in the log', async (path) => {
      const response = await fetch(engine.url + path);
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
        const response = await fetch(`${engine.url}/unavailable`);
        expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
        expect(await response.json()).toMatchObject({ error_code: 'replay_busy' });
      }
      const lines = logged.slice(before).filter((line) => line.includes('requests get 503'));
      expect(lines).toEqual([expect.stringContaining('the database is being reopened')]);
    });

    it('give every request a distinct id', async () => {
      const ids = await Promise.all(
        Array.from({ length: 20 }, async () =>
          (await fetch(engine.url)).headers.get('x-request-id'),
        ),
      );
      expect(new Set(ids).size).toBe(20);
    });
  });

  describe('request bodies', () => {
    it('413 if they are too long, and the connection stays open', async () => {
      const client = await RawClient.connect(engine.server.port);
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
        const client = await RawClient.connect(engine.server.port);
        client.send(requestText(line, LONG));
        if (line === 'POST /body') client.send('x'.repeat(1001));
        expect(await client.until('\r\n\r\n')).toMatch(/\r\nConnection: close\r\n/);
        await client.closed;
      },
    );

    it('as long as the server receives are dropped, and the connection stays open', async () => {
      const client = await RawClient.connect(engine.server.port);
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
      const client = await RawClient.connect(engine.server.port);
      client.send(requestText(line, CHUNKED));
      await sendUntilClosed(client, `4000\r\n${'x'.repeat(0x4000)}\r\n`);
      await eventually('the request is forgotten', () => engine.server.live === 0);
      release();
    });

    it('that end late delay a large reply, which then arrives whole', async () => {
      const client = await RawClient.connect(engine.server.port);
      client.send(requestText('GET /big', CHUNKED));
      await eventually('the request arrived', () => engine.server.live === 1);
      client.send('3\r\nabc\r\n0\r\n\r\n');
      await eventually('the whole body came', () => client.receivedBytes > BIG_BYTES);
      client.socket.destroy();
      await eventually('the request is forgotten', () => engine.server.live === 0);
    });

    it('that never end leave nothing behind', async () => {
      const client = await RawClient.connect(engine.server.port);
      client.send('POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nabc');
      await eventually('the request arrived', () => engine.server.live === 1);
      client.socket.destroy();
      await eventually('the request is forgotten', () => engine.server.live === 0);
    });
  });

  describe('replies', () => {
    it('of any size arrive whole', async () => {
      const response = await fetch(`${engine.url}/big`);
      expect(response.headers.get('content-length')).toBe(String(BIG_BYTES));
      expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), big)).toBe(0);
      await eventually('the request is forgotten', () => engine.server.live === 0);
    });

    it('to HEAD have the headers of GET and no body, and with a key the connection stays open', async () => {
      const client = await RawClient.connect(engine.server.port);
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
        const client = await RawClient.connect(engine.server.port);
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
      const response = await fetch(`${engine.url}/nothing`);
      expect([response.status, response.headers.get('content-length')]).toEqual([304, null]);
    });

    it('reach a client that reads late, and later requests on its connection work', async () => {
      const client = await RawClient.connect(engine.server.port);
      client.socket.pause();
      client.send(requestText('GET /big'));
      await eventually('the reply is on its way', () => engine.server.live === 1);
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
        const sent = await (await fetch(`${engine.url}/once/${bytes}`)).arrayBuffer();
        expect(Buffer.compare(new Uint8Array(sent), big.subarray(0, bytes))).toBe(0);
        await eventually('the body is freed', () => seen.onceBody.byteLength === 0);
      },
    );

    it('stay until slow clients have read them', async () => {
      const slow = await RawClient.connect(engine.server.port);
      slow.socket.pause();
      slow.send(requestText(`GET /once/${BIG_BYTES}`));
      await eventually('the reply is on its way', () => engine.server.live === 1);
      expect(seen.onceBody.byteLength).toBe(BIG_BYTES);
      slow.socket.resume();
      await eventually('all of it was read', () => slow.receivedBytes > BIG_BYTES);
      await eventually('the body is freed', () => seen.onceBody.byteLength === 0);
      slow.socket.destroy();
    });

    it('are kept if others use them', async () => {
      for (const path of ['/big', '/permanent']) {
        await (await fetch(engine.url + path)).arrayBuffer();
        await eventually('the reply is over', () => engine.server.live === 0);
        expect(big.byteLength).toBe(BIG_BYTES);
      }
    });
  });
});
