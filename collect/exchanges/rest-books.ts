/** Bitstamp, KuCoin and Gate: updates by WebSocket that continue a book from REST. */
import type { JsonFields } from '../../storage/import/fields.js';
import type { Exchange } from '../exchange.js';
import {
  type BookUpdate,
  bookUpdate,
  idOf,
  nameOf,
  numbered,
  sideOf,
  updateOf,
  usOfMs,
} from '../messages.js';

const DIFFS = 'diff_order_book_';

/** Diffs have a time in microseconds to compare with the book's, and no number. */
function readBitstamp(fields: JsonFields, reset: boolean): BookUpdate {
  const us = idOf(fields, 'microtimestamp');
  return updateOf(fields, ['bids', 'asks'], { reset, us, number: numbered(us) });
}

export const BITSTAMP: Exchange = {
  defaultType: 'cex_spot',
  isTimed: true,
  seen: '2022',
  spelling: 'lower',
  rules: { sequence: 'later', hasRest: true },
  read: (message, emit) => {
    const channel = nameOf(message, 'channel');
    if (nameOf(message, 'event') !== 'data' || !channel.startsWith(DIFFS)) return;
    emit(channel.slice(DIFFS.length), () => readBitstamp(message.child('data'), false));
  },
  stream: {
    url: () => 'wss://ws.bitstamp.net',
    subscribe: ({ symbol }) => [{ event: 'bts:subscribe', data: { channel: `${DIFFS}${symbol}` } }],
    ping: { event: 'bts:heartbeat' },
    asksForRestart: (message) => nameOf(message, 'event') === 'bts:request_reconnect',
  },
  rest: {
    url: ({ symbol }) => `https://www.bitstamp.net/api/v2/order_book/${symbol}/?group=1`,
    symbolOf: ({ pathname }) => /\/order_book\/([^/]+)/.exec(pathname)?.[1] ?? '',
    read: (reply) => readBitstamp(reply, true),
  },
};

/** A change of price 0 says only that a number is used. */
const used = (entries: readonly unknown[]): unknown[] =>
  entries.filter((entry) => !Array.isArray(entry) || Number(entry[0]) !== 0);

export const KUCOIN: Exchange = {
  defaultType: 'cex_spot',
  isTimed: false,
  seen: '2021',
  rules: { sequence: 'numbered', hasRest: true },
  read: (message, emit) => {
    if (!nameOf(message, 'topic').startsWith('/market/level2:')) return;
    const data = message.child('data');
    emit(data.text('symbol'), () => {
      const changes = data.child('changes');
      const of = (side: string) => sideOf(changes, side, used(changes.list(side)));
      const [firstId, lastId] = [idOf(data, 'sequenceStart'), idOf(data, 'sequenceEnd')];
      return bookUpdate({ number: { firstId, lastId, previousId: null } }, of('bids'), of('asks'));
    });
  },
  stream: {
    url: () => 'wss://ws-api-spot.kucoin.com',
    address: {
      url: 'https://api.kucoin.com/api/v1/bullet-public',
      read: (reply) => {
        const data = reply.child('data');
        const [server] = data.list('instanceServers') as { endpoint?: unknown }[];
        if (typeof server?.endpoint !== 'string') {
          throw data.fault('instanceServers', 'expected an endpoint');
        }
        return `${server.endpoint}?token=${encodeURIComponent(data.text('token'))}`;
      },
    },
    subscribe: ({ symbol }) => [
      { id: 1, type: 'subscribe', topic: `/market/level2:${symbol}`, response: true },
    ],
    ping: { id: 2, type: 'ping' },
  },
  rest: {
    url: ({ symbol }) =>
      `https://api.kucoin.com/api/v1/market/orderbook/level2_100?symbol=${symbol}`,
    symbolOf: (url) =>
      url.pathname.includes('/orderbook/level2') ? (url.searchParams.get('symbol') ?? '') : '',
    read: (reply) => {
      const data = reply.child('data');
      return updateOf(data, ['bids', 'asks'], {
        reset: true,
        us: null,
        number: numbered(idOf(data, 'sequence')),
      });
    },
  },
};

export const GATE: Exchange = {
  defaultType: 'cex_spot',
  isTimed: true,
  seen: null,
  rules: { sequence: 'numbered', hasRest: true },
  read: (message, emit) => {
    if (nameOf(message, 'channel') !== 'spot.order_book_update') return;
    if (nameOf(message, 'event') !== 'update') return;
    const result = message.child('result');
    emit(result.text('s'), () =>
      updateOf(result, ['b', 'a'], {
        us: usOfMs(result, 't'),
        number: { firstId: idOf(result, 'U'), lastId: idOf(result, 'u'), previousId: null },
      }),
    );
  },
  stream: {
    url: () => 'wss://api.gateio.ws/ws/v4/',
    subscribe: ({ symbol }) => [
      {
        time: 0,
        channel: 'spot.order_book_update',
        event: 'subscribe',
        payload: [symbol, '100ms'],
      },
    ],
    ping: { channel: 'spot.ping' },
  },
  rest: {
    url: ({ symbol }) =>
      `https://api.gateio.ws/api/v4/spot/order_book?currency_pair=${symbol}&limit=1000&with_id=true`,
    symbolOf: (url) =>
      url.pathname.endsWith('/order_book') ? (url.searchParams.get('currency_pair') ?? '') : '',
    read: (reply) =>
      updateOf(reply, ['bids', 'asks'], {
        reset: true,
        us: usOfMs(reply, 'current'),
        number: numbered(idOf(reply, 'id')),
      }),
  },
};
