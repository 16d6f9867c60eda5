/** Many sources and many messages: nothing is missed unsaid, and memory stays where it is. */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { WebSocket } from 'ws';
import { afterEach, expect, it } from 'vitest';
import { sampleOfBook } from '../../collect/book-sample.js';
import { type CollectClock, Collector } from '../../collect/collector.js';
import type { Exchange } from '../../collect/exchange.js';
import { EXCHANGES } from '../../collect/exchanges.js';
import { FeedBook } from '../../collect/feed-book.js';
import { RestClient } from '../../collect/rest.js';
import type { Source } from '../../collect/source.js';
import { storeThrough, withPool } from '../../server/cli/runtime.js';
import { JsonFields } from '../../storage/import/fields.js';
import { OrderBook } from '../../storage/import/order-book.js';
import { SOL } from '../storage/import-helpers.js';
import { temporaryDirectory } from '../support/folders.js';
import { ExchangeServer, until } from './exchange-server.js';

const MIB = 1024 * 1024;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** Ten hosts: connections to one begin 350 ms apart. */
const SERVERS = 10;
const SOURCES_EACH = 10;
const SEND_EVERY_MS = 20;
const EVERY_S = 10;
/** Of all sources, once each is whole. */
const MESSAGES = 175_000;

it('100 sources at 5,000 messages a second: each is in every snapshot', async () => {
  let sent = 0;
  const feeds = new Map<WebSocket, { product_id: string; seq: number }>();
  const servers = await Promise.all(Array.from({ length: SERVERS }, () => ExchangeServer.start()));
  for (const at of servers) {
    ends.push(() => at.stop());
    at.onSubscribed = (socket, nth) => {
      const { product_ids } = JSON.parse(at.received[nth][0]) as { product_ids: string[] };
      const [product_id] = product_ids;
      const side = (sign: number) =>
        Array.from({ length: 500 }, (_, i) => ({ price: 100 + sign * (1 + i / 100), qty: 10 }));
      socket.send(
        JSON.stringify({
          feed: 'book_snapshot',
          product_id,
          timestamp: 1,
          seq: 1,
          bids: side(-1),
          asks: side(1),
        }),
      );
      feeds.set(socket, { product_id, seq: 1 });
    };
  }
  const next = (socket: WebSocket, feed: { product_id: string; seq: number }): void => {
    const { product_id, seq } = feed;
    feed.seq++;
    sent++;
    const price = 99 - (seq % 400) / 100;
    const body = { feed: 'book', product_id, side: 'buy', price, qty: 1 + (seq % 9), timestamp: 1 };
    socket.send(JSON.stringify({ ...body, seq: seq + 1 }));
  };
  let rounds = performance.now() / SEND_EVERY_MS;
  const timer = setInterval(() => {
    // Also those that a busy machine was late for.
    for (; rounds < performance.now() / SEND_EVERY_MS; rounds++) {
      for (const [socket, feed] of feeds) next(socket, feed);
    }
  }, SEND_EVERY_MS);
  ends.push(() => clearInterval(timer));
  const sources = servers.flatMap((at, n) =>
    Array.from({ length: SOURCES_EACH }, (_, i) => ({
      id: `s${n}-${i}`,
      kind: 'exchange',
      exchange: 'kraken-futures',
      symbol: `PF_S${n}X${i}USD`,
      url: at.url,
    })),
  );
  const directory = temporaryDirectory();
  const [file, data] = [path.join(directory, 'c.json'), path.join(directory, 'data')];
  writeFileSync(
    file,
    JSON.stringify({ every: `${EVERY_S}s`, tokens: [{ token: `mainchain:${SOL}`, sources }] }),
  );
  const child = spawn(process.execPath, [
    path.resolve('dist/server/cli/main.js'),
    ...['collect', file, '--data', data],
  ]);
  ends.push(() => child.kill('SIGKILL'));
  let err = '';
  child.stderr.on('data', (text: Buffer) => (err += text.toString()));
  const status = once(child, 'exit');

  const lines = (pattern: RegExp): number => err.match(pattern)?.length ?? 0;
  await until(() => lines(/: whole$/gm) >= sources.length);
  const [from, fromMs] = [sent, performance.now()];
  const cpuS = (): number => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(' ');
    return (Number(fields[13]) + Number(fields[14])) / 100;
  };
  const fromCpuS = cpuS();
  // Some 35 s of them.
  await until(() => sent - from > MESSAGES);
  const tookS = (performance.now() - fromMs) / 1000;
  const peakMib =
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024;
  process.stderr.write(
    `100 sources: ${Math.round((sent - from) / tookS)} messages/s, ${(((cpuS() - fromCpuS) / tookS) * 100).toFixed(0)}% of a core, at most ${Math.round(peakMib)} MiB\n`,
  );
  child.kill('SIGTERM');
  expect((await status)[0]).toBe(0);

  const stored = await withPool((pool) =>
    storeThrough(
      data,
      pool,
    )((store) => store.snapshotTimes({ chain: 'mainchain', address: SOL, tier: 'raw' })),
  );
  // Each multiple of the interval has its snapshot, or was said to be missed.
  const missed = Number(/missed ([\d,]+) intervals/.exec(err)![1].replaceAll(',', ''));
  expect(stored.every((t) => t % EVERY_S === 0)).toBe(true);
  const multiples = (stored.at(-1)! - stored[0]) / EVERY_S + 1;
  expect(stored.length).toBeGreaterThan(2);
  expect(stored.length + missed).toBeGreaterThanOrEqual(multiples);
  expect(err).toMatch(/refused 0, dropped 0;/);
  // Once whole, none was left out.
  const lastWhole = err.lastIndexOf(': whole');
  expect(err.slice(lastWhole)).not.toContain('left out');
  expect(peakMib).toBeLessThan(1_024);
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');

/** A market whose price wanders, as the messages of an exchange that keeps something of each level. */
function wanderer(name: keyof typeof EXCHANGES): Source {
  const exchange: Exchange = EXCHANGES[name];
  const orders = new OrderBook();
  const feed = new FeedBook(exchange.rules, orders, (message) => orders.apply(message));
  const state = new Map<string, number>();
  let step = 0;
  const take = (message: object): void =>
    exchange.read(new JsonFields('', { ...message }), (_, read) => feed.take(read()), state);
  const kraken = (type: string, bids: object[], asks: object[]) => ({
    channel: 'book',
    type,
    data: [{ symbol: 'X/USD', bids, asks }],
  });
  const bitmex = (action: string, data: object[]) => ({ table: 'orderBookL2', action, data });
  const level = (at: number, side: string, size?: number) =>
    name === 'kraken'
      ? { price: `${at}`, qty: `${size ?? 0}` }
      : { symbol: 'X', id: at, side, price: at, size };
  const update = (at: number, gone: number): void => {
    if (name === 'kraken') {
      take(
        kraken(
          'update',
          [level(at - 1, '', 1), level(gone - 1, '')],
          [level(at + 1, '', 1), level(gone + 1, '')],
        ),
      );
      return;
    }
    take(bitmex('insert', [level(at - 1, 'Buy', 1), level(at + 1, 'Sell', 1)]));
    take(bitmex('delete', [level(gone - 1, 'Buy'), level(gone + 1, 'Sell')]));
  };
  if (name === 'kraken') take(kraken('snapshot', [level(999, '', 1)], [level(1001, '', 1)]));
  else take(bitmex('partial', [level(999, 'Buy', 1), level(1001, 'Sell', 1)]));
  let last = 1000;
  return {
    name,
    venue: name,
    exchangeType: 'CEX',
    type: exchange.defaultType,
    losses: '',
    compared: null,
    start: () => undefined,
    stop: () => undefined,
    sample: () => {
      // Prices that were never there before, at every interval.
      const at = 1000 + ++step / 64;
      update(at, last);
      last = at;
      const sorted = orders.sorted();
      feed.verify(sorted);
      return sampleOfBook(sorted, 'X', {}, 0);
    },
  };
}

it('a simulated day of 8,640 intervals: the heap does not grow', async () => {
  let steady = 0;
  const clock: CollectClock = {
    wallMs: () => 1_760_000_000_000 + steady,
    steadyMs: () => steady,
    sleep: async (ms, stop) => {
      await new Promise((turn) => setImmediate(turn));
      if (stop?.aborted !== true) steady += ms;
    },
  };
  const everyS = 10;
  const opened = (['kraken', 'bitmex'] as const).map(wanderer);
  const failing: Source = {
    ...opened[0],
    name: 'failing',
    sample: (t) => {
      if (t % 50 === 0) throw new Error(`broken at ${t}`);
      return { missing: `for reason ${t % 7}` };
    },
  };
  const sources = [...opened, failing].map((source) => ({
    id: source.name,
    quoteUsd: 1,
    open: () => source,
  }));
  let logged = 0;
  let stored = 0;
  const heaps: number[] = [];
  const collector = new Collector({
    config: {
      everyS,
      tokens: [{ token: { chain: 'mainchain', address: SOL }, price: null, sources }],
    },
    clock,
    context: {
      everyS,
      rest: new RestClient(),
      log: () => logged++,
      onResync: () => undefined,
    },
    commit: (lines) => {
      stored += lines.length;
      return Promise.resolve();
    },
    onSampled: () => {
      if (collector.counts.sampled % 720 !== 0) return;
      collectGarbage();
      heaps.push(process.memoryUsage().heapUsed);
    },
  });
  await collector.run(new AbortController().signal, 86_401_000);
  expect([collector.counts.sampled, collector.counts.missed]).toEqual([8_640, 0]);
  expect(stored).toBe(8_640);
  expect(logged).toBeLessThan(86_400 / 60 + 10);
  // The first two hours fill caches.
  const growth = (heaps.at(-1)! - heaps[1]) / MIB;
  process.stderr.write(`heap: ${heaps.map((bytes) => (bytes / MIB).toFixed(1)).join(' ')} MiB\n`);
  expect(growth).toBeLessThan(2);
}, 600_000);
