import { setImmediate as turn } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import type { EngineName } from '../../server/http/engine.js';
import { SOCKET_LIMITS } from '../../server/http/outlet.js';
import { newKey, type Service, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { expectServed, frame, PING, PONG, Raw, text, TEXT } from '../support/raw-socket.js';
import { eventually } from '../support/waiting.js';

/** A close frame of 1008. */
const TOO_MANY_PARTS = Buffer.from([0x88, 2, 1008 >> 8, 1008 & 255]);

describe.each<EngineName>(['uws', 'node'])('A flood of live messages on engine %s', (engine) => {
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

  const expectServing = () => expectServed(service, othersKey);
  const times = (count: number, one: Uint8Array): Uint8Array[] =>
    Array.from({ length: count }, () => one);

  it('of messages ends its connection', async () => {
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
  ])('is of at most %s', async (limit, count) => {
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

  it.each([
    ['pings', PING],
    ['pongs', PONG],
  ])('of %s ends its connection, and little of it is answered', async (_, opcode) => {
    const raw = await Raw.open(service.url, key);
    const before = raw.received.length;
    raw.send(...times(10_000, frame(opcode, Buffer.from('a'))));
    // ws itself cuts a client if many replies to its pings wait.
    if (engine === 'uws' || opcode === PONG) await raw.hears('500 messages a second');
    else await raw.ends();
    expect(raw.received.length - before).toBeLessThan(2 * 500 * 3);
    raw.socket.destroy();
    await expectServing();
  });

  it('of pings is short without a key', async () => {
    const raw = await Raw.open(service.url, null);
    await eventually('the end', () => {
      raw.send(...times(21, text({ op: 'ping' })));
      return raw.received.includes('20 messages a second without a key');
    });
    raw.socket.destroy();
    await expectServing();
  });

  it('of all connections of a key is counted together', async () => {
    const limit = '5000 messages a second from all connections of the key';
    let isEnded = false;
    // A burst may be counted in two seconds.
    while (!isEnded) {
      const raws = await Promise.all(
        Array.from({ length: 20 }, () => Raw.open(service.url, floodKey)),
      );
      const burst = times(490, frame(PONG, Buffer.alloc(0)));
      for (const raw of raws) raw.send(...burst, text({ op: 'ping' }));
      for (const raw of raws) {
        const [refused, answered] = [limit, '"pong"'].map(
          (words) => () => raw.received.includes(words),
        );
        await eventually('an answer', () => raw.isClosed || refused() || answered());
        isEnded ||= refused();
        raw.socket.destroy();
      }
    }
    await expectServing();
  });
});

describe('A message in very many parts, on engine node', () => {
  let url: string;

  beforeAll(async () => {
    url = (await serveHere(temporaryDirectory(), ['--http-engine', 'node'])).url;
  });

  it('ends its connection before they take memory', async () => {
    const raw = await Raw.open(url, null);
    raw.send(frame(TEXT, Buffer.from('a'), { fin: false }));
    for (let i = 0; i < SOCKET_LIMITS.maxFragments; i++) {
      raw.send(frame(0, Buffer.from('a'), { fin: false }));
    }
    await eventually('the close', () => raw.received.includes(TOO_MANY_PARTS));
    await raw.ends();
  });

  it('may have as many as a careful client sends', async () => {
    const raw = await Raw.open(url, null);
    const parts = [...'{"op":"ping"}'].map((part, i) =>
      frame(i === 0 ? TEXT : 0, Buffer.from(part), { fin: false }),
    );
    raw.send(...parts, frame(0, Buffer.alloc(0)));
    await raw.hears('"pong"');
    raw.socket.destroy();
  });

  it('ends its connection if a part arrives byte by byte', async () => {
    const raw = await Raw.open(url, null);
    raw.socket.setNoDelay(true);
    raw.send(frame(TEXT, Buffer.from('a'), { length: 60_000 }));
    let pieces = 0;
    for (; !raw.isClosed; pieces++) {
      raw.send(Buffer.from('a'));
      await turn();
    }
    expect(pieces).toBeGreaterThan(SOCKET_LIMITS.maxPieces / 2);
    expect(raw.received.includes(TOO_MANY_PARTS)).toBe(true);
  });
});
