/** Live connections under random messages and cursors: nothing that a client sends fails inside, or writes into the log. */
import fc from 'fast-check';
import { pack, unpack } from 'msgpackr';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { CHANNELS } from '../../server/live/protocol.js';
import { newKey, serveHere, type Service } from '../support/cli.js';
import { ENGINES } from '../support/engines.js';
import { HOUR } from '../support/flat.js';
import { ingest, lines, MINT, Scratch } from '../support/ingest.js';
import { eventually } from '../support/waiting.js';
import { LIMIT_MS, mutatedBytes, mutatedJson, runs, strange } from './random.js';
import { ROWS } from './rows.js';

interface Heard {
  type: string;
  id?: string;
  cursor?: string;
  error_code?: string;
}

const scratch = Scratch.held();
let key: string;
beforeAll(async () => {
  for (const dataset of ['snapshots', 'dca_orders'] as const) {
    await ingest(scratch.data, dataset, [scratch.file('.ndjson', lines(ROWS[dataset]))]);
  }
  key = await newKey(scratch.data);
});

const texts = fc.oneof(
  fc.constantFrom('-1h', 'now', '1e3', 'all', '', '\0', '\ud800', '9'.repeat(40), '1.a.b.c.d.e'),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
const message = fc.oneof(
  fc.constant({ op: 'ping' }),
  fc.record({ op: fc.constant('auth'), key: texts }),
  fc.record({ op: fc.constant('unsubscribe'), id: fc.oneof(fc.constant('a'), texts) }),
  fc.record(
    {
      op: fc.constant('subscribe'),
      id: fc.oneof(fc.constantFrom('a', 'b', 'c'), texts),
      channel: fc.constantFrom(...CHANNELS),
      address: fc.constant(MINT),
      from: texts,
      cursor: texts,
      chain: texts,
      group: fc.constantFrom('market', 'venue', 'all', 'x'),
      venues: fc.oneof(texts, fc.array(texts, { maxLength: 3 })),
      limit: strange,
    },
    { requiredKeys: ['op', 'id', 'channel'] },
  ),
);
/** Texts that cannot be encoded, as values and names. */
const unencodable = fc
  .constantFrom('from', 'cursor', 'venues', 'id', 'address', '\ud800', 'a\udfff')
  .map((name) => ({
    op: 'subscribe',
    id: 'd',
    channel: 'depth',
    address: MINT,
    [name]: '\udc00x',
  }));
const sent = fc
  .oneof({ weight: 9, arbitrary: message }, unencodable)
  .chain((one: object) =>
    fc.oneof(
      fc.constant(one),
      mutatedJson<object>(one),
      mutatedBytes(Buffer.from(JSON.stringify(one))),
      mutatedBytes(pack(one)),
    ),
  );

const LAST = { op: 'subscribe', id: 'the last', channel: 'depth', address: MINT };

/** Sends the messages, and a good one, which the server answers unless it hangs up. @returns what it said */
async function answersTo(
  url: string,
  messages: readonly unknown[],
  isText: boolean,
  own: string | null,
): Promise<Heard[]> {
  const socket = new WebSocket(
    `${url.replace('http', 'ws')}/api/v1/stream`,
    [isText ? 'fathom.v1.json' : 'fathom.v1.msgpack'],
    { headers: own === null ? {} : { 'x-api-key': own } },
  );
  const heard: Heard[] = [];
  let isClosed = false;
  socket.on('error', () => undefined);
  socket.on('close', () => (isClosed = true));
  socket.on('message', (data: Buffer, isBinary) =>
    heard.push((isBinary ? unpack(data) : JSON.parse(data.toString())) as Heard),
  );
  await eventually('the connection', () => socket.readyState === WebSocket.OPEN || isClosed);
  for (const one of [...messages, LAST]) {
    if (one instanceof Uint8Array) socket.send(one, { binary: !isText });
    else socket.send(isText ? (JSON.stringify(one) ?? '') : pack(one));
  }
  await eventually('an answer', () => isClosed || heard.some(({ id }) => id === LAST.id));
  socket.terminate();
  return heard;
}

describe.each(ENGINES)('by the engine %s', (engine) => {
  let service: Service;
  beforeAll(async () => {
    const words = [
      '--http-engine',
      engine,
      '--as-of',
      String(HOUR + 3700),
      '--stale-after',
      '365d',
    ];
    service = await serveHere(scratch.data, words);
  });
  afterAll(async () => {
    expect(service.logged()).not.toMatch(/level"?[=:]"?error|"stack"/);
    await service.stop();
  });

  it('answers any message in words', { timeout: LIMIT_MS }, async () => {
    const types = new Set<string>();
    const some = fc.array(sent, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(some, fc.boolean(), fc.boolean(), async (messages, isText, hasKey) => {
        const heard = await answersTo(service.url, messages, isText, hasKey ? key : null);
        expect(heard.filter(({ error_code: code }) => code === 'internal_error')).toEqual([]);
        for (const { type } of heard) types.add(type);
      }),
      runs(60),
    );
    expect([...types]).toEqual(expect.arrayContaining(['pong', 'error', 'subscribed']));
  });

  it('answers any cursor in words', { timeout: LIMIT_MS }, async () => {
    const subscribe = { ...LAST, id: 'a' };
    let cursor = '';
    await eventually('a cursor', async () => {
      const heard = await answersTo(service.url, [{ ...subscribe, from: '-7d' }], true, key);
      cursor = heard.find((one) => one.cursor !== undefined)?.cursor ?? '';
      return cursor !== '';
    });
    const cursors = fc.oneof(mutatedBytes(Buffer.from(cursor)).map(String), texts);
    await fc.assert(
      fc.asyncProperty(cursors, async (odd) => {
        const heard = await answersTo(service.url, [{ ...subscribe, cursor: odd }], true, key);
        expect(heard.filter(({ error_code: code }) => code === 'internal_error')).toEqual([]);
        const last = Buffer.from(odd)
          .toString('latin1')
          .replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '');
        const stop = new AbortController();
        const reply = await fetch(`${service.url}/api/v1/stream/${MINT}`, {
          headers: { 'x-api-key': key, 'last-event-id': last },
          signal: stop.signal,
        });
        expect([200, 400]).toContain(reply.status);
        stop.abort();
      }),
      runs(30),
    );
  });
});
