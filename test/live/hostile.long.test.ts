import { pack } from 'msgpackr';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EngineName } from '../../server/http/engine.js';
import { newKey, type Service, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { BINARY, expectServed, frame, PING, Raw, text, TEXT } from '../support/raw-socket.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

/** How long a connection may take to send its key. */
const AUTH_LIMIT_MS = 5_000;
describe.each<EngineName>(['uws', 'node'])('A hostile client of live on engine %s', (engine) => {
  let service: Service;
  let key: string;
  let othersKey: string;

  beforeAll(async () => {
    const directory = temporaryDirectory();
    key = await newKey(directory);
    othersKey = await newKey(directory);
    service = await serveHere(directory, ['--http-engine', engine]);
  });
  afterEach(() => vi.restoreAllMocks());

  const expectServing = () => expectServed(service, othersKey);
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

  /** A map of a ping and of another value. */
  const withPing = (...value: number[]) =>
    frame(
      BINARY,
      Buffer.concat([Buffer.of(0x82), pack('op'), pack('ping'), pack('x'), Buffer.from(value)]),
    );
  const TEXTS = [...pack(['a', 'b'])];
  it.each<[what: string, message: Buffer]>([
    ['a record of the library', withPing(0xd4, 0x72, 0x40, 0x92, ...pack('a'), ...pack('b'), 1, 2)],
    ['a record with a long id', withPing(0xd5, 0x72, 0x40, 0x01, 0x91, ...pack('a'), 1)],
    ['a regular expression', withPing(0xc7, TEXTS.length, 0x78, ...TEXTS)],
    ['a regular expression, its values after it', withPing(0xd4, 0x78, 0, ...TEXTS)],
    ['a time', withPing(0xd6, 0xff, 1, 2, 3, 4)],
    ['a time of 96 bits', withPing(0xc7, 12, 0xff, ...Array<number>(12).fill(1))],
    ['a large integer of the library', withPing(0xc7, 9, 0x42, ...Array<number>(9).fill(1))],
    ['an error', withPing(0xd4, 0x65, 0, ...pack(['TypeError', 'a', null]))],
    ['a set', withPing(0xd4, 0x73, 0, ...TEXTS)],
    ['a typed array', withPing(0xd5, 0x74, 0, 1)],
    ['an undefined value', withPing(0xd4, 0, 0)],
    ['texts in a bundle', withPing(0xd6, 0x62, 0, 0, 0, 8, 0xc1)],
    ['an extension of 4 GB', withPing(0xc9, 0xff, 0xff, 0xff, 0xff, 0x01)],
    ['an unknown extension', withPing(0xd8, 0x05, ...Array<number>(16).fill(1))],
    ['an extension in a list', withPing(0x92, 1, 0xd4, 0x72, 0x40)],
    ['the type that is never used', withPing(0xc1)],
    ['a list said to be of 4 billion', withPing(0xdd, 0xff, 0xff, 0xff, 0xff, 1)],
    ['a map said to be of 4 billion', withPing(0xdf, 0xff, 0xff, 0xff, 0xff, 0xa1, 0x61, 1)],
    ['a text said to be of 4 GB', withPing(0xdb, 0xff, 0xff, 0xff, 0xff, 0x61)],
    ['bytes said to be of 4 GB', withPing(0xc6, 0xff, 0xff, 0xff, 0xff, 0x61)],
    ['lists of lists', withPing(...Array<number>(60_000).fill(0x91), 1)],
    ['lists of lists without end', withPing(...Array<number>(60_000).fill(0xdd))],
    ['a second value', Buffer.concat([withPing(1, 1)])],
    ['nothing', frame(BINARY, Buffer.of())],
  ])('gets an error for MessagePack with %s, and stays connected', async (_, message) => {
    const raw = await Raw.open(service.url, key);
    raw.send(message);
    await raw.hears('message: expected a MessagePack map');
    expect(raw.received.includes('"pong"')).toBe(false);
    raw.send(text({ op: 'ping' }));
    await raw.hears('"pong"');
    raw.socket.destroy();
  });

  it('may send every standard type of MessagePack', async () => {
    const raw = await Raw.open(service.url, key);
    const values = [
      ...[0xc0, 0xc2, 0xc3, 0xc4, 1, 9, 0xc5, 0, 1, 9, 0xc6, 0, 0, 0, 1, 9],
      ...[0xca, 0, 0, 0, 0, 0xcb, 0, 0, 0, 0, 0, 0, 0, 0],
      ...[0xcc, 1, 0xcd, 0, 1, 0xce, 0, 0, 0, 1, 0xcf, 0, 0, 0, 0, 0, 0, 0, 1],
      ...[0xd0, 1, 0xd1, 0, 1, 0xd2, 0, 0, 0, 1, 0xd3, 0, 0, 0, 0, 0, 0, 0, 1],
      ...[0xd9, 1, 0x61, 0xda, 0, 1, 0x61, 0xdb, 0, 0, 0, 1, 0x61, 0xa1, 0x61],
      ...[0xdc, 0, 1, 1, 0xdd, 0, 0, 0, 1, 1, 0x91, 1],
      ...[0xde, 0, 1, 0xa1, 0x61, 1, 0xdf, 0, 0, 0, 1, 0xa1, 0x61, 1, 0x81, 0xa1, 0x61, 1, 0xff],
    ];
    raw.send(withPing(0xdc, 0, 27, ...values));
    await raw.hears('"pong"');
    raw.socket.destroy();
  });

  it('may send numbers as 64-bit integers', async () => {
    const raw = await Raw.open(service.url, key);
    const fields = { op: 'subscribe', channel: 'depth', id: 'a', address: MINT };
    const head = pack({ ...fields, from: 0 });
    const whole = Buffer.concat([head.subarray(0, -1), Buffer.of(0xd3, 0, 0, 0, 0, 0, 0, 0, 1)]);
    raw.send(frame(BINARY, whole));
    await raw.hears('from');
    expect(raw.received.toString('latin1')).not.toContain('expected a text, a number');
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
