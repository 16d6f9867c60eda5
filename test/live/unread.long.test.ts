/** What waits for live clients that do not read, and what a message names. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { queryObjects } from 'node:v8';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runningMs } from '../../compute/running-time.js';
import type { EngineName } from '../../server/http/engine.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { createRouter, type Route } from '../../server/http/router.js';
import { startHttpServer } from '../../server/http/server.js';
import type { LiveConnection } from '../../server/live/connection.js';
import { LiveConnections } from '../../server/live/connections.js';
import { DepthSubscription } from '../../server/live/depth-subscription.js';
import { COMMENT, EventWire } from '../../server/live/event-wire.js';
import { liveLimits, UnreadBytes } from '../../server/live/unread.js';
import { MIB, SHARES } from '../../server/memory.js';
import { fathom, newKey, type Service, serveHere } from '../support/cli.js';
import { ENGINES } from '../support/engines.js';
import { temporaryDirectory } from '../support/folders.js';
import { LiveClient, type Message } from '../support/live-client.js';
import { NO_LOGGER } from '../support/logger.js';
import { RawClient, requestText } from '../support/raw-client.js';
import { Raw, text } from '../support/raw-socket.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;
/** The least memory with one thread: 16 MiB of it for live messages. */
const LEAST_MEMORY = ['--memory-mib', '512'];
const { leastMib } = SHARES.live;

interface TestMarket {
  source: string;
  address: string;
  cells: [bin: number, supportUsd: number, resistanceUsd: number][];
}

async function ingestMarkets(directory: string, t: number, markets: readonly TestMarket[]) {
  const file = path.join(temporaryDirectory(), 'snapshots.ndjson');
  const row = { chain: 'mainchain', address: MINT, t, tier: 'raw', price_usd: 2 };
  const pools = markets.map((market) => ({
    exchange_type: 'DEX',
    type: 'onchain_pool',
    pair: 'A/B',
    ...market,
  }));
  writeFileSync(file, `${JSON.stringify({ ...row, markets: pools })}\n`);
  const { status, stderr } = await fathom(['ingest', 'snapshots', file, '--data', directory]);
  expect([status, stderr]).toEqual([0, expect.any(String)]);
}

/** A server with one route, until the end of the test. */
async function serve(engine: EngineName, route: Route, socketPath?: string) {
  const server = await startHttpServer({
    engine: await loadEngine(engine, NO_LOGGER),
    host: '127.0.0.1',
    port: 0,
    handle: createRouter([route], NO_LOGGER),
    logger: NO_LOGGER,
    socketPath,
  });
  onTestFinished(() => server.close());
  return server;
}

const metricOf = async (service: Service, name: string): Promise<number> => {
  const lines = await (await fetch(`${service.url}/metrics`)).text();
  return Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(lines)?.[1]);
};

describe.each(ENGINES)('Live on engine %s', (engine) => {
  let directory: string;
  let service: Service;

  beforeAll(async () => {
    directory = temporaryDirectory();
    await newKey(directory);
    const words = ['--as-of', String(NOW_S), '--http-engine', engine, ...LEAST_MEMORY];
    service = await serveHere(directory, words);
  });
  const keyOf = async (name: string): Promise<string> => {
    const words = ['--tier', 'enterprise', '--rpm', 'unlimited', '--name', name];
    const { stdout } = await fathom(['keys', 'create', ...words, '--data', directory]);
    return /fathom_\w+\s*$/.exec(stdout)?.[0].trim() ?? stdout;
  };

  it('names only the markets and groups that have cells in a message', async () => {
    const market = (i: number): TestMarket => ({
      source: `Venue ${i}`,
      address: `pool${i}`,
      cells: [[-1, 10 * i, 0]],
    });
    await ingestMarkets(directory, T0, [0, 1, 2, 3].map(market).slice(1));
    const key = await keyOf('columns');
    const views = [
      { id: 'market', group: 'market' },
      { id: 'venue', group: 'venue' },
      { id: 'filtered', group: 'market', exclude_venues: ['venue-1'] },
      { id: 'all', group: 'all' },
    ];
    const clients = await Promise.all([
      LiveClient.open(service.url, key),
      LiveClient.open(service.url, key, ['fathom.v1.msgpack']),
    ]);
    for (const client of clients) {
      onTestFinished(() => client.socket.close());
      for (const view of views)
        client.send({ op: 'subscribe', channel: 'depth', address: MINT, ...view });
      await eventually('all subscriptions', () => client.messages.length === views.length);
    }
    // The token's first and third market have no cells in these snapshots.
    await ingestMarkets(directory, T0 + 60, [market(2)]);
    await ingestMarkets(directory, T0 + 120, [market(2), market(3)]);
    const listed = (i: number) => ({
      source: `Venue ${i}`,
      exchange_type: 'DEX',
      address: `pool${i}`,
      pair: 'A/B',
    });
    const group = (i: number) => ({ key: `venue-${i}`, label: `Venue ${i}`, type: 'onchain_pool' });
    for (const client of clients) {
      const of = async (id: string): Promise<Message[]> => {
        const own = () => client.heard.filter((m) => m.type === 'snapshots' && m.id === id);
        await eventually(`both snapshots of ${id}`, () => own().length === 2);
        return own();
      };
      const shape = ({ markets, groups, snapshots = [] }: Message, name: string) => ({
        markets,
        groups,
        index: (snapshots as unknown as Record<string, number[]>[]).map((one) => one[name]),
        support: snapshots.map((one) => one.support_usd),
      });
      for (const id of ['market', 'filtered']) {
        const both = (await of(id)).map((message) => shape(message, 'market_idx'));
        expect(both).toEqual([
          { markets: [listed(2)], groups: [], index: [[0]], support: [[20]] },
          { markets: [listed(2), listed(3)], groups: [], index: [[0, 1]], support: [[20, 30]] },
        ]);
      }
      expect((await of('venue')).map((message) => shape(message, 'group_idx'))).toEqual([
        { markets: [], groups: [group(2)], index: [[0]], support: [[20]] },
        { markets: [], groups: [group(2), group(3)], index: [[0, 1]], support: [[20, 30]] },
      ]);
      expect((await of('all')).map((message) => shape(message, 'market_idx'))).toEqual([
        { markets: [], groups: [], index: [undefined], support: [[20]] },
        { markets: [], groups: [], index: [undefined], support: [[50]] },
      ]);
    }
  });

  it('ends a subscription whose messages would name more than a key may leave unread', async () => {
    const own = temporaryDirectory();
    const key = await newKey(own);
    const words = ['--as-of', String(NOW_S), '--http-engine', engine, ...LEAST_MEMORY];
    const wide = await serveHere(own, words);
    const markets = Array.from({ length: 20_000 }, (_, i): TestMarket => {
      const name = `${i} ${'ä'.repeat(190)}`;
      return { source: name, address: name, cells: [[-1, 10, 0]] };
    });
    const client = await LiveClient.open(wide.url, key);
    onTestFinished(() => client.socket.close());
    await ingestMarkets(own, T0, markets.slice(0, 1));
    for (const [id, group] of ['market', 'venue', 'all'].map((name) => [name, name])) {
      client.send({ op: 'subscribe', channel: 'depth', address: MINT, id, group });
    }
    await eventually('all subscriptions', () => client.messages.length === 3);
    await ingestMarkets(own, T0 + 60, markets);
    const last = (id: string): Message | undefined => client.heard.findLast((m) => m.id === id);
    for (const id of ['market', 'venue']) {
      await eventually(`an error of ${id}`, () => last(id)?.type === 'error');
      expect(last(id)).toMatchObject({ error: 'Bad Request', error_code: 'reply_too_large' });
      expect(last(id)?.message).toMatch(/at most 5\.0 MiB at once.*: choose venues or types/);
    }
    await eventually('the sums', () => last('all')?.type === 'snapshots');
    expect(last('all')?.snapshots?.[0].support_usd).toEqual([200_000]);
  });

  it('lets little wait for all clients of a key, and serves those of another', async () => {
    const { maxBytesInFlightPerKey } = liveLimits(leastMib * MIB);
    const [deafKey, otherKey] = [await keyOf('deaf'), await keyOf('other')];
    const band = { min_pct: -75, max_pct: 300 };
    const subscribe = { op: 'subscribe', id: 'a', channel: 'depth', address: MINT, ...band };
    const deaf = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const client = await LiveClient.open(service.url, deafKey);
        onTestFinished(() => client.socket.terminate());
        client.send(subscribe);
        await client.next();
        client.socket.pause();
        return client;
      }),
    );
    const other = await LiveClient.open(service.url, otherKey);
    onTestFinished(() => other.socket.terminate());
    other.send(subscribe);
    await other.next();
    const wide = (seed: number): TestMarket[] =>
      Array.from({ length: 300 }, (_, m) => ({
        source: `Wide ${m}`,
        address: `wide${m}`,
        cells: Array.from({ length: 270 }, (_, i) => [
          i - 135,
          1e6 + m + seed / 8,
          1e6 + i + seed / 8,
        ]),
      }));
    let longest = 0;
    let most = 0;
    // More than the buffers at both ends of a connection hold.
    for (let number = 1; number <= 5; number++) {
      const t = T0 + 3600 + 60 * number;
      await ingestMarkets(directory, t, wide(number));
      const message = await other.next(({ type }) => type === 'snapshots');
      expect(message.snapshots?.[0].t).toBe(t);
      longest = Math.max(longest, JSON.stringify(message).length);
      most = Math.max(most, await metricOf(service, 'fathom_stream_waiting_bytes'));
    }
    expect(longest).toBeGreaterThan(2 * MIB);
    expect(most).toBeGreaterThan(0);
    // Each of the twelve would have held a message and more.
    expect(most).toBeLessThan(maxBytesInFlightPerKey + 2 * longest);
    // Those that are in the way of others are cut, and their memory is free again.
    for (const client of deaf) client.socket.terminate();
    await eventually('that nothing waits', async () => {
      return (await metricOf(service, 'fathom_stream_waiting_bytes')) === 0;
    });
  });

  it('keeps no subscription that has ended, though its client reads nothing', async () => {
    const raw = await Raw.open(service.url, await keyOf('fickle'));
    onTestFinished(() => void raw.socket.destroy());
    raw.socket.pause();
    const band = { min_pct: -8, max_pct: 8 };
    const subscribe = { op: 'subscribe', channel: 'depth', address: MINT, from: T0, ...band };
    // More history than the buffers at both ends hold.
    raw.send(...Array.from({ length: 90 }, (_, i) => text({ ...subscribe, id: `history${i}` })));
    const waiting = () => metricOf(service, 'fathom_stream_waiting_bytes');
    await eventually('a client that does not read', async () => (await waiting()) > MIB / 4);
    const ended = () => metricOf(service, 'fathom_stream_messages_total{type="unsubscribed"}');
    const kept = () => queryObjects(DepthSubscription, { format: 'count' });
    const [before, endedBefore] = [kept(), (await ended()) || 0];
    for (let i = 0; i < 100; i++)
      raw.send(text({ ...subscribe, id: 'a' }), text({ op: 'unsubscribe', id: 'a' }));
    await eventually('their end', async () => (await ended()) === endedBefore + 100);
    expect(kept()).toBeLessThan(before + 10);
    expect(raw.isClosed).toBe(false);
  });
});

describe.each(ENGINES)('An event stream on engine %s', (engine) => {
  const BIG = Buffer.alloc(20 * MIB, 'a');
  const UNLIMITED = liveLimits(2 ** 40);

  async function start(maxStallMs: number) {
    const opened: LiveConnection[] = [];
    const connections = new LiveConnections({
      keys: { find: () => null } as never,
      limiter: { maxConnections: () => Infinity },
      unread: new UnreadBytes(UNLIMITED),
      maxStallMs,
    });
    const route: Route = {
      method: 'GET',
      path: '/events',
      handle({ exchange }) {
        const wire = new EventWire();
        const connection = connections.add(wire);
        // One without a key would be closed after 5 s.
        connection.key = { text: '', record: { id: 'key' } as never };
        exchange.onGone(() => connections.forget(connection));
        const stream = exchange.stream([], COMMENT, () => connection.onTaken());
        if (stream !== null) wire.open(stream);
        opened.push(connection);
      },
    };
    const server = await serve(engine, route);
    const open = async () => {
      const client = await RawClient.connect(server.port);
      client.send(requestText('GET /events'));
      await client.until('200 OK');
      await eventually('the stream', () => opened.length > 0);
      return { client, connection: opened.splice(0)[0] };
    };
    return { connections, open };
  }

  it('is cut once its client has read nothing for the limit, whatever was written meanwhile', async () => {
    const { connections, open } = await start(1);
    const { client, connection } = await open();
    client.socket.pause();
    connection.send(BIG);
    expect(connection.waitingBytes).toBeGreaterThan(0);
    await eventually('the end', async () => {
      connection.keepAlive(15);
      await connections.tick(() => undefined);
      return connections.size === 0;
    });
    client.socket.resume();
    await client.closed;
    expect(client.receivedBytes).toBeLessThan(BIG.length);
  });

  it('stays while its client reads, and while nothing waits', async () => {
    const { connections, open } = await start(60_000);
    const { client, connection } = await open();
    client.socket.pause();
    connection.send(BIG);
    const before = connection.stalledMs;
    expect(connection.waitingBytes).toBeGreaterThan(0);
    await eventually('a stall', () => connection.stalledMs > before);
    client.socket.resume();
    await eventually('all', () => client.receivedBytes > BIG.length);
    await eventually('that nothing waits', () => connection.waitingBytes === 0);
    expect(connection.stalledMs).toBe(0);
    await connections.tick(() => undefined);
    expect(connections.size).toBe(1);
    client.socket.destroy();
    await eventually('the end', () => connections.size === 0);
  });
});

describe.each(ENGINES)('A WebSocket on engine %s', (engine) => {
  it('is read as long as parts of a long message are', async () => {
    const connections = new LiveConnections({
      keys: { find: () => null } as never,
      limiter: { maxConnections: () => Infinity },
      unread: new UnreadBytes(liveLimits(2 ** 40)),
    });
    const opened: LiveConnection[] = [];
    const socketPath = '/api/v1/stream';
    const route: Route = {
      method: 'GET',
      path: socketPath,
      handle: ({ exchange }) =>
        exchange.openSocket(null, (socket) => {
          const connection = connections.add({
            format: 'json',
            keepAliveS: 20,
            get waitingBytes() {
              return socket.waitingBytes;
            },
            send: (message) => socket.send(message, true),
            keepAlive: () => socket.ping(),
            close: (code, reason) => socket.close(code, reason),
            cut: () => socket.cut(),
          });
          connection.key = { text: '', record: { id: 'key' } as never };
          opened.push(connection);
          return {
            onMessage: () => undefined,
            onTaken: () => connection.onTaken(),
            onControlFrame: () => undefined,
            onClose: () => connections.forget(connection),
          };
        }),
    };
    const server = await serve(engine, route, socketPath);
    const raw = await Raw.open(`http://127.0.0.1:${server.port}`, null);
    onTestFinished(() => void raw.socket.destroy());
    await eventually('the connection', () => opened.length === 1);
    const [connection] = opened;
    raw.socket.pause();
    connection.send(Buffer.alloc(40 * MIB, 'a'));
    const [unread, sentMs] = [connection.waitingBytes, runningMs()];
    raw.socket.resume();
    await eventually('a part', () => raw.received.length > 16 * MIB);
    raw.socket.pause();
    expect(connection.waitingBytes).toBeLessThan(unread);
    await connections.tick(() => undefined);
    expect(connection.stalledMs).toBeLessThan(runningMs() - sentMs);
  });
});
