/** What the readers make of messages as the exchanges' documents show them: also of those without a capture. */
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../collect/exchange.js';
import { refusalOf } from '../../collect/exchange.js';
import { EXCHANGES, type ExchangeName } from '../../collect/exchanges.js';
import { sideOf } from '../../collect/messages.js';
import { FeedBook } from '../../collect/feed-book.js';
import { parseMessage } from '../../collect/capture-lines.js';
import { JsonFields } from '../../storage/import/fields.js';
import { BookMessage, OrderBook } from '../../storage/import/order-book.js';
import { lossesOf } from '../../collect/exchange-market.js';
import { documentNamed } from '../docs/documents.js';

const fieldsOf = (text: string) => new JsonFields('m', parseMessage(text, 'm'));

/** Feeds messages to a book. @returns the book, and why it was lost */
function play(name: ExchangeName, symbol: string, messages: unknown[]) {
  const exchange: Exchange = EXCHANGES[name];
  const orders = new OrderBook();
  const rules = exchange.rules;
  const feed = new FeedBook(rules, orders, (message) => orders.apply(message));
  const state = new Map<string, number>();
  const lost: string[] = [];
  for (const message of messages) {
    const raw = typeof message === 'string' ? message : JSON.stringify(message);
    exchange.read(
      fieldsOf(exchange.prepare?.(raw) ?? raw),
      (of, read) => {
        if (of !== symbol) return;
        const reason = feed.take(read());
        if (reason !== null) lost.push(reason);
      },
      state,
    );
  }
  const reason = feed.verify();
  if (reason !== null) lost.push(reason);
  return { book: orders.sorted(), lost, isWhole: feed.isWhole, exchange };
}

// Kraken's own example of a v2 checksum has these ten levels a side: docs.kraken.com, "Spot Websockets (v2) Book Checksum".
const KRAKEN_ASKS = [
  ['45285.2', '0.00100000'],
  ['45286.4', '1.54571953'],
  ['45286.6', '1.54571109'],
  ['45289.6', '1.54560911'],
  ['45290.2', '0.15890660'],
  ['45291.8', '1.54553491'],
  ['45294.7', '0.04454749'],
  ['45296.1', '0.35380000'],
  ['45297.5', '0.09945542'],
  ['45299.5', '0.18772827'],
];
const KRAKEN_BIDS = [
  ['45283.5', '0.10000000'],
  ['45283.4', '1.54582015'],
  ['45282.1', '0.10000000'],
  ['45281.0', '0.10000000'],
  ['45280.3', '1.54592586'],
  ['45279.0', '0.07990000'],
  ['45277.6', '0.03310103'],
  ['45277.5', '0.30000000'],
  ['45277.3', '1.54602737'],
  ['45276.6', '0.15445238'],
];
const krakenLevels = (levels: string[][]) =>
  levels.map(([price, qty]) => `{"price":${price},"qty":${qty}}`).join(',');
const krakenV2 = (checksum: number) =>
  `{"channel":"book","type":"snapshot","data":[{"symbol":"BTC/USD","bids":[${krakenLevels(KRAKEN_BIDS)}],"asks":[${krakenLevels(KRAKEN_ASKS)}],"checksum":${checksum}}]}`;

describe('readers without a capture', () => {
  it('Kraken v2: the checksum of the documents holds, with the numbers as they are written', () => {
    const { book, lost } = play('kraken', 'BTC/USD', [krakenV2(3310070434)]);
    expect(lost).toEqual([]);
    expect([book.bids[0], book.asks[0]]).toEqual([
      [45283.5, 0.1],
      [45285.2, 0.001],
    ]);
    expect(play('kraken', 'BTC/USD', [krakenV2(3310070435)]).lost).toEqual([
      'the checksum does not match',
    ]);
  });

  it('Gate: updates by id continue the book', () => {
    const update = (U: number, u: number, b: string[][]) => ({
      channel: 'spot.order_book_update',
      event: 'update',
      result: { t: 1, s: 'SOL_USDT', U, u, b, a: [] },
    });
    const { exchange } = play('gate', 'SOL_USDT', []);
    const orders = new OrderBook();
    const feed = new FeedBook(exchange.rules, orders, (m) => orders.apply(m));
    const take = (message: object) =>
      exchange.read(fieldsOf(JSON.stringify(message)), (_, read) => feed.take(read()), new Map());
    take(update(5, 9, [['99', '1']]));
    take(update(10, 12, [['98', '2']]));
    expect(
      feed.take(
        exchange.rest!.read(
          fieldsOf('{"id":9,"current":1,"bids":[["97","1"]],"asks":[["101","1"]]}'),
        ),
      ),
    ).toBe(null);
    expect(orders.sorted()).toEqual({
      bids: [
        [98, 2],
        [97, 1],
      ],
      asks: [[101, 1]],
    });
  });

  it('Deribit: changes name the one before', () => {
    const message = (
      type: string,
      change_id: number,
      prev: number | undefined,
      bids: unknown[],
    ) => ({
      jsonrpc: '2.0',
      method: 'subscription',
      params: {
        channel: 'book.SOL_USDC.100ms',
        data: {
          type,
          timestamp: 1,
          instrument_name: 'SOL_USDC',
          change_id,
          ...(prev === undefined ? {} : { prev_change_id: prev }),
          bids,
          asks: [],
        },
      },
    });
    const first = message('snapshot', 7, undefined, [
      ['new', 99, 1],
      ['new', 98, 2],
    ]);
    const next = message('change', 9, 7, [
      ['delete', 98, 0],
      ['change', 99, 5],
    ]);
    expect(play('deribit', 'SOL_USDC', [first, next])).toMatchObject({
      book: { bids: [[99, 5]] },
      lost: [],
    });
    const later = message('change', 12, 10, []);
    expect(play('deribit', 'SOL_USDC', [first, next, later]).lost).toEqual([
      'update 10 does not follow 9',
    ]);
  });

  it('dYdX v4: new levels end those that they cross', () => {
    const { book } = play('dydx-v4', 'SOL-USD', [
      {
        type: 'subscribed',
        channel: 'v4_orderbook',
        id: 'SOL-USD',
        message_id: 1,
        contents: {
          bids: [{ price: '99', size: '1' }],
          asks: [
            { price: '101', size: '1' },
            { price: '102', size: '1' },
          ],
        },
      },
      {
        type: 'channel_batch_data',
        channel: 'v4_orderbook',
        id: 'SOL-USD',
        message_id: 2,
        contents: [{ bids: [['101.5', '3']] }],
      },
    ]);
    expect(book).toEqual({
      bids: [
        [101.5, 3],
        [99, 1],
      ],
      asks: [[102, 1]],
    });
  });

  it('Coinbase Advanced: events of both sides', () => {
    const event = (type: string, updates: string[][]) => ({
      channel: 'l2_data',
      timestamp: '2025-01-01T00:00:00Z',
      sequence_num: 1,
      events: [
        {
          type,
          product_id: 'SOL-USD',
          updates: updates.map(([side, price_level, new_quantity]) => ({
            side,
            price_level,
            new_quantity,
          })),
        },
      ],
    });
    const { book } = play('coinbase-advanced', 'SOL-USD', [
      event('snapshot', [
        ['bid', '99', '1'],
        ['offer', '101', '2'],
      ]),
      event('update', [
        ['bid', '99', '0'],
        ['bid', '98', '4'],
      ]),
    ]);
    expect(book).toEqual({ bids: [[98, 4]], asks: [[101, 2]] });
  });

  it('OKX: an update that changes nothing, and numbers that begin anew', () => {
    const message = (action: string, prevSeqId: number, seqId: number, bids: string[][]) => ({
      arg: { channel: 'books', instId: 'SOL-USDT' },
      action,
      data: [{ ts: '1', checksum: 0, prevSeqId, seqId, bids, asks: [] }],
    });
    const messages = [
      message('snapshot', -1, 10, [['99', '1', '0', '1']]),
      message('update', 10, 15, [['98', '1', '0', '1']]),
      message('update', 15, 15, []),
      message('update', 15, 3, [['97', '1', '0', '1']]),
      message('update', 3, 5, [['99', '0', '0', '0']]),
    ];
    expect(play('okx', 'SOL-USDT', messages)).toMatchObject({
      book: {
        bids: [
          [98, 1],
          [97, 1],
        ],
      },
      lost: [],
    });
    const lost = [...messages, message('update', 8, 9, [])];
    expect(play('okx', 'SOL-USDT', lost).lost).toEqual(['update 8 does not follow 5']);
  });

  it('Bybit: number 1 is a whole book', () => {
    const message = (type: string, u: number, b: string[][]) => ({
      topic: 'orderbook.1000.SOLUSDT',
      type,
      ts: 1,
      data: { s: 'SOLUSDT', u, b, a: [] },
    });
    const { book, lost } = play('bybit', 'SOLUSDT', [
      message('snapshot', 9, [['99', '1']]),
      message('delta', 1, [['97', '1']]),
      message('delta', 2, [['96', '1']]),
    ]);
    expect([book.bids, lost]).toEqual([
      [
        [97, 1],
        [96, 1],
      ],
      [],
    ]);
  });
});

it('a book keeps no more than the exchange keeps up to date, and no texts beyond', () => {
  const { exchange } = play('kraken', 'X', []);
  const orders = new OrderBook();
  const feed = new FeedBook(exchange.rules, orders, (m) => orders.apply(m));
  const take = (list: unknown) =>
    exchange.read(fieldsOf(JSON.stringify(list)), (_, read) => feed.take(read()), new Map());
  const level = (price: number) => [`${price}`, '1', '1'];
  take([
    1,
    { as: [level(20_000)], bs: Array.from({ length: 10 }, (_, i) => level(i + 1)) },
    'book-10',
    'X',
  ]);
  for (let price = 11; price < 3_000; price++) {
    take([1, { b: [level(price)] }, 'book-10', 'X']);
    if (price % 100 === 0) feed.verify();
  }
  feed.verify();
  expect(orders.sorted().bids.map(([price]) => price)).toEqual(
    Array.from({ length: 10 }, (_, i) => 2_999 - i),
  );
  const { texts } = feed as unknown as { texts: { bids: Map<number, string> } };
  expect(texts.bids.size).toBe(10);
});

it('the best levels are kept, of however many', () => {
  const orders = new OrderBook();
  const message = new BookMessage();
  message.startOver();
  for (let i = 0; i < 1_000; i++) {
    message.bids.set(((i * 7) % 1_000) + 1, 1);
    message.asks.set(((i * 7) % 1_000) + 2_001, 1);
  }
  orders.apply(message);
  orders.keepBest(3);
  const { bids, asks } = orders.sorted();
  const pricesOf = (levels: [number, number][]) => levels.map(([price]) => price);
  expect([pricesOf(bids), pricesOf(asks)]).toEqual([
    [1_000, 999, 998],
    [2_001, 2_002, 2_003],
  ]);
});

it('Bitstamp: a book that is older than the first update that waits is not taken', () => {
  const exchange: Exchange = EXCHANGES.bitstamp;
  const orders = new OrderBook();
  const rules = exchange.rules;
  const feed = new FeedBook(rules, orders, (m) => orders.apply(m));
  const book = (microtimestamp: string, price: string) =>
    fieldsOf(JSON.stringify({ microtimestamp, bids: [[price, '1']], asks: [] }));
  const data = { microtimestamp: '100', bids: [['98', '1']], asks: [] };
  const diff = fieldsOf(JSON.stringify({ event: 'data', channel: 'diff_order_book_solusd', data }));
  exchange.read(diff, (_, read) => feed.take(read()), new Map());
  expect(feed.take(exchange.rest!.read(book('99', '97')))).toBe(
    'the book of 99 is older than the first update 100',
  );
  expect([feed.isWhole, orders.sorted().bids]).toEqual([false, []]);
  expect(feed.take(exchange.rest!.read(book('100', '97')))).toBe(null);
  expect([feed.isWhole, orders.sorted().bids]).toEqual([true, [[97, 1]]]);
});

it.each(['[[1e400,1]]', '[[1,1e400]]', '[["1e400","1"]]', '[[1e301,1]]'])(
  'levels must be finite: %s',
  (levels) => {
    const fields = fieldsOf(`{"bids":${levels}}`);
    expect(() => sideOf(fields, 'bids', fields.list('bids'))).toThrow(
      'm: bids[0]: expected [price above 0, size of at least 0]',
    );
  },
);

it('updates that wait for a book are bounded', () => {
  const exchange: Exchange = EXCHANGES.binance;
  const orders = new OrderBook();
  const feed = new FeedBook(exchange.rules, orders, (m) => orders.apply(m));
  const bids = new Map(Array.from({ length: 999 }, (_, i) => [i + 1, 1]));
  const side = { levels: bids, texts: null };
  const empty = { levels: new Map<number, number>(), texts: null };
  for (let id = 1; id <= 1_000; id++) {
    const number = { firstId: id, lastId: id, previousId: null };
    feed.take({ reset: false, us: 1, number, bids: side, asks: empty, checksum: null });
  }
  expect(feed.oldUpdates).toBe(800);
  // One from REST that the rest continues still fits.
  const number = { firstId: null, lastId: 800, previousId: null };
  expect(feed.take({ reset: true, us: 1, number, bids: empty, asks: empty, checksum: null })).toBe(
    null,
  );
});

it.each([
  ['{"error":"Unknown symbol"}', 'Unknown symbol'],
  ['{"error":{"code":2,"message":"unknown currency pair"}}', 'unknown currency pair'],
  ['{"event":"error","msg":"Wrong symbol","code":"60018"}', 'Wrong symbol'],
  ['{"success":false,"ret_msg":"error:handler not found"}', 'error:handler not found'],
  [
    '{"type":"error","message":"Failed to subscribe","reason":"SOL-XYZ is not a valid product"}',
    'Failed to subscribe',
  ],
  [
    '{"event":"bts:error","data":{"message":"Bad subscription string."}}',
    'Bad subscription string.',
  ],
  ['{"channel":"error","data":"Invalid subscription"}', 'Invalid subscription'],
  [
    '{"status":"error","errorMessage":"Currency pair not supported"}',
    'Currency pair not supported',
  ],
  [
    '{"channel":"spot.order_book_update","event":"subscribe","error":null,"result":{"status":"success"}}',
    null,
  ],
  ['{"success":true,"ret_msg":""}', null],
])('a refusal is told from other messages: %s', (text, expected) => {
  expect(refusalOf(fieldsOf(text))).toBe(expected);
});

it('docs/collect.md lists every exchange with its type and what it was compared with', () => {
  const { text } = documentNamed('docs/collect.md');
  for (const [name, exchange] of Object.entries<Exchange>(EXCHANGES)) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\``));
    const cells = (row ?? '').split('|').map((cell) => cell.trim());
    expect(cells[2]).toBe(`\`${exchange.defaultType}\``);
    expect(cells[4]).toBe(exchange.seen ?? 'none: only documents');
    const losses = lossesOf(exchange);
    if (losses === 'nothing') expect(cells[3]).toMatch(/^(nothing|not needed)/);
    else for (const part of losses.split(', ')) expect(cells[3]).toContain(part);
  }
});
