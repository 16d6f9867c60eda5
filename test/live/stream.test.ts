import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DamageError } from '../../compute/damage.js';
import type { EngineName } from '../../server/http/engine.js';
import { SegmentBlocks } from '../../server/replay/segment-blocks.js';
import { fathom, type Service, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  checkMessages,
  deleteSnapshots,
  ingestCells,
  LiveClient,
  type Message,
  timesOf,
} from '../support/live-client.js';
import { RawClient } from '../support/raw-client.js';
import { frame, Raw, TEXT } from '../support/raw-socket.js';
import { MINT, OTHER_MINT } from '../support/stores.js';
import { eventually, letPass } from '../support/waiting.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;
/** Even the minutes of a year are not enough: no message below may wait for a key's rate. */
const TERMS = ['--tier', 'enterprise', '--rpm', 'unlimited'];

describe.each<EngineName>(['uws', 'node'])('Live on engine %s', (engine) => {
  let directory: string;
  let service: Service;
  let key: string;
  const opened: LiveClient[] = [];

  const open = async (...call: Parameters<typeof LiveClient.open>): Promise<LiveClient> => {
    const client = await LiveClient.open(...call);
    opened.push(client);
    return client;
  };

  const ingest = (rows: Parameters<typeof ingestCells>[1], mint = MINT) =>
    ingestCells(directory, rows, mint);
  const newKey = async (...words: string[]) => {
    const { stdout } = await fathom(['keys', 'create', ...words, '--data', directory]);
    return /fathom_\w+\s*$/.exec(stdout)?.[0].trim() ?? stdout;
  };

  beforeAll(async () => {
    directory = temporaryDirectory();
    key = await newKey(...TERMS);
    service = await serveHere(directory, ['--as-of', String(NOW_S), '--http-engine', engine]);
    await ingest([
      [T0, 1],
      [T0 + 60, 2],
      [T0 + 120, 3],
    ]);
  });

  it('sends history, then new, revised and deleted snapshots, on one cursor', async () => {
    const client = await open(service.url, key);
    const subscribe = { op: 'subscribe', id: 'a', channel: 'depth', address: MINT };
    client.send({ ...subscribe, from: T0 + 60, group: 'all' });
    const subscribed = await client.next();
    expect(subscribed).toEqual({
      type: 'subscribed',
      id: 'a',
      token: MINT,
      chain: 'mainchain',
      next_from: T0 + 60,
      cursor: expect.any(String),
    });
    const history = await client.next();
    expect(history).toMatchObject({ type: 'snapshots', id: 'a', markets: [], groups: [] });
    const page = await service.get(`/replay/${MINT}?from=${T0 + 60}&to=${NOW_S}&group=all`, key);
    expect(history.snapshots).toEqual(((await page.json()) as Message).snapshots);
    expect(history.next_from).toBe(T0 + 121);

    await ingest([[T0 + 180, 4]]);
    expect(timesOf(await client.next())).toEqual([T0 + 180]);
    await ingest([
      [T0, 9],
      [T0 + 60, 9],
      [T0 + 90, 9],
    ]);
    const revised = await client.next();
    // Snapshots before `from` are not part of the subscription.
    expect([revised.type, timesOf(revised)]).toEqual(['revised', [T0 + 60, T0 + 90]]);
    expect((await deleteSnapshots(directory, T0 + 120, T0 + 121)).status).toBe(0);
    const deleted = await client.next();
    expect(deleted).toMatchObject({ type: 'deleted', id: 'a', t: [T0 + 120] });
    client.socket.close();

    // What changes while nobody listens is sent once to a client that returns.
    await ingest([
      [T0 + 60, 10],
      [T0 + 240, 5],
    ]);
    const again = await open(service.url, key, ['fathom.v1.msgpack']);
    again.send({ ...subscribe, cursor: deleted.cursor, group: 'all' });
    expect((await again.next()).type).toBe('subscribed');
    const missed = await again.next();
    expect([missed.type, timesOf(missed)]).toEqual(['revised', [T0 + 60]]);
    expect(missed.snapshots?.[0].support_usd).toEqual([10]);
    const fresh = await again.next();
    expect([fresh.type, timesOf(fresh)]).toEqual(['snapshots', [T0 + 240]]);
    expect(again.binary).toHaveLength(again.heard.length);
    again.send({ ...subscribe, id: 'b', cursor: fresh.cursor });
    expect((await again.next()).type).toBe('subscribed');
    const clock = letPass(5_000);
    const beat = await again.next((message) => message.id === 'b');
    clock.mockRestore();
    expect(beat).toMatchObject({ type: 'heartbeat', t: NOW_S, next_from: T0 + 241 });

    // Without the last snapshots, the next one may be any after those that are left.
    expect((await deleteSnapshots(directory, T0 + 180, T0 + 300)).status).toBe(0);
    const last = await again.next((message) => message.type === 'deleted');
    expect(last).toMatchObject({ t: [T0 + 180, T0 + 240], next_from: T0 + 91 });
    again.socket.close();
  });

  it('continues while segments are joined in the background', async () => {
    const clients = [await open(service.url, key), await open(service.url, key)];
    for (const client of clients) {
      client.send({ op: 'subscribe', id: 'j', channel: 'depth', address: MINT });
      await client.next();
    }
    // Each is a segment, until there are eight.
    const times = Array.from({ length: 20 }, (_, i) => T0 + 250 + i);
    for (const t of times) await ingest([[t, 1]]);
    for (const client of clients) {
      const heard: number[] = [];
      while (heard.length < times.length) heard.push(...timesOf(await client.next()));
      expect(heard).toEqual(times);
      client.socket.close();
    }
  });

  it('begins an unknown token with its first snapshot', async () => {
    const client = await open(service.url, key);
    client.send({ op: 'subscribe', id: 'n', channel: 'depth', address: OTHER_MINT });
    expect(await client.next()).toMatchObject({ type: 'subscribed', next_from: 0 });
    await ingest([[T0, 1]], OTHER_MINT);
    expect(timesOf(await client.next())).toEqual([T0]);
    client.socket.close();
  });

  it('sends the document of a score when it changes', async () => {
    const client = await open(service.url, key);
    client.send({ op: 'subscribe', id: 's', channel: 'score', address: MINT });
    expect(await client.next()).toEqual({ type: 'subscribed', id: 's', channel: 'score' });
    const first = await client.next();
    const answer = async () => (await service.get(`/score/${MINT}`, key)).json();
    expect(first).toMatchObject({ type: 'document', id: 's', channel: 'score', t: NOW_S });
    expect(first.document).toEqual(await answer());
    await ingest([[T0 + 300, 777]]);
    const second = await client.next(({ type }) => type === 'document');
    expect(second.document).not.toEqual(first.document);
    await eventually('the same score', async () => {
      const last = client.messages.filter(({ type }) => type === 'document').pop() ?? second;
      return JSON.stringify(last.document) === JSON.stringify(await answer());
    });
    client.socket.close();
  });

  it('answers an invalid message with an error that names the field, and continues', async () => {
    const client = await open(service.url, null);
    client.send({ op: 'auth', key });
    const subscribe = { op: 'subscribe', id: 'x', channel: 'depth', address: MINT };
    const faults: [object, RegExp][] = [
      [{ op: 'subscribe', id: 'x', channel: 'news' }, /^channel: expected any of depth, score/],
      [{ ...subscribe, address: undefined }, /^address: expected an address, was not sent/],
      [{ ...subscribe, address: 'x' }, /^address: expected a base58 mint/],
      [{ ...subscribe, id: '' }, /^id: expected 1 to 100 characters/],
      [{ ...subscribe, id: 7 }, /^id: expected a text$/],
      [{ ...subscribe, id: undefined }, /^id: expected a text, was not sent$/],
      [{ ...subscribe, channel: 'depths' }, /^channel: .*; was 'depths'; did you mean depth\?$/],
      [{ ...subscribe, channel: undefined }, /^channel: .*, dca-pressure, was not sent$/],
      [{ ...subscribe, from: '2100-01-01' }, /^from: expected a time at most an hour ahead of now/],
      [{ op: 'subscribe' }, /^id: expected a text, was not sent$/],
      [{ ...subscribe, grop: 'all' }, /^grop: channel depth has no such .*; did you mean group\?$/],
      [
        { ...subscribe, color: 1 },
        /^color: channel depth has no such parameter; it has address, from, cursor, group, /,
      ],
      [
        { ...subscribe, channel: 'score', color: 1 },
        /^color: channel score has no such parameter; it has address, chain, explain, at$/,
      ],
      [{ ...subscribe, group: { a: 1 } }, /^group: expected a text, a number/],
      [{ ...subscribe, min_pct: 50, max_pct: 10 }, /^min_pct: expected less than `max_pct`/],
      [{ ...subscribe, cursor: null }, /^cursor: expected a text, .*; was null$/],
      [{ ...subscribe, cursor: 'abc' }, /^cursor: expected one from a message/],
      [{ ...subscribe, cursor: 'abc', from: 5 }, /^cursor: cannot be combined with `from`$/],
      [{ op: 'unsubscribe', id: 'x' }, /^id: expected the id of a subscription/],
      [{ op: 'auth', key }, /^op: expected no auth; the connection already has a key$/],
      [{ op: 'go' }, /^op: expected any of auth, subscribe, unsubscribe, ping; was 'go'$/],
      [{ ...subscribe, op: 'subscrib' }, /^op: .*; was 'subscrib'; did you mean subscribe\?$/],
      [{ op: 7 }, /^op: expected any of .*, was not a text$/],
      [{ type: 'subscribe', id: 'x' }, /^op: .*, was not sent; rename type to op$/],
      [{ ...subscribe, channel: 'top-scores' }, /^address: expected none for channel top-scores$/],
    ];
    for (const [message, expected] of faults) {
      client.send(message);
      const error = await client.next();
      expect(error).toMatchObject({ type: 'error', error: 'Bad Request' });
      expect(error.message).toMatch(expected);
    }
    client.socket.send(Buffer.from('{"op":"ping"}'));
    expect((await client.next()).message).toMatch(/MessagePack map; JSON goes into text frames$/);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain(`fathom_stream_messages_total{type="error"} ${faults.length + 1}`);
    client.send({ op: 'ping' });
    expect(await client.next()).toEqual({ type: 'pong' });
    client.send({ ...subscribe, types: ['cex_perp'], group: 'venue' });
    expect((await client.next()).type).toBe('subscribed');
    client.send({ ...subscribe });
    expect((await client.next()).message).toMatch(/^id: expected one that no subscription/);
    client.send({ op: 'unsubscribe', id: 'x' });
    expect(await client.next()).toEqual({ type: 'unsubscribed', id: 'x' });
    client.socket.close();
  });

  it('reports that a from of more than 365 days ago is raised to that', async () => {
    const client = await open(service.url, key);
    const subscribe = { op: 'subscribe', channel: 'depth', address: MINT };
    client.send({ ...subscribe, id: 'old', from: '-366d' });
    expect(await client.next()).toMatchObject({
      type: 'subscribed',
      id: 'old',
      clamped: true,
      next_from: NOW_S - 365 * 86_400,
    });
    client.socket.close();
    const other = await open(service.url, key);
    other.send({ ...subscribe, id: 'new', from: '-365d' });
    const begun = await other.next();
    expect(begun).toMatchObject({ type: 'subscribed', id: 'new' });
    expect(begun).not.toHaveProperty('clamped');
    other.socket.close();
  });

  it('closes connections without a valid key, and those of a key that ends', async () => {
    const wrong = await open(service.url, 'wrong');
    expect(await wrong.end()).toMatchObject({ code: 4401 });
    const silent = await open(service.url, null);
    silent.send({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT });
    expect((await silent.end()).code).toBe(4401);

    const own = await newKey('--tier', 'premium', '--name', `brief-${engine}`);
    const clients: LiveClient[] = [];
    for (let i = 0; i < 10; i++) {
      const client = await open(service.url, own);
      client.send({ op: 'ping' });
      await client.next();
      clients.push(client);
    }
    await eventually('log lines that name the key', () =>
      /"route":"\/api\/v1\/stream","status":101,"key_id":"key_/.test(service.logged()),
    );
    expect((await (await open(service.url, own)).end()).code).toBe(4429);
    await fathom(['keys', 'revoke', `brief-${engine}`, '--data', directory]);
    for (const client of clients) expect((await client.end()).code).toBe(4401);
  });

  it('answers HEAD of a stream as GET, without opening one', async () => {
    const status = async (path: string, headers: Record<string, string> = {}) =>
      (
        await fetch(`${service.url}/api/v1/stream/${path}`, {
          method: 'HEAD',
          headers: { 'x-api-key': key, ...headers },
        })
      ).status;
    expect(await status(MINT)).toBe(200);
    expect(await status('abc')).toBe(400);
    expect(await status(`${MINT}?nothing=1`)).toBe(400);
    expect(await status(MINT, { accept: 'text/html' })).toBe(406);
    expect(await status(MINT, { 'accept-encoding': 'identity;q=0' })).toBe(406);
  });

  it.each([
    ['another version', { 'Sec-WebSocket-Version': '12' }],
    ['no version', { 'Sec-WebSocket-Version': null }],
    ['no Connection: Upgrade', { Connection: 'keep-alive' }],
    ['an invalid key', { 'Sec-WebSocket-Key': 'short' }],
  ])('refuses a handshake with %s', async (_, changes) => {
    const handshake: Record<string, string | null> = {
      Host: 'x',
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version': '13',
      'x-api-key': key,
      ...changes,
    };
    const lines = Object.entries(handshake).flatMap(([name, value]) =>
      value === null ? [] : [`${name}: ${value}`],
    );
    const client = await RawClient.connect(Number(new URL(service.url).port));
    client.send(`GET /api/v1/stream HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    await client.until('expected the handshake of a WebSocket, version 13');
    expect(client.received.toString()).toMatch(
      /^HTTP\/1\.1 400 [^]*\r\nSec-WebSocket-Version: 13\r\n/,
    );
    client.socket.destroy();
  });

  it.each([
    ['repeated offers of its subprotocol', 'fathom.v1.json, fathom.v1.json', '"pong"'],
    ['its subprotocol among what is none', 'a b, fathom.v1.json,,', '"pong"'],
    ['no subprotocol that it knows', 'a b, c,,', 'Sec-WebSocket-Protocol: expected any of'],
  ])('answers a handshake with %s', async (_, protocols, answer) => {
    const raw = await Raw.open(service.url, key, { 'Sec-WebSocket-Protocol': protocols });
    raw.send(frame(TEXT, Buffer.from('{"op":"ping"}')));
    await raw.hears(answer);
    const isAccepted = raw.received.includes('Sec-WebSocket-Protocol: fathom.v1.json\r\n');
    expect(isAccepted).toBe(answer === '"pong"');
    raw.socket.destroy();
  });

  it('refuses query parameters of the handshake, since messages subscribe', async () => {
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/api/v1/stream?from=-1h`, {
      headers: { 'x-api-key': key },
    });
    const [, reply] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    const body = JSON.parse(await text(reply)) as object;
    expect([reply.statusCode, body]).toMatchObject([
      400,
      { parameter: 'from', message: 'from: the handshake of a WebSocket has no query parameters' },
    ]);
  });

  it('names requested venues of which the token has no market', async () => {
    const client = await open(service.url, key);
    const subscribe = { op: 'subscribe', id: 'v', channel: 'depth', address: MINT };
    client.send({ ...subscribe, venues: ['NoSuch', 'Orca'] });
    const subscribed = await client.next();
    expect(subscribed.venues_not_found).toEqual(['nosuch']);
    await checkMessages(service.url, [subscribed]);
    client.socket.close();
  });

  it('ends Server-Sent Events whole, and says why', async () => {
    const own = await newKey(...TERMS, '--name', `events-${engine}`);
    const reply = await service.get(`/stream/${MINT}`, own);
    await fathom(['keys', 'revoke', `events-${engine}`, '--data', directory]);
    // A reply with an invalid end would reject.
    const last = /\n\nevent: close\ndata: (.+)\n\n$/.exec(await reply.text())?.[1] ?? '';
    const close = JSON.parse(last) as Message;
    const reason = expect.stringMatching(/^Invalid API key: /) as string;
    expect(close).toEqual({ type: 'close', code: 4401, reason });
    await checkMessages(service.url, [close]);
  });

  it('streams the same as Server-Sent Events, which continue with the last id', async () => {
    const events = async (query: string, count: number, headers: Record<string, string> = {}) => {
      const stop = new AbortController();
      const reply = await fetch(`${service.url}/api/v1/stream/${MINT}${query}`, {
        headers: { 'x-api-key': key, accept: 'text/event-stream', ...headers },
        signal: stop.signal,
      });
      expect(reply.headers.get('content-type')).toBe('text/event-stream');
      let text = '';
      const found = () => [...text.matchAll(/id: (\S+)\ndata: (.+)\n\n/g)];
      const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
      while (found().length < count) {
        const { done, value = [] } = await reader.read();
        if (done) throw new Error(`the stream ended after ${text}`);
        text += Buffer.from(value).toString();
      }
      stop.abort();
      expect(text).toMatch(/^retry: \d+\n\n/);
      return found().map(([, id, data]) => ({ id, data: JSON.parse(data) as Message }));
    };
    const [subscribed, snapshots] = await events(`?from=${T0}&group=all`, 2);
    expect(subscribed.data).toMatchObject({ type: 'subscribed', id: 'stream', token: MINT });
    const page = await service.get(`/replay/${MINT}?from=${T0}&to=${NOW_S}&group=all`, key);
    expect(snapshots.data.snapshots).toEqual(((await page.json()) as Message).snapshots);
    expect(snapshots.id).toBe(snapshots.data.cursor);
    await ingest([[T0 + 60, 11]]);
    // A browser sends its original query, and the last id.
    const last = { 'last-event-id': snapshots.id };
    const [, revised] = await events(`?from=${T0}&group=all`, 2, last);
    expect([revised.data.type, timesOf(revised.data)]).toEqual(['revised', [T0 + 60]]);

    const fault = await service.get(`/stream/${MINT}?group=all&from=x`, key);
    expect([fault.status, await fault.json()]).toMatchObject([400, { parameter: 'from' }]);
    const plain = await service.get('/stream', key);
    expect([plain.status, await plain.json()]).toMatchObject([400, { parameter: 'Upgrade' }]);
    expect((await fetch(`${service.url}/api/v1/stream/${MINT}`)).status).toBe(401);
  });

  it('tells clients where to continue when the server stops, and serves them after a restart', async () => {
    const client = await open(service.url, key);
    client.send({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT, from: T0 });
    const { cursor } = await client.next(({ type }) => type === 'snapshots');
    await service.stop();
    const closing = await client.next(({ type }) => type === 'closing');
    expect(closing).toMatchObject({ id: 'a', cursor, retry_ms: expect.any(Number) });
    expect(await client.end()).toMatchObject({ code: 1012 });
    service = await serveHere(directory, ['--as-of', String(NOW_S), '--http-engine', engine]);
    await ingest([[T0 + 60, 12]]);
    const again = await open(service.url, key);
    again.send({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT, cursor });
    const revised = await again.next(({ type }) => type === 'revised');
    expect(timesOf(revised)).toEqual([T0 + 60]);
    again.send({ op: 'subscribe', id: 'b', channel: 'depth', address: OTHER_MINT, cursor });
    const error = await again.next(({ type }) => type === 'error');
    expect(error.message).toMatch(/^cursor: expected one of the same token/);
    again.socket.close();
  });

  it.runIf(engine === 'uws')(
    'accepts no cursor of the store from whose backup it was restored',
    async () => {
      const client = await open(service.url, key);
      client.send({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT });
      const { cursor } = await client.next();
      client.socket.close();
      const out = path.join(temporaryDirectory(), 'copy');
      expect((await fathom(['backup', '--out', out, '--data', directory])).status).toBe(0);
      // Both count their commits from the same position on.
      for (const store of [directory, out]) {
        expect((await deleteSnapshots(store, T0, T0 + 1)).status).toBe(0);
      }
      const copy = await serveHere(out, ['--as-of', String(NOW_S)]);
      const restored = await open(copy.url, key);
      restored.send({ op: 'subscribe', id: 'a', channel: 'depth', address: MINT, cursor });
      expect((await restored.next()).type).toBe('subscribed');
      expect(await restored.next()).toMatchObject({
        type: 'reset',
        reason: 'the cursor is of another store',
      });
      restored.socket.close();
      await copy.stop();
    },
  );

  it('sends only what its description allows', async () => {
    const heard = opened.flatMap((client) => client.heard);
    await checkMessages(service.url, heard);
    expect(new Set(heard.map(({ type }) => type)).size).toBeGreaterThan(7);
  });

  it.each([
    ['internal_error', new Error('a fault')],
    ['damaged_data', new DamageError('segment 1 is damaged')],
  ])('ends a subscription with %s, and does not ask to retry', async (code, fault) => {
    const client = await open(service.url, key);
    const read = vi.spyOn(SegmentBlocks.prototype, 'read').mockRejectedValue(fault);
    onTestFinished(() => read.mockRestore());
    client.send({
      op: 'subscribe',
      id: 'a',
      channel: 'depth',
      address: MINT,
      from: T0,
      max_pct: 7,
    });
    expect((await client.next()).type).toBe('subscribed');
    const error = await client.next();
    expect(error).toMatchObject({ type: 'error', id: 'a', error_code: code });
    expect(error).not.toHaveProperty('retry_ms');
  });
});
