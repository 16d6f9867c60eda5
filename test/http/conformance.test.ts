/**
 * Requests as bytes, over both engines: the 33 cases of uNetworking's h1spec, and our own. `old` is the behaviour of a
 * build of uWebSockets.js with the fault that the self-check finds: such a build must behave exactly so, any other must
 * pass.
 */
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineName } from '../../server/http/engine.js';
import { loadEngine, takesSplitRequestLine, warnOfFault } from '../../server/http/load-engine.js';
import { createRouter, type Route } from '../../server/http/router.js';
import { type HttpServer, startHttpServer } from '../../server/http/server.js';
import { loggerInto } from '../support/logger.js';
import { RawClient } from '../support/raw-client.js';
import { eventually } from '../support/waiting.js';
import { ENGINES } from '../support/engines.js';

/** `waits`: no reply and an open connection; `closed`: closed without a reply; otherwise a status. */
type Outcome = 'waits' | 'closed' | number;
interface Case {
  name: string;
  request: string;
  /** The correct outcomes; for a reply, 100, 200, 400 and 500 stand for any status of their hundred. */
  right: Outcome[];
  old?: Outcome;
  /** What a reply's body must be. */
  body?: string;
  /** The known deviation of an engine, whatever its build. */
  differs?: Partial<Record<EngineName, Outcome>>;
}

const HOST = 'Host: example.com\r\n';
const get = (headers: string, line = 'GET / HTTP/1.1') => `${line}\r\n${HOST}${headers}\r\n`;
const post = (headers: string, body: string) =>
  `POST / HTTP/1.1\r\n${HOST}${headers}\r\n\r\n${body}`;
const part = (name: string, request: string, old?: Outcome): Case => ({
  name,
  request,
  right: ['waits'] as Outcome[],
  ...(old === undefined ? {} : { old }),
});

const H1SPEC: Case[] = [
  part('part of a method', 'G'),
  part('part of a URL 1', 'GET ', 505),
  part('part of a URL 2', 'GET /hello', 505),
  part('part of a URL 3', 'GET /hello ', 505),
  part('part of a version', 'GET /hello HTTP', 505),
  part('part of a request line', 'GET /hello HTTP/1.1', 505),
  part('part of the line’s end 1', 'GET /hello HTTP/1.1\r', 505),
  part('part of the line’s end 2', 'GET /hello HTTP/1.1\r\n'),
  part('part of a field’s name', 'GET /hello HTTP/1.1\r\nHos'),
  part('part of a field’s value 1', 'GET /hello HTTP/1.1\r\nHost:'),
  part('part of a field’s value 2', 'GET /hello HTTP/1.1\r\nHost: '),
  part('part of a field’s value 3', 'GET /hello HTTP/1.1\r\nHost: localhost'),
  part('part of a field’s end', 'GET /hello HTTP/1.1\r\nHost: localhost\r'),
  part('a request without its end', 'GET /hello HTTP/1.1\r\nHost: localhost\r\n'),
  part('a request with part of its end', 'GET /hello HTTP/1.1\r\nHost: localhost\r\n\r'),
  { name: 'no version', request: 'GET / \r\n\r\n', right: [400, 500] },
  { name: 'Expect', request: get('Expect: 100-continue\r\n'), right: [100, 200] },
  { name: 'GET', request: get(''), right: [200], body: '"GET"' },
  {
    name: 'odd fields',
    request: 'GET / HTTP/1.1\r\nhoSt:\texample.com\r\nempty:\r\n\r\n',
    right: [200],
  },
  { name: 'invalid field name', request: get('X-Invalid[]: test\r\n'), right: [400], old: 'waits' },
  { name: 'no Host', request: 'GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n', right: [400] },
  { name: 'two Hosts', request: get('Host: example.org\r\n'), right: [400] },
  {
    name: 'very negative length',
    request: get(`Content-Length: -${'123456789'.repeat(3)}\r\n`),
    right: [400],
  },
  { name: 'negative length', request: get('Content-Length: -1234\r\n'), right: [400] },
  { name: 'no number as length', request: get('Content-Length: abc\r\n'), right: [400] },
  { name: 'empty value', request: get('X-Empty-Header: \r\n'), right: [200] },
  { name: 'control character', request: get('X-Bad: test\u0007\r\n'), right: [400], old: 'waits' },
  { name: 'invalid version', request: get('', 'GET / HTTP/9.9'), right: [400, 500] },
  { name: 'invalid prefix', request: `Extra line${get('')}`, right: [400, 500] },
  { name: 'invalid line end', request: get('\rSome-Header: Test\r\n'), right: [400], old: 'waits' },
  { name: 'POST', request: post('Content-Length: 5', 'hello'), right: [200], body: '"hello"' },
  {
    name: 'POST in chunks',
    right: [200],
    body: '"Hello world1"',
    request: post('Transfer-Encoding: chunked', 'c\r\nHello world1\r\n0\r\n\r\n'),
  },
  {
    name: 'both length and coding',
    request: get('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n'),
    right: [400],
  },
];

const OWN: Case[] = [
  { name: 'a folded value', request: get('X-A: a\r\n b\r\n'), right: [400], old: 'waits' },
  { name: 'a space before the colon', request: get('X-A : a\r\n'), right: [400], old: 'waits' },
  { name: 'a field without a colon', request: get('X-A\r\n'), right: [400], old: 'waits' },
  { name: 'a field without a name', request: get(': a\r\n'), right: [400], differs: { uws: 200 } },
  { name: 'NUL in a value', request: get('X-A: a\0b\r\n'), right: [400], old: 'waits' },
  {
    name: 'a control character in the path',
    request: get('', 'GET /a\u0001 HTTP/1.1'),
    right: [400, 500],
  },
  {
    name: 'two spaces in the line',
    request: get('', 'GET  / HTTP/1.1'),
    right: [400, 500],
    differs: { node: 200 },
  },
  { name: 'the asterisk', request: get('', 'OPTIONS * HTTP/1.1'), right: [400, 500] },
  { name: 'CONNECT', request: get('', 'CONNECT a:80 HTTP/1.1'), right: [400, 500] },
  {
    name: 'a tunnel’s beginning',
    request: '\u0016\u0003\u0001\u0002\0\u0001\0\u0001\u00fc\u0003\u0003',
    right: [400, 500],
  },
  { name: 'HTTP/2', request: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', right: [400, 500] },
  { name: 'HTTP/2.0 with fields', request: get('', 'GET / HTTP/2.0'), right: [505] },
  { name: 'HTTP/0.9', request: get('', 'GET / HTTP/0.9'), right: [505] },
  { name: 'a Host with a path', request: 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', right: [400] },
  { name: 'a Host with a space', request: 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', right: [400] },
  { name: 'a Host with a user', request: 'GET / HTTP/1.1\r\nHost: a@b\r\n\r\n', right: [400] },
  { name: 'an IPv6 Host', request: 'GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n', right: [200] },
  { name: 'HTTP/1.0', request: 'GET / HTTP/1.0\r\n\r\n', right: [200], differs: { uws: 505 } },
  {
    name: 'the same length twice',
    request: post('Content-Length: 2\r\nContent-Length: 2', 'ab'),
    right: [400],
  },
  {
    name: 'two lengths',
    request: post('Content-Length: 2\r\nContent-Length: 3', 'abc'),
    right: [400],
  },
  {
    name: 'an empty length before another',
    request: post('Content-Length:\r\nContent-Length: 2', 'ab'),
    right: [400],
  },
  { name: 'an empty length', request: post('Content-Length:', 'ab'), right: [400] },
  {
    name: 'an empty coding before a length',
    request: post('Transfer-Encoding:\r\nContent-Length: 2', 'ab'),
    right: [400],
  },
  {
    name: 'another coding after chunked',
    request: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', '0\r\n\r\n'),
    right: [400],
  },
  { name: 'a list of lengths', request: post('Content-Length: 2, 2', 'ab'), right: [400] },
  { name: 'a signed length', request: post('Content-Length: +2', 'ab'), right: [400] },
  { name: 'a hexadecimal length', request: post('Content-Length: 0x2', 'ab'), right: [400] },
  {
    name: 'a coding before chunked',
    request: post('Transfer-Encoding: gzip, chunked', '0\r\n\r\n'),
    right: [400],
  },
  { name: 'an unknown coding', request: post('Transfer-Encoding: gzip', 'ab'), right: [400] },
  {
    name: 'chunked, but not at the end',
    request: post('Transfer-Encoding: chunked, gzip', '0\r\n\r\n'),
    right: [400],
  },
  {
    name: 'chunked with a letter that is no k until its case is lowered',
    request: post('Transfer-Encoding: chun\u212aed', '0\r\n\r\n'),
    right: [400],
  },
  {
    name: 'a chunk without a size',
    request: post('Transfer-Encoding: chunked', 'Z\r\n'),
    right: [400],
  },
  {
    name: 'a chunk that is too long to be one',
    request: post('Transfer-Encoding: chunked', `${'f'.repeat(20)}\r\n`),
    right: [400, 413],
  },
  {
    name: 'a body that is too long',
    request: post('Content-Length: 2000', 'x'.repeat(2000)),
    right: [413],
  },
  {
    name: 'chunks that are too long',
    request: post('Transfer-Encoding: chunked', `7d0\r\n${'x'.repeat(2000)}\r\n0\r\n\r\n`),
    right: [413],
  },
  { name: 'part of a body', request: post('Content-Length: 5', 'hel'), right: ['waits'] },
  {
    name: 'part of a chunk',
    request: post('Transfer-Encoding: chunked', '5\r\nhel'),
    right: ['waits'],
  },
  { name: 'many fields', request: get('X-A: a\r\n'.repeat(60)), right: [200] },
];

const logged: string[] = [];
const logger = loggerInto(logged);
const routes: Route[] = [
  {
    method: 'GET',
    path: '/',
    handle({ exchange }) {
      exchange.belongsTo('a key');
      exchange.replyJson(200, exchange.method);
    },
  },
  {
    method: 'POST',
    path: '/',
    maxBodyBytes: 1000,
    async handle({ exchange, readBody }) {
      exchange.replyJson(200, Buffer.from(await readBody()).toString());
    },
  },
];

/** Waits for replies to other requests: by then everything sent earlier has been read and answered. */
async function answerOthers(port: number): Promise<void> {
  for (let i = 0; i < 3; i++) await (await fetch(`http://127.0.0.1:${port}/`)).text();
}

async function outcomeOf(port: number, each: Case): Promise<{ outcome: Outcome; text: string }> {
  const client = await RawClient.connect(port);
  const replied = new Promise((resolve) => client.socket.once('data', resolve));
  await new Promise((resolve) => client.socket.write(each.request, 'latin1', resolve));
  const known = [...each.right, each.old, ...Object.values(each.differs ?? {})];
  if (!known.includes('waits')) await Promise.race([client.closed, replied]);
  await answerOthers(port);
  const isClosed = client.socket.closed;
  client.socket.destroy();
  const text = client.received.toString();
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
  return { outcome: status === undefined ? (isClosed ? 'closed' : 'waits') : Number(status), text };
}

const isOne = (outcome: Outcome, allowed: readonly Outcome[]) =>
  allowed.some((one) =>
    typeof one === 'number' && typeof outcome === 'number' && one % 100 === 0
      ? Math.floor(outcome / 100) * 100 === one
      : outcome === one,
  );

describe.each(ENGINES)('engine %s', (name) => {
  let server: HttpServer;
  let isOld: boolean;
  const outcomes = new Map<Case, { outcome: Outcome; text: string }>();
  beforeAll(async () => {
    const engine = await loadEngine(name, logger);
    expect(engine.name).toBe(name);
    isOld = !(await takesSplitRequestLine(engine, logger));
    server = await startHttpServer({
      engine,
      host: '127.0.0.1',
      port: 0,
      handle: createRouter(routes, logger),
      logger,
    });
    const ask = async (each: Case) => {
      outcomes.set(each, await outcomeOf(server.port, each));
    };
    await Promise.all([...H1SPEC, ...OWN].map(ask));
  });
  afterAll(() => server.close());

  it('has the fault of old builds only as uWebSockets.js, and not on Node 22 and later', () => {
    if (name === 'node' || Number(process.versions.modules) >= 127) expect(isOld).toBe(false);
  });

  describe.each([
    ['h1spec', H1SPEC],
    ['own', OWN],
  ] as const)('%s', (_title, cases) => {
    it.each(cases)('$name', (each) => {
      const { right, old, body, differs } = each;
      const { outcome, text } = outcomes.get(each) as { outcome: Outcome; text: string };
      const known = (isOld ? old : undefined) ?? differs?.[name];
      if (known !== undefined) expect(outcome).toBe(known);
      else expect(isOne(outcome, right), `${outcome}: ${text}`).toBe(true);
      if (body !== undefined) expect(text.endsWith(`\r\n\r\n${body}`)).toBe(true);
    });
  });

  it('names the header that came too often, or not at all', () => {
    const messageOf = (case_: string) => {
      const [, each] = [...outcomes].find(([{ name: own }]) => own === case_) ?? [];
      return each?.text.split('\r\n\r\n')[1];
    };
    expect(messageOf('two Hosts')).toContain('Host: expected one, 2 were sent');
    // uWebSockets.js answers that itself.
    const none = name === 'node' ? 'Host: expected one, none was sent' : 'Bad Request';
    expect(messageOf('no Host')).toContain(none);
  });

  it.each(['close', 'Close', 'keep-alive, close', 'x, CLOSE'])(
    'ends the connection, and says so, for Connection: %s',
    async (value) => {
      for (const line of ['GET / HTTP/1.1', 'HEAD / HTTP/1.1']) {
        const client = await RawClient.connect(server.port);
        client.send(get(`Connection: ${value}\r\n`, line));
        await client.closed;
        const [head] = client.received.toString().split('\r\n\r\n');
        expect(head.match(/^Connection: .*$/gim)).toEqual(['Connection: close']);
      }
    },
  );

  it('a request in two parts, wherever it is cut', async () => {
    const request = post('Content-Length: 5', 'hello');
    const line = request.indexOf('\r\n');
    const replies = await Promise.all(
      Array.from({ length: request.length - 1 }, async (_, i) => {
        const client = await RawClient.connect(server.port);
        client.socket.setNoDelay(true);
        client.send(request.slice(0, i + 1));
        await answerOthers(server.port);
        client.send(request.slice(i + 1));
        await Promise.race([client.closed, client.until('"hello"').catch(() => undefined)]);
        client.socket.destroy();
        return client.received.toString();
      }),
    );
    const wrong = replies.flatMap((text, i) => (text.endsWith('"hello"') ? [] : [i + 1]));
    // After the method, up to the line's end.
    const inLine = Array.from({ length: line + 1 }, (_, i) => i + 1).slice('POST'.length - 1);
    expect(wrong).toEqual(isOld ? inLine : []);
  });

  it('requests in sequence, and at once, each answered in turn', async () => {
    const client = await RawClient.connect(server.port);
    const bodies = Array.from({ length: 20 }, (_, i) => `body-${i}`);
    for (const body of bodies.slice(0, 5)) {
      client.send(post(`Content-Length: ${body.length}`, body));
      await client.until(`"${body}"`);
    }
    const before = client.receivedBytes;
    client.send(get('').repeat(20));
    await eventually(
      'all replies came',
      () => client.received.subarray(before).toString().split('"GET"').length === 21,
    );
    client.socket.destroy();
  });

  it('trailers, which uWebSockets.js reads as a request, end their connection', async () => {
    const client = await RawClient.connect(server.port);
    client.send(post('Transfer-Encoding: chunked', '2\r\nab\r\n0\r\n\r\n'));
    const reply = await client.until('"ab"');
    expect(reply.match(/^connection: close\r$/gim)?.length ?? 0).toBe(name === 'uws' ? 1 : 0);
    if (name === 'uws') await client.closed;
    client.socket.destroy();
  });

  it('a body longer than declared is the next request', async () => {
    const client = await RawClient.connect(server.port);
    client.send(`${get('Content-Length: 2\r\n')}ab${get('')}`);
    await eventually('both replies', () => client.received.toString().split('"GET"').length === 3);
    client.socket.destroy();
  });
});

it('the self-check at the start warns only of an engine that refuses a split line, and says what to do', async () => {
  const refusing = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('HTTP/1.1 505 HTTP Version Not Supported\r\n\r\n'));
  });
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  const { port } = refusing.address() as net.AddressInfo;
  const close = () => void refusing.close();
  const listen = () => Promise.resolve({ port, stopListening: close, close });
  logged.length = 0;
  await warnOfFault({ name: 'uws', listen }, logger);
  expect(logged).toEqual([
    expect.stringMatching(/"level":"warn".*Node 24, --http-engine node, or nginx/),
  ]);
  await warnOfFault(await loadEngine('node', logger), logger);
  await warnOfFault({ name: 'uws', listen: () => Promise.reject(new Error('no port')) }, logger);
  expect(logged).toHaveLength(1);
});
