import { connect, type Socket } from 'node:net';
import { pack } from 'msgpackr';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import type { EngineName } from '../../server/http/engine.js';
import { newKey, type Service, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

/** How long a connection may take to send its key. */
const AUTH_LIMIT_MS = 5_000;
const MASK = Buffer.from([1, 2, 3, 4]);
const TEXT = 1;
const BINARY = 2;
const PING = 9;

/** A frame as sent by a client, with the mistakes of a hostile one. */
function frame(
  opcode: number,
  payload: Uint8Array,
  { fin = true, masked = true, reserved = 0, length = payload.length } = {},
): Buffer {
  const head = [(fin ? 0x80 : 0) | reserved | opcode];
  const mask = masked ? 0x80 : 0;
  if (length < 126) head.push(mask | length);
  else if (length < 65_536) head.push(mask | 126, length >> 8, length & 0xff);
  else head.push(mask | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((bits) => (length >>> bits) & 0xff));
  const body = masked ? Uint8Array.from(payload, (byte, i) => byte ^ MASK[i % 4]) : payload;
  return Buffer.concat([Buffer.from(head), masked ? MASK : Buffer.alloc(0), body]);
}
const text = (message: unknown) => frame(TEXT, Buffer.from(JSON.stringify(message)));

/** A socket below the WebSocket: it may send what no library sends, and not read. */
class Raw {
  received = Buffer.alloc(0);
  isClosed = false;

  private constructor(readonly socket: Socket) {
    socket.on('data', (data) => (this.received = Buffer.concat([this.received, data])));
    socket.on('close', () => (this.isClosed = true));
    socket.on('error', () => undefined);
  }

  static async open(url: string, key: string | null): Promise<Raw> {
    const { port } = new URL(url);
    const raw = new Raw(connect(Number(port), '127.0.0.1'));
    raw.socket.write(
      `GET /api/v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n` +
        `${key === null ? '' : `x-api-key: ${key}\r\n`}\r\n`,
    );
    await eventually('the upgrade', () => raw.received.includes('\r\n\r\n'));
    expect(raw.received.toString('latin1')).toMatch(/^HTTP\/1.1 101 /);
    return raw;
  }

  send(...frames: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  async ends(): Promise<void> {
    await eventually('the end of the connection', () => this.isClosed);
  }

  async hears(words: string): Promise<void> {
    await eventually(
      () => `${words}, but ${this.received.toString('latin1')}`,
      () => this.received.includes(words),
    );
  }
}

describe.each<EngineName>(['uws', 'node'])('A hostile client of live on engine %s', (engine) => {
  let service: Service;
  let key: string;
  let othersKey: string;
  let floodKey: string;

  beforeAll(async () => {
    const directory = temporaryDirectory();
    key = await newKey(directory);
    othersKey = await newKey(directory);
    floodKey = await newKey(directory);
    service = await serveHere(directory, ['--http-engine', engine]);
  });
  afterEach(() => vi.restoreAllMocks());

  /** Others are served nevertheless. */
  const expectServing = async () => {
    expect((await service.get(`/score/${MINT}`, othersKey)).status).toBe(200);
    const raw = await Raw.open(service.url, othersKey);
    raw.send(text({ op: 'ping' }));
    await raw.hears('"pong"');
    raw.socket.destroy();
  };
  const metric = async (name: string) => {
    const lines = await (await fetch(`${service.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(lines)?.[1]);
  };

  it.each<[what: string, frames: Buffer[]]>([
    ['a message that is too long', [frame(TEXT, Buffer.alloc(65_537, 'a'))]],
    ['a length of terabytes', [frame(TEXT, Buffer.from('a'), { length: 2 ** 31 - 1 })]],
    ['a compressed frame', [frame(TEXT, Buffer.from('{}'), { reserved: 0x40 })]],
    ['bytes that are no UTF-8', [frame(TEXT, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))]],
    ['an opcode that does not exist', [frame(3, Buffer.from('{}'))]],
    ['a ping in pieces', [frame(PING, Buffer.from('a'), { fin: false })]],
    [
      'pieces without end',
      [
        frame(TEXT, Buffer.alloc(40_000, 'a'), { fin: false }),
        frame(0, Buffer.alloc(40_000, 'a'), { fin: false }),
      ],
    ],
  ])('is cut off for %s', async (_, frames) => {
    const raw = await Raw.open(service.url, key);
    raw.send(...frames);
    await raw.ends();
    await expectServing();
  });

  it('keeps a subscription whose id belonged to one that failed after it was ended', async () => {
    const raw = await Raw.open(service.url, key);
    const score = { op: 'subscribe', id: 'a', channel: 'score', address: MINT, at: 'never' };
    // In one packet: on Node's engine the first has not failed yet when its id is used again.
    raw.send(
      text(score),
      text({ op: 'unsubscribe', id: 'a' }),
      text({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT }),
    );
    await raw.hears('"subscribed"');
    const before = raw.received.length;
    raw.send(text({ op: 'unsubscribe', id: 'a' }), text({ op: 'ping' }));
    await raw.hears('"pong"');
    expect(raw.received.subarray(before).includes('"unsubscribed"')).toBe(true);
    raw.socket.destroy();
  });

  it('is cut off, or gets an error, for a frame without a mask', async () => {
    const raw = await Raw.open(service.url, key);
    const before = raw.received.length;
    // uWebSockets.js takes the first four bytes as the mask.
    raw.send(frame(TEXT, Buffer.from('{"op":"ping"}'), { masked: false }), Buffer.alloc(8));
    await eventually(
      'an end or an error',
      () => raw.isClosed || raw.received.subarray(before).includes('invalid_body'),
    );
    raw.socket.destroy();
    await expectServing();
  });

  it('gets a pong for a ping between the parts of a message, and an answer to the message', async () => {
    const raw = await Raw.open(service.url, key);
    const [first, second] = ['{"op":', '"ping"}'].map((part) => Buffer.from(part));
    raw.send(
      frame(TEXT, first, { fin: false }),
      frame(PING, Buffer.from('here')),
      frame(0, second),
    );
    await raw.hears('here');
    await raw.hears('"pong"');
    raw.socket.destroy();
  });

  it.each<[what: string, message: Buffer, answer: string]>([
    ['no JSON', frame(TEXT, Buffer.from('{"op"')), 'expected a JSON object'],
    ['a list', text([1]), 'expected a JSON object'],
    ['null', text(null), 'expected a JSON object'],
    ['no MessagePack', frame(BINARY, Buffer.from([0xdc])), 'expected a MessagePack map'],
    ['a key in the prototype', text({ ['__proto__']: 1, op: 'x' }), 'op: expected any of'],
    ['a number as an id', text({ op: 'subscribe', channel: 'depth', id: 1 }), 'id: expected'],
    ['a long id', text({ op: 'unsubscribe', id: 'a'.repeat(101) }), 'id: expected 1 to 100'],
    [
      'lists in lists',
      text({ op: 'subscribe', channel: 'depth', id: 'a', address: MINT, venues: [['a']] }),
      'venues: expected a text',
    ],
    [
      'a huge list',
      text({
        op: 'subscribe',
        channel: 'depth',
        id: 'a',
        address: MINT,
        venues: Array(101).fill('a'),
      }),
      'venues: expected',
    ],
    ['bytes as an op', frame(BINARY, pack({ op: Buffer.from('ping') })), 'op: expected any of'],
  ])('gets an error for %s, and stays connected', async (_, message, answer) => {
    const raw = await Raw.open(service.url, key);
    raw.send(message, text({ op: 'ping' }));
    await raw.hears(answer);
    await raw.hears('"pong"');
    raw.socket.destroy();
  });

  /** Half of a surrogate pair, which JSON can have and UTF-8 cannot. */
  const HALF = '\ud800';
  const request = { op: 'subscribe', channel: 'depth', id: 'a', address: MINT };
  it.each<[what: string, message: object, answer: string]>([
    ['op', { op: HALF }, 'op: expected any of'],
    ['key', { op: 'auth', key: HALF }, 'key: expected a text without halves'],
    ['id', { ...request, id: HALF }, 'id: expected a text without halves'],
    ['channel', { ...request, channel: HALF }, 'channel: expected any of'],
    ['address', { ...request, address: HALF }, 'address: expected a text without halves'],
    ['from', { ...request, from: HALF }, 'from: expected a text without halves'],
    ['cursor', { ...request, cursor: `1.${HALF}` }, 'cursor: expected a text without halves'],
    ['venues', { ...request, venues: ['orca', HALF] }, 'venues: expected a text without halves'],
    ["parameter's name", { ...request, [HALF]: 1 }, '\\ud800: expected a text without halves'],
  ])(
    'gets an error for half a character in its %s, which is not logged',
    async (_, sent, answer) => {
      for (const own of [key, null]) {
        const raw = await Raw.open(service.url, own);
        raw.send(text(sent));
        await raw.hears(answer);
        raw.socket.destroy();
      }
      expect(service.logged()).not.toMatch(/level"?[=:]"?error/);
    },
  );

  it('is cut off when it floods the server with messages', async () => {
    const flood = new WebSocket(`${service.url.replace('http', 'ws')}/api/v1/stream`, {
      headers: { 'x-api-key': key },
    });
    let code = 0;
    flood.on('close', (given) => (code = given));
    await new Promise((resolve) => flood.once('open', resolve));
    for (let i = 0; i < 2000; i++) flood.send('{"op":"ping"}');
    await eventually('the end', () => code !== 0);
    expect(code).toBe(1008);
    await expectServing();
  });

  it.each([
    ['4 KiB of messages a second without a key', 1],
    ['256 KiB of messages a second from all connections of the key', 65],
  ])('sends at most %s', async (limit, count) => {
    const own = limit.includes('without') ? null : floodKey;
    const raws = await Promise.all([Raw.open(service.url, own), Raw.open(service.url, own)]);
    const padded = text({ op: 'ping', padding: 'x'.repeat(4096) });
    await eventually('the end', () => {
      for (const raw of raws) raw.send(...Array.from({ length: count }, () => padded));
      return raws.some((raw) => raw.received.includes(limit));
    });
    for (const raw of raws) raw.socket.destroy();
    await expectServing();
  });

  it('has at most 100 subscriptions', async () => {
    const raw = await Raw.open(service.url, key);
    const subscribe = { op: 'subscribe', channel: 'depth', address: MINT };
    for (let i = 0; i <= 100; i++) raw.send(text({ ...subscribe, id: `s${i}` }));
    await raw.hears('A connection has at most 100 subscriptions: unsubscribe from one first"}');
    raw.socket.destroy();
  });

  it('takes no memory for what it does not read', async () => {
    const raw = await Raw.open(service.url, key);
    raw.socket.pause();
    // Each gets a reply until too many are unread: then the client is cut off.
    const many = Buffer.concat(
      Array.from({ length: 400 }, () => text({ op: 'go', id: 'a'.repeat(90) })),
    );
    const pings = Buffer.concat(Array.from({ length: 1000 }, () => frame(PING, Buffer.alloc(125))));
    for (let i = 0; i < 40 && !raw.socket.destroyed; i++) {
      raw.socket.write(i % 2 === 0 ? pings : many);
      expect(await metric('fathom_stream_waiting_bytes')).toBeLessThan(2 * 1024 * 1024);
    }
    raw.socket.destroy();
    await expectServing();
  });

  it('keeps no connection for longer than 5 seconds without a key', async () => {
    const later = setTimeout;
    const due: (() => void)[] = [];
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
      if (ms !== AUTH_LIMIT_MS) return later(run, ms);
      due.push(run);
      return { unref: () => undefined };
    }) as typeof setTimeout);
    const raws = await Promise.all(Array.from({ length: 200 }, () => Raw.open(service.url, null)));
    await expectServing();
    expect(await metric('fathom_stream_connections')).toBeGreaterThanOrEqual(200);
    expect(due.length).toBeGreaterThanOrEqual(200);
    for (const end of due) end();
    for (const raw of raws) await raw.ends();
    await eventually('that the server has let go of all', async () => {
      return (await metric('fathom_stream_connections')) === 0;
    });
  });
});
