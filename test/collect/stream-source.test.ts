/** Books followed live, against a local exchange that fails in every way that exchanges do. */
import { afterEach, describe, expect, it } from 'vitest';
import { MAX_MESSAGE_BYTES } from '../../collect/exchange.js';
import { parseConfig } from '../../collect/config.js';
import { RestClient } from '../../collect/rest.js';
import { readExchangeMarket } from '../../collect/exchange-market.js';
import {
  isMissing,
  type ResyncCause,
  type Sample,
  type SourceContext,
} from '../../collect/source.js';
import { STREAM_TIMES, StreamSource, type StreamTimes } from '../../collect/stream-source.js';
import { JsonFields } from '../../storage/import/fields.js';
import { booksOf, readPlainly } from '../reference/exchange-books.js';
import { fixture } from '../storage/import-helpers.js';

import { ExchangeServer, until } from './exchange-server.js';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const SHORT: StreamTimes = {
  ...STREAM_TIMES,
  firstWaitMs: 20,
  lastWaitMs: 100,
  pingEveryMs: 100,
  silenceMs: 60_000,
  firstRestMs: 5,
  lastRestMs: 50,
};

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function server(): Promise<ExchangeServer> {
  const started = await ExchangeServer.start();
  ends.push(() => started.stop());
  return started;
}

interface Opened {
  source: StreamSource;
  causes: ResyncCause[];
  log: string[];
}

function open(
  at: ExchangeServer,
  market: Record<string, unknown>,
  times: Partial<StreamTimes> = {},
  everyS = 60,
  client = new RestClient({ gapMs: 5 }),
): Opened {
  const causes: ResyncCause[] = [];
  const log: string[] = [];
  const context: SourceContext = {
    everyS,
    rest: client,
    log: (text) => log.push(text),
    onResync: (_, cause) => causes.push(cause),
  };
  const fields = new JsonFields('test', { url: at.url, rest_url: at.restUrl, ...market });
  const source = new StreamSource(readExchangeMarket(fields, 'it'), context, {
    ...SHORT,
    ...times,
  });
  ends.push(() => source.stop());
  source.start();
  return { source, causes, log };
}

/** The sample once there is one. */
async function whole(source: StreamSource): Promise<Sample> {
  let found = source.sample();
  await until(() => {
    found = source.sample();
    return !isMissing(found);
  });
  return found as Sample;
}

const missingOf = (source: StreamSource): string | null => {
  const found = source.sample();
  return isMissing(found) ? found.missing : null;
};

const bookOf = (sample: Sample) => sample.book!;

/** Kraken Futures: numbered, no REST. */
const NUMBERED = { exchange: 'kraken-futures', symbol: 'PF_SOLUSD' };
const full = (seq: number, bids: number[][], asks: number[][]) =>
  JSON.stringify({
    feed: 'book_snapshot',
    product_id: 'PF_SOLUSD',
    timestamp: 1_760_000_000_000,
    seq,
    bids: bids.map(([price, qty]) => ({ price, qty })),
    asks: asks.map(([price, qty]) => ({ price, qty })),
  });
const change = (seq: number, side: 'buy' | 'sell', price: number, qty: number) =>
  JSON.stringify({
    feed: 'book',
    product_id: 'PF_SOLUSD',
    side,
    seq,
    price,
    qty,
    timestamp: 1_760_000_000_000,
  });
const START = full(
  10,
  [
    [99, 1],
    [98, 2],
  ],
  [
    [101, 1],
    [102, 2],
  ],
);

/** Gemini: nothing shows a loss. */
const UNNUMBERED = { exchange: 'gemini', symbol: 'SOLUSD' };
const gemini = (changes: string[][], isWhole = false) =>
  JSON.stringify({
    type: 'l2_updates',
    symbol: 'SOLUSD',
    changes,
    ...(isWhole ? { trades: [] } : {}),
  });

/** Binance: numbered, the book by REST. */
const WITH_REST = { exchange: 'binance', symbol: 'SOLUSDT' };
const diff = (first: number, last: number, bids: string[][] = [], asks: string[][] = []) =>
  JSON.stringify({
    stream: 'x',
    data: {
      e: 'depthUpdate',
      E: 1_760_000_000_000,
      s: 'SOLUSDT',
      U: first,
      u: last,
      b: bids,
      a: asks,
    },
  });
const rest = (lastUpdateId: number) => ({
  body: {
    lastUpdateId,
    bids: [
      ['99', '1'],
      ['98', '2'],
    ],
    asks: [
      ['101', '1'],
      ['102', '2'],
    ],
  },
});

describe('a followed book', () => {
  it('is what the messages make of it', async () => {
    const at = await server();
    at.onSubscribed = (socket) => {
      for (const text of [START, change(11, 'buy', 99.5, 3), change(12, 'buy', 98, 0)])
        socket.send(text);
    };
    const { source } = open(at, NUMBERED);
    await until(
      () => !isMissing(source.sample()) && bookOf(source.sample() as Sample).bids[0][0] === 99.5,
    );
    const sample = source.sample() as Sample;
    expect(bookOf(sample)).toEqual({
      bids: [
        [99.5, 3],
        [99, 1],
      ],
      asks: [
        [101, 1],
        [102, 2],
      ],
    });
    expect(sample.price).toBe(100.25);
    expect(sample.body(2)).toEqual({
      book: {
        bids: [
          [199, 3],
          [198, 1],
        ],
        asks: [
          [202, 1],
          [204, 2],
        ],
      },
    });
    expect(JSON.parse(at.received[0][0])).toEqual({
      event: 'subscribe',
      feed: 'book',
      product_ids: ['PF_SOLUSD'],
    });
  });

  it('a lost update: the book is left out, and comes anew', async () => {
    const at = await server();
    at.onSubscribed = (socket, nth) => {
      socket.send(nth === 0 ? START : full(20, [[97, 1]], [[103, 1]]));
      if (nth === 0) socket.send(change(12, 'buy', 99.5, 3));
    };
    const { source, causes } = open(at, NUMBERED);
    await until(() => causes.length > 0);
    expect(causes).toEqual(['sequence']);
    expect(bookOf(await whole(source))).toEqual({ bids: [[97, 1]], asks: [[103, 1]] });
  });

  it('a lost update with REST: the book comes anew on the same connection', async () => {
    const at = await server();
    at.sendsNothingFirst = true;
    let socket0: { send(text: string): void } | undefined;
    at.onSubscribed = (socket) => (socket0 = socket);
    at.onRest = (_, nth) => rest(nth === 0 ? 100 : 130);
    const { source, causes } = open(at, WITH_REST);
    await whole(source);
    socket0!.send(diff(101, 110, [['99.5', '1']]));
    await until(() => bookOf(source.sample() as Sample).bids[0][0] === 99.5);
    socket0!.send(diff(120, 130));
    await until(() => causes.length > 0);
    expect(bookOf(await whole(source)).bids).toEqual([
      [99, 1],
      [98, 2],
    ]);
    expect([causes, at.connections.length, at.restUrls.length]).toEqual([['sequence'], 1, 2]);
    expect(at.restUrls[0]).toBe('/api/v3/depth?symbol=SOLUSDT&limit=5000');
  });

  it('duplicates change nothing', async () => {
    const at = await server();
    const texts = [START, change(11, 'buy', 99.5, 3), change(12, 'buy', 99.5, 4)];
    at.onSubscribed = (socket) => {
      for (const text of texts) for (const twice of [text, text]) socket.send(twice);
      socket.send(change(11, 'buy', 99.5, 3));
      socket.send(change(13, 'sell', 101, 9));
    };
    const { source, causes } = open(at, NUMBERED);
    await until(
      () => !isMissing(source.sample()) && bookOf(source.sample() as Sample).asks[0][1] === 9,
    );
    expect(bookOf(source.sample() as Sample).bids[0]).toEqual([99.5, 4]);
    expect(causes).toEqual([]);
  });

  it('a new snapshot replaces the book', async () => {
    const at = await server();
    at.onSubscribed = (socket) => {
      socket.send(START);
      socket.send(full(50, [[90, 1]], [[95, 1]]));
      socket.send(change(51, 'buy', 91, 1));
    };
    const { source, causes } = open(at, NUMBERED);
    await until(
      () => !isMissing(source.sample()) && bookOf(source.sample() as Sample).bids.length === 2,
    );
    expect(bookOf(source.sample() as Sample)).toEqual({
      bids: [
        [91, 1],
        [90, 1],
      ],
      asks: [[95, 1]],
    });
    expect(causes).toEqual([]);
  });

  it('ghost levels: none of the old book is left after a reconnect', async () => {
    const at = await server();
    at.onSubscribed = (socket, nth) => {
      socket.send(
        gemini(
          nth === 0
            ? [
                ['buy', '99', '1'],
                ['sell', '101', '1'],
              ]
            : [
                ['buy', '97', '1'],
                ['sell', '100', '1'],
              ],
          true,
        ),
      );
      if (nth === 1) socket.send(gemini([['buy', '96', '2']]));
    };
    const { source } = open(at, UNNUMBERED);
    await whole(source);
    at.connections[0].terminate();
    await at.connected(1);
    await until(
      () => !isMissing(source.sample()) && bookOf(source.sample() as Sample).bids.length === 2,
    );
    expect(bookOf(source.sample() as Sample)).toEqual({
      bids: [
        [97, 1],
        [96, 2],
      ],
      asks: [[100, 1]],
    });
  });

  it('crossed books are left out, and come anew', async () => {
    const at = await server();
    at.onSubscribed = (socket, nth) => {
      socket.send(
        gemini(
          [
            ['buy', nth === 0 ? '102' : '99', '1'],
            ['sell', '101', '1'],
          ],
          true,
        ),
      );
    };
    const { source, causes } = open(at, UNNUMBERED);
    const sample = await whole(source);
    expect(sample.price).toBe(100);
    expect(causes).toEqual(['crossed']);
  });

  it('drift: a book in which nothing shows a loss is subscribed anew, right after a sample', async () => {
    const at = await server();
    at.onSubscribed = (socket, nth) => {
      socket.send(
        gemini(
          [
            ['buy', `${90 + nth}`, '1'],
            ['sell', '101', '1'],
          ],
          true,
        ),
      );
    };
    const { source, causes } = open(at, UNNUMBERED, { renewMs: 30 });
    expect(bookOf(await whole(source)).bids[0][0]).toBe(90);
    await until(
      () =>
        (bookOf(source.sample() as Sample) ?? { bids: [[0]] }).bids?.[0][0] !== 90 ||
        causes.length > 0,
    );
    await until(() => !isMissing(source.sample()));
    expect(causes[0]).toBe('renewed');
    expect(at.connections.length).toBeGreaterThan(1);
  });

  it('a numbered book that changes is not subscribed anew', async () => {
    const at = await server();
    at.onSubscribed = (socket) => socket.send(START);
    const { source, causes } = open(at, NUMBERED, { renewMs: 60_000 });
    await whole(source);
    expect(causes).toEqual([]);
  });

  it('recovers after a close, again and again', async () => {
    const at = await server();
    at.onSubscribed = (socket) => socket.send(START);
    const { source, causes } = open(at, NUMBERED);
    for (let nth = 0; nth < 4; nth++) {
      await at.connected(nth);
      await whole(source);
      at.connections[nth].close(1012);
      await until(() => causes.length === nth + 1);
    }
    await whole(source);
  });

  it('a close says its code while the source waits', async () => {
    const at = await server();
    at.onSubscribed = (socket) => socket.close(1012);
    const { source } = open(at, NUMBERED, { firstWaitMs: 60_000, lastWaitMs: 60_000 });
    await until(() => missingOf(source) === 'closed by the exchange (1012)');
  });

  it('a quiet market is not taken for dead: answers to pings show that it is there', async () => {
    const at = await server();
    at.onSubscribed = (socket) => socket.send(START);
    const everyS = 0.2;
    const { source, causes } = open(
      at,
      { ...NUMBERED },
      { pingEveryMs: 40, silenceMs: 10_000 },
      everyS,
    );
    await whole(source);
    // Three intervals and the silence pass.
    await new Promise((passed) => setTimeout(passed, 4_000 * everyS));
    await until(() => missingOf(source) === null);
    expect(causes).toEqual([]);
  });

  it('a half-open subscription: pings are answered, nothing is said of the book, and it is begun anew', async () => {
    const at = await server();
    at.onSubscribed = (socket, nth) =>
      socket.send(nth === 0 ? START : full(20, [[90, 1]], [[91, 1]]));
    const { source, causes, log } = open(at, NUMBERED, { quietMs: 300 });
    expect(bookOf(await whole(source)).bids[0][0]).toBe(99);
    // Without a sample, too: intervals may be long.
    await at.connected(1);
    await until(() => missingOf(source) === null);
    expect(bookOf(source.sample() as Sample).bids[0][0]).toBe(90);
    expect(causes[0]).toBe('renewed');
    expect(log).toEqual(['it: the book of its new subscription differs: the old one had ended']);
  });

  it('a quiet market is subscribed anew ever more rarely, and is stored all the time', async () => {
    const at = await server();
    at.onSubscribed = (socket) => socket.send(START);
    const { source, causes, log } = open(at, NUMBERED, { quietMs: 40, renewMs: 1e9 });
    await at.connected(4);
    // 40 + 80 + 160 + 320 ms have passed at least.
    expect(new Set(causes)).toEqual(new Set(['renewed']));
    await whole(source);
    expect(log).toEqual([]);
  });

  it.each([401, 403, 429, 503])(
    'a refusal at the handshake (%s) is said, waited for, and stops no other source',
    async (status) => {
      const [at, other] = [await server(), await server()];
      for (const each of [at, other]) each.onSubscribed = (socket) => socket.send(START);
      let refusing = true;
      at.onUpgrade = () => (refusing ? { status } : null);
      const times = { firstWaitMs: 20, lastWaitMs: 40 };
      const refused = open(at, NUMBERED, times);
      const there = open(other, NUMBERED, times);
      await whole(there.source);
      await until(() => missingOf(refused.source) === `the exchange replies ${status}`);
      expect(new Set(refused.causes)).toEqual(new Set(['refused']));
      if (status !== 429) {
        await until(() => at.upgrades > 2);
        refusing = false;
        await whole(refused.source);
      }
      expect(there.causes).toEqual([]);
    },
  );

  it.each([
    ['seconds', () => '1'],
    ['a date', () => new Date(Math.ceil(Date.now() / 1000 + 1) * 1000).toUTCString()],
  ])(
    'a refusal that asks for a wait in %s: no source of the host tries before',
    async (_, retryAfter) => {
      const at = await server();
      at.onSubscribed = (socket) => socket.send(START);
      const askedMs: number[] = [];
      at.onUpgrade = (nth) => {
        askedMs.push(performance.now());
        return nth === 0 ? { status: 503, headers: { 'retry-after': retryAfter() } } : null;
      };
      const rests = new RestClient({ gapMs: 100 });
      const sources = [1, 2, 3].map(() => open(at, NUMBERED, { firstWaitMs: 5 }, 60, rests).source);
      for (const source of sources) await whole(source);
      expect(askedMs[1] - askedMs[0]).toBeGreaterThan(900);
      expect(at.upgrades).toBe(4);
    },
  );

  it('a message of more than its exchange sends ends the connection', async () => {
    const at = await server();
    const levels = Array.from({ length: 60_000 }, (_, i) => [`${1e6 + i}`, '1.00000000']);
    const bybit = (asks: string[][]) =>
      JSON.stringify({
        topic: 'orderbook.1000.SOLUSDT',
        type: 'snapshot',
        ts: 1_760_000_000_000,
        data: { s: 'SOLUSDT', b: [['99', '1']], a: asks, u: 2 },
      });
    expect(bybit(levels).length).toBeGreaterThan(MAX_MESSAGE_BYTES * 0.7);
    at.onSubscribed = (socket, nth) =>
      socket.send(bybit(nth === 0 ? [...levels, ...levels] : [['101', '1']]));
    const { source, causes } = open(at, { exchange: 'bybit', symbol: 'SOLUSDT' });
    await until(() => causes.length > 0 || missingOf(source) === null);
    expect(causes).toEqual(['malformed']);
    await whole(source);
  });

  it('a half-open connection: nothing comes, the book is stale, and a new connection begins', async () => {
    const at = await server();
    at.answersPings = false;
    at.onSubscribed = (socket) => socket.send(START);
    const { source, causes } = open(at, NUMBERED, { pingEveryMs: 40, silenceMs: 300 });
    await whole(source);
    await until(() => causes.length > 0);
    expect(causes[0]).toBe('silent');
    await at.connected(1);
    await whole(source);
  });

  it('a stale book is left out before its connection is given up', async () => {
    const at = await server();
    at.answersPings = false;
    at.onSubscribed = (socket) => socket.send(START);
    const { source, causes } = open(at, NUMBERED, { pingEveryMs: 40, silenceMs: 60_000 }, 0.1);
    await until(() => /^no message for/.test(missingOf(source) ?? ''));
    expect(causes).toEqual([]);
  });

  it.each([
    ['not JSON', '{"garb'],
    [
      'a level without a size',
      JSON.stringify({
        feed: 'book_snapshot',
        product_id: 'PF_SOLUSD',
        timestamp: 1,
        seq: 1,
        bids: [{ price: 1 }],
        asks: [],
      }),
    ],
    ['a price that is no number', change(11, 'buy', 'much' as unknown as number, 1)],
    ['a number that is none', change('x' as unknown as number, 'buy', 99, 1)],
    [
      'no lists',
      JSON.stringify({
        feed: 'book_snapshot',
        product_id: 'PF_SOLUSD',
        timestamp: 1,
        seq: 1,
        bids: 5,
        asks: null,
      }),
    ],
  ])('garbage (%s): the book comes anew', async (_, garbage) => {
    const at = await server();
    at.onSubscribed = (socket, nth) => {
      socket.send(START);
      if (nth === 0) socket.send(garbage);
    };
    const { source, causes } = open(at, NUMBERED);
    await until(() => causes.length > 0);
    expect(causes).toEqual(['malformed']);
    await at.connected(1);
    await whole(source);
  });

  it('a delisted symbol says what the exchange says, and stops no other source', async () => {
    const at = await server();
    at.onSubscribed = (socket, nth) => {
      const asked = at.received[nth][0];
      socket.send(
        asked.includes('PF_GONE')
          ? JSON.stringify({ event: 'error', message: 'Invalid product id' })
          : START,
      );
    };
    const gone = open(at, { ...NUMBERED, symbol: 'PF_GONEUSD' });
    const there = open(at, NUMBERED);
    await whole(there.source);
    await until(() => gone.causes.length > 1);
    expect(new Set(gone.causes)).toEqual(new Set(['refused']));
    await until(() => missingOf(gone.source) === 'refused: Invalid product id');
    expect(missingOf(there.source)).toBe(null);
    expect(there.causes).toEqual([]);
  });

  it('a subscription that brings no book is given up, also when pings are answered', async () => {
    const at = await server();
    let hasBook = false;
    at.onSubscribed = (socket) => {
      if (hasBook) socket.send(START);
    };
    const { source, causes } = open(at, NUMBERED, { pingEveryMs: 40, bookMs: 300 });
    await until(() => missingOf(source) === 'no book within 0.3 s: no book yet');
    hasBook = true;
    await whole(source);
    expect(new Set(causes)).toEqual(new Set(['silent']));
  });

  it('a book that is lost as soon as it comes is asked for ever more rarely', async () => {
    const at = await server();
    at.onSubscribed = (socket) => {
      socket.send(START);
      socket.send(change(15, 'buy', 99, 1));
    };
    const { causes } = open(at, NUMBERED, { firstWaitMs: 20, lastWaitMs: 60_000 });
    await new Promise((passed) => setTimeout(passed, 1_500));
    // 20, 40, 80, ... ms, half of it by chance: seven make 1,270 to 3,810 ms.
    expect(causes.length).toBeLessThan(9);
    await until(() => causes.length > 2);
  });

  it('a request for the book that waits for longer than a book may be missing is waited for', async () => {
    const at = await server();
    at.sendsNothingFirst = true;
    at.onSubscribed = (socket) => {
      for (let id = 95; id < 110; id += 5) socket.send(diff(id, id + 4, [['99.5', `${id}`]]));
    };
    at.onRest = () => ({ ...rest(102), delayMs: 900 });
    const { source, causes } = open(at, WITH_REST, { pingEveryMs: 40, bookMs: 300 });
    expect(bookOf(await whole(source)).bids[0]).toEqual([99.5, 105]);
    expect(causes).toEqual([]);
  });

  it('slow REST: updates wait for the book', async () => {
    const at = await server();
    at.sendsNothingFirst = true;
    at.onSubscribed = (socket) => {
      for (let id = 95; id < 110; id += 5) socket.send(diff(id, id + 4, [['99.5', `${id}`]]));
    };
    at.onRest = () => ({ ...rest(102), delayMs: 200 });
    const { source } = open(at, WITH_REST);
    // 100 to 104 reaches past 102, and 105 to 109 follows it.
    expect(bookOf(await whole(source)).bids[0]).toEqual([99.5, 105]);
  });

  it('a book from REST that is older than the updates is asked for again', async () => {
    const at = await server();
    at.sendsNothingFirst = true;
    at.onSubscribed = (socket) => socket.send(diff(95, 99));
    at.onRest = (_, nth) => rest(nth === 0 ? 50 : 99);
    const { source } = open(at, WITH_REST);
    await whole(source);
    expect(at.restUrls.length).toBe(2);
  });

  it('a book from REST with too many levels is lost, and asked for again', async () => {
    const at = await server();
    at.sendsNothingFirst = true;
    const asks = (from: number, n: number) => Array.from({ length: n }, (_, i) => [from + i, 1]);
    at.onSubscribed = (socket) =>
      socket.send(diff(95, 105, [], asks(1e6, 100_000) as unknown as string[][]));
    at.onRest = (_, nth) =>
      nth === 0
        ? { body: { lastUpdateId: 100, bids: [[99, 1]], asks: asks(101, 450_000) } }
        : rest(105);
    const { source } = open(at, WITH_REST);
    expect(bookOf(await whole(source)).asks.length).toBe(2);
    expect(at.restUrls.length).toBe(2);
  });

  it('bans: a host that says 429 is left alone for as long as it asks, by all of its sources', async () => {
    const at = await server();
    at.sendsNothingFirst = true;
    at.onRest = (_, nth) =>
      nth === 0 ? { status: 429, headers: { 'retry-after': '1' } } : rest(100);
    const shared = new RestClient({ gapMs: 5 });
    const started = performance.now();
    const stop = new AbortController().signal;
    const asked = [1, 2, 3].map((n) => shared.fetch(`${at.restUrl}/depth?symbol=${n}`, stop));
    const settled = await Promise.allSettled(asked);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(performance.now() - started).toBeGreaterThan(950);
    expect(at.restUrls.length).toBe(3);
  });

  it('the numbers of a connection show a loss', async () => {
    const at = await server();
    const message = (type: string, id: number, contents: unknown) =>
      JSON.stringify({ type, message_id: id, channel: 'v4_orderbook', id: 'SOL-USD', contents });
    at.onSubscribed = (socket, nth) => {
      socket.send(
        message('subscribed', 1, {
          bids: [{ price: '99', size: '1' }],
          asks: [{ price: '101', size: '1' }],
        }),
      );
      socket.send(message('channel_data', nth === 0 ? 3 : 2, { bids: [['98', '2']] }));
    };
    const { source, causes } = open(at, { exchange: 'dydx-v4', symbol: 'SOL-USD' });
    await until(() => causes.length > 0);
    expect(causes).toEqual(['sequence']);
    await until(
      () => !isMissing(source.sample()) && bookOf(source.sample() as Sample).bids.length === 2,
    );
  });

  it('plays a capture of real messages as the plain book has it', async () => {
    const file = fixture('capture_kraken_futures_excerpt.log.gz');
    const lines = gunzipSync(readFileSync(file))
      .toString()
      .split('\n')
      .filter((line) => line.includes('"seq"'));
    const at = await server();
    at.onSubscribed = (socket) => {
      for (const line of lines) socket.send(line.slice(line.indexOf('{')));
    };
    const messages = readPlainly('kraken-futures', [file]);
    const last = [...booksOf('kraken-futures', messages, 'PI_LTCUSD')].at(-1)!.book();
    const { source, causes } = open(at, {
      exchange: 'kraken-futures',
      symbol: 'PI_LTCUSD',
      contract_usd: 1,
    });
    await until(() => {
      const sample = source.sample();
      return !isMissing(sample) && JSON.stringify(bookOf(sample)) === JSON.stringify(last);
    });
    expect(causes).toEqual([]);
  });
});

it('a configuration of sources is opened', () => {
  const config = parseConfig(
    JSON.stringify({
      tokens: [
        {
          token: 'mainchain:So11111111111111111111111111111111111111112',
          sources: [{ id: 'a', kind: 'exchange', ...NUMBERED }],
        },
      ],
    }),
    'c',
  );
  expect(config.everyS).toBe(60);
});
