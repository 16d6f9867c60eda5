/**
 * Malformed and ambiguous requests as raw bytes, to each engine and through docs/deploy's proxies: none may bring a
 * request to the server that the proxy has not sent. The proxies refuse /metrics, so a request for it that arrives was
 * hidden inside another one.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadEngine } from '../../server/http/load-engine.js';
import { type HttpServer, startHttpServer } from '../../server/http/server.js';
import { ENGINES } from '../support/engines.js';
import { NO_LOGGER } from '../support/logger.js';
import { INSTALLED_PROXIES, startProxy } from '../support/proxies.js';
import { eventually } from '../support/waiting.js';

const HIDDEN = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n';
const { length } = HIDDEN;

/** A POST with these header lines. */
const post = (headers: readonly string[], body: string): string =>
  `POST /a HTTP/1.1\r\nHost: a\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
/** A GET with these header lines, which the hidden request's line follows. */
const get = (lines: string): string => `GET /a HTTP/1.1\r\nHost: a\r\n${lines}${HIDDEN}`;
const CHUNKED = 'Transfer-Encoding: chunked';
const LENGTH = `Content-Length: ${length}`;
const hex = length.toString(16);
const chunked = (size: string, rest = '0\r\n\r\n'): string =>
  post([CHUNKED], `${size}\r\n${HIDDEN}\r\n${rest}`);

/** What is sent: one packet, or several. */
const CASES: Readonly<Record<string, string | readonly string[]>> = {
  'a body': post([LENGTH], HIDDEN),
  'a body of GET': get(`${LENGTH}\r\n\r\n`),
  'a body in a second packet': [post([LENGTH], ''), HIDDEN],
  'a body of HEAD': `HEAD /a HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${HIDDEN}`,
  'a body after Expect': post(['Expect: 100-continue', LENGTH], HIDDEN),
  'a length named as hop-by-hop': post([`Connection: close, Content-Length`, LENGTH], HIDDEN),
  'a coding named as hop-by-hop': post(
    ['Connection: Transfer-Encoding', CHUNKED],
    `${hex}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  ),
  'a header without a name': get(': x\r\n'),
  'a header that is only a colon': get(':\r\n'),
  'a header without a name, then an empty line': get(': x\r\n\r\n'),
  'a header without a name, in packets': ['GET /a HTTP/1.1\r\nHost: a\r\n:', ` x\r\n${HIDDEN}`],
  'a header without a name first': `GET /a HTTP/1.1\r\n: x\r\nHost: a\r\n${HIDDEN}`,
  'a header without a name before a length': post([': x', LENGTH], HIDDEN),
  'a header line without a colon': get('X\r\n'),
  'a header name of a space': get(' : x\r\n'),
  'a header name with a space': get('X Y: x\r\n'),
  'a header name with NUL': get('X\0: x\r\n'),
  'a header name with a high byte': get('X\xff: x\r\n'),
  'a header value with NUL': get('X: \0\r\n\r\n'),
  'a space before the colon of a length': post([`Content-Length : ${length}`], HIDDEN),
  'a tab before the colon of a length': post([`Content-Length\t: ${length}`], HIDDEN),
  'a space before the colon of a coding': post(
    ['Transfer-Encoding : chunked'],
    `${hex}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  ),
  'a folded header': get('X: a\r\n '),
  'a folded length': post(['Content-Length:', ` ${length}`], HIDDEN),
  'a folded coding': post(['Transfer-Encoding:', ' chunked'], `0\r\n\r\n${HIDDEN}`),
  'two equal lengths': post([LENGTH, LENGTH], HIDDEN),
  'a length, then 0': post([LENGTH, 'Content-Length: 0'], HIDDEN),
  '0, then a length': post(['Content-Length: 0', LENGTH], HIDDEN),
  'a list of lengths': post([`Content-Length: ${length}, ${length}`], HIDDEN),
  'a signed length': post([`Content-Length: +${length}`], HIDDEN),
  'a negative length': post([`Content-Length: -1`], HIDDEN),
  'a hexadecimal length': post([`Content-Length: 0x${hex}`], HIDDEN),
  'a length with a comment': post([`Content-Length: ${length} 0`], HIDDEN),
  'an empty length': post([`Content-Length:`], HIDDEN),
  'a length of 2^64': post(['Content-Length: 18446744073709551616'], HIDDEN),
  'a length beside a coding': post([LENGTH, CHUNKED], `0\r\n\r\n${HIDDEN}`),
  'a coding beside a length': post(
    [CHUNKED, 'Content-Length: 0'],
    `${hex}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  ),
  'a chunk': chunked(hex),
  'a chunk with an extension': chunked(`${hex};a=b`),
  'a chunk with an extension of a space': chunked(`${hex} ;a`),
  'a chunk with LF in an extension': chunked(`${hex};a\n`),
  'a chunk with CR in an extension': chunked(`${hex};a\r`),
  'a request in an extension': post([CHUNKED], `0;${HIDDEN}\r\n\r\n`),
  'a chunk of 0x': chunked(`0x${hex}`),
  'a chunk of a size in a long form': chunked(`00000000000000000000${hex}`),
  'a chunk of a negative size': chunked(`-${hex}`),
  'a chunk of 2^64 and more': chunked(`10000000000000000${hex}`),
  'a chunk with a space after it': chunked(`${hex} `),
  'a chunk with LF alone': post([CHUNKED], `${hex}\n${HIDDEN}\n0\n\n`),
  'a chunk without its CRLF': post([CHUNKED], `${hex}\r\n${HIDDEN}0\r\n\r\n`),
  'an empty chunk size': post([CHUNKED], `\r\n${HIDDEN}`),
  'a trailer': chunked(hex, '0\r\nX: y\r\n\r\n'),
  'a trailer that is a request': post([CHUNKED], `0\r\n${HIDDEN}`),
  'a trailer without a name': post([CHUNKED], `0\r\n: x\r\n${HIDDEN}`),
  'a coding of another name': post(['Transfer-Encoding: xchunked', LENGTH], HIDDEN),
  'chunked, identity': post(['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${HIDDEN}`),
  'identity, chunked': post(['Transfer-Encoding: identity, chunked', LENGTH], `0\r\n\r\n${HIDDEN}`),
  'two codings': post([CHUNKED, 'Transfer-Encoding: x', LENGTH], `0\r\n\r\n${HIDDEN}`),
  'twice chunked': post([CHUNKED, CHUNKED], `${hex}\r\n${HIDDEN}\r\n0\r\n\r\n`),
  'a coding with VT': post(['Transfer-Encoding:\x0bchunked', LENGTH], HIDDEN),
  'a coding with a tab': post(
    ['Transfer-Encoding:\tchunked\t'],
    `${hex}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  ),
  'a coding in capitals': post(['TRANSFER-ENCODING: CHUNKED'], `${hex}\r\n${HIDDEN}\r\n0\r\n\r\n`),
  'a quoted coding': post(['Transfer-Encoding: "chunked"', LENGTH], HIDDEN),
  'a coding with an underscore': post(['Transfer_Encoding: chunked', LENGTH], HIDDEN),
  'a coding after LF': post([`X: y\n${CHUNKED}`, LENGTH], HIDDEN),
  'a coding after CR': post([`X: y\r${CHUNKED}`, LENGTH], HIDDEN),
  'LF in place of CRLF': `GET /a HTTP/1.1\nHost: a\n\n${HIDDEN}`,
  'LF after the head': get('X: y\n\n'),
  'LF, CRLF after the head': get('X: y\n\r\n'),
  'a bare CR in a value': get('X: y\r'),
  'two bare CR in a value': get('X: y\r\r'),
  'CR, CR, LF': get('X: y\r\r\n'),
  'a request line in two packets': ['GET /a HT', 'TP/1.1\r\nHost: a\r\n\r\n'],
  'a request line in two packets, with a body': ['POST /a HT', post([LENGTH], HIDDEN).slice(10)],
  'a head in packets': ['GET /a HTTP/1.1\r', '\nHost: a\r\n', '\r', '\n'],
  'a header name in two packets': [
    'POST /a HTTP/1.1\r\nHost: a\r\nContent-Le',
    `ngth: ${length}\r\n\r\n${HIDDEN}`,
  ],
  'a chunk size in two packets': [
    post([CHUNKED], hex.slice(0, 1)),
    `${hex.slice(1)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  ],
  'a pipelined request': `GET /a HTTP/1.1\r\nHost: a\r\n\r\n${HIDDEN}`,
  'a pipelined request after a POST': post(['Content-Length: 0'], HIDDEN),
  'a pipelined request after a chunked POST': post([CHUNKED], `0\r\n\r\n${HIDDEN}`),
  'an empty line first': `\r\n\r\n${post([LENGTH], HIDDEN)}`,
  'HTTP/1.0 with a length': post([LENGTH, 'Connection: keep-alive'], HIDDEN).replace('1.1', '1.0'),
  'HTTP/1.0 with a coding': post([CHUNKED, LENGTH], `0\r\n\r\n${HIDDEN}`).replace('1.1', '1.0'),
  'HTTP/0.9': `GET /a\r\n${HIDDEN}`,
  'HTTP/1.2': `GET /a HTTP/1.2\r\nHost: a\r\n${LENGTH}\r\n\r\n${HIDDEN}`,
  'two hosts': get('Host: b\r\n\r\n'),
  'a host with a request': `GET /a HTTP/1.1\r\nHost: a/\r\n\r\n${HIDDEN}`,
  'an upgrade with a body': post(['Connection: upgrade', 'Upgrade: h2c', LENGTH], HIDDEN),
  'a refused WebSocket': `GET /api/v1/stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 12\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n${HIDDEN}`,
  'a head above 16 KiB': post([`X: ${'x'.repeat(20_000)}`, LENGTH], HIDDEN),
  'two hundred headers': post(
    [...Array.from({ length: 200 }, (_, i) => `X${i}: y`), LENGTH],
    HIDDEN,
  ),
};
/** After a whole request: a server without a proxy in front answers the second one, too. */
const PIPELINED = [
  'a pipelined request',
  'a pipelined request after a POST',
  'a pipelined request after a chunked POST',
];
/**
 * Where uWebSockets.js' build for Node 20 reads a second request without a proxy in front (docs/settings.md#the-http-engine):
 * it ignores the headers after one without a name, and reads an empty chunk size as 0, and trailers as a request.
 */
const OLD_BUILD = [
  'a header without a name, then an empty line',
  'a header without a name before a length',
  'an empty chunk size',
  'a trailer that is a request',
];
/** A GET without a body, whose handshake no engine accepts. */
const UPGRADE = 'a refused WebSocket';

interface Address {
  port: number;
  isTls: boolean;
}

let paths: string[] = [];
let fences = 0;

async function opened({ port, isTls }: Address): Promise<Socket> {
  const socket = isTls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  await new Promise<void>((resolve) => {
    socket.once(isTls ? 'secureConnect' : 'connect', resolve).once('close', () => resolve());
  });
  return socket;
}

/** What was sent before has been read once a later request on another connection has arrived. */
async function fence(at: Address): Promise<void> {
  const path = `/fence/${++fences}`;
  const socket = await opened(at);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  await eventually('the fence', () => paths.includes(path));
  socket.destroy();
}

/**
 * Sends each case on a connection of its own, and with a path of its own: a proxy may pass a request on late.
 * @returns the paths of the requests that the server has seen, by case; its own as /a
 */
async function seenAfterEach(at: Address): Promise<Record<string, string[]>> {
  const own: string[] = [];
  const others: Record<string, string[]> = {};
  paths = [];
  for (const [n, [what, packets]] of Object.entries(CASES).entries()) {
    const before = paths.length;
    const socket = await opened(at);
    for (const [i, packet] of [packets].flat().entries()) {
      if (socket.writable) {
        socket.write(i === 0 ? packet.replace('/a', `/a${n}`) : packet, 'latin1');
      }
      await fence(at);
    }
    for (let i = 0; i < 3; i++) await fence(at);
    socket.destroy();
    own.push(`/a${n}`);
    // HAProxy checks the server's health.
    others[what] = paths.slice(before).filter((path) => !/^\/(fence\/|healthz$|a\d+$)/.test(path));
  }
  return Object.fromEntries(
    Object.entries(others).map(([what, more], n) => {
      const seen = paths.filter((path) => path === own[n]).map(() => '/a');
      return [what, [...seen, ...more]];
    }),
  );
}

const casesOf = (seen: Record<string, string[]>, is: (paths: string[]) => boolean): string[] =>
  Object.keys(seen).filter((what) => is(seen[what]));
const isHidden = (requests: string[]): boolean => requests.includes('/metrics');

describe.each(ENGINES)('engine %s', (name) => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer({
      engine: await loadEngine(name, NO_LOGGER),
      host: '127.0.0.1',
      port: 0,
      handle(exchange) {
        paths.push(exchange.path);
        exchange.replyJson(200, {});
      },
      logger: NO_LOGGER,
    });
  });
  afterAll(() => server.close());

  it('without a proxy reads a second request only where there is one', async () => {
    const seen = await seenAfterEach({ port: server.port, isTls: false });
    const isOldBuild = name === 'uws' && process.version.startsWith('v20.');
    const expected = isOldBuild ? [...PIPELINED, ...OLD_BUILD] : PIPELINED;
    const found = casesOf(seen, isHidden).filter((what) => what !== UPGRADE);
    expect(found.sort()).toEqual(expected.sort());
    if (isOldBuild) expect(seen['a request line in two packets']).toEqual([]);
  });

  it.each(INSTALLED_PROXIES)(
    'behind %s gets no request that the proxy has not sent',
    async (of) => {
      const proxy = await startProxy(of, server.port);
      try {
        const at = { port: Number(new URL(proxy.url).port), isTls: true };
        await eventually('the proxy passes requests on', async () => {
          proxy.check();
          paths = [];
          const socket = await opened(at);
          if (socket.destroyed) return false;
          const isOver = new Promise((resolve) =>
            socket.once('data', resolve).once('close', resolve),
          );
          socket.write('GET /ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
          await isOver;
          socket.destroy();
          return paths.includes('/ready');
        });
        const seen = await seenAfterEach(at);
        expect(casesOf(seen, (requests) => isHidden(requests) || requests.length > 1)).toEqual([]);
        expect(seen['a body']).toEqual(['/a']);
        expect(seen['a request line in two packets']).toEqual(['/a']);
      } finally {
        await proxy.stop();
      }
    },
  );
});
