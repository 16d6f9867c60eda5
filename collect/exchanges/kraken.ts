/**
 * Kraken: v2 (objects with numbers, whose texts the checksum needs) and v1 (lists with texts), told apart by their
 * shape; and Kraken Futures, which numbers its messages.
 */
import { isFields } from '../../compute/ingest/fields.js';
import { JsonFields } from '../../storage/import/fields.js';
import { digits } from '../checksums.js';
import { type Emit, type Exchange, MAX_FULL_BOOK_BYTES } from '../exchange.js';
import {
  type BookUpdate,
  bookUpdate,
  EMPTY_SIDE,
  idOf,
  idOrNull,
  nameOf,
  numbered,
  pairsOf,
  sideOf,
  usOfIso,
  usOfMs,
} from '../messages.js';

const LEVELS = 1000;
/** Numbers of levels in v2, kept as they are written: `0.10` and `0.1` have different checksums. */
const LEVEL_NUMBER = /"(price|qty)":\s*([-0-9.e]+)/g;
const V1_CHANNEL = 'book-';
const US_PER_S = 1e6;

function readV2(message: JsonFields, emit: Emit): void {
  for (const entry of message.list('data')) {
    if (!isFields(entry)) throw message.fault('data', 'expected objects');
    const data = new JsonFields(message.where, entry, 'data.');
    const of = (side: string) => sideOf(data, side, pairsOf(data.list(side), 'price', 'qty'), true);
    emit(data.text('symbol'), () =>
      bookUpdate(
        {
          reset: nameOf(message, 'type') === 'snapshot',
          us: usOfIso(data, 'timestamp'),
          checksum: idOrNull(data, 'checksum'),
        },
        of('bids'),
        of('asks'),
      ),
    );
  }
}

/** `[id, {a, b, c}, ..., "book-1000", "XBT/USD"]`; a snapshot has `as` and `bs`, and no checksum. */
function readV1(message: JsonFields, list: readonly unknown[], channel: string): BookUpdate {
  const body = Object.assign({}, ...list.slice(1, -2)) as Record<string, unknown>;
  const fields = new JsonFields(message.where, body);
  const reset = fields.has('as') || fields.has('bs');
  const levels = (...names: string[]): unknown[] => {
    const name = names.find((each) => fields.has(each));
    return name === undefined ? [] : fields.list(name);
  };
  const [bids, asks] = [levels('bs', 'b'), levels('as', 'a')];
  const times = [...bids, ...asks].map((level) => Number(Array.isArray(level) ? level[2] : NaN));
  const us = Math.round(times.reduce((last, time) => (time > last ? time : last), 0) * US_PER_S);
  return bookUpdate(
    {
      reset,
      us: us === 0 ? null : us,
      checksum: idOrNull(fields, 'c'),
      depth: Number(channel.slice(V1_CHANNEL.length)) || LEVELS,
    },
    sideOf(fields, 'b', bids, true),
    sideOf(fields, 'a', asks, true),
  );
}

export const KRAKEN: Exchange = {
  defaultType: 'cex_spot',
  isTimed: true,
  seen: '2021 (v1; v2 only from documents)',
  rules: { sequence: 'none', checksum: digits, depth: LEVELS },
  prepare: (text) => (text.includes('"book"') ? text.replace(LEVEL_NUMBER, '"$1":"$2"') : text),
  read: (message, emit) => {
    const { list } = message.object;
    if (Array.isArray(list)) {
      const [channel, symbol] = list.slice(-2) as unknown[];
      if (typeof channel !== 'string' || !channel.startsWith(V1_CHANNEL)) return;
      if (typeof symbol === 'string') emit(symbol, () => readV1(message, list, channel));
    } else if (nameOf(message, 'channel') === 'book' && Array.isArray(message.object.data)) {
      readV2(message, emit);
    }
  },
  stream: {
    url: () => 'wss://ws.kraken.com/v2',
    subscribe: ({ symbol }) => [
      {
        method: 'subscribe',
        params: { channel: 'book', symbol: [symbol], depth: LEVELS },
      },
    ],
    ping: { method: 'ping' },
  },
};

export const KRAKEN_FUTURES: Exchange = {
  defaultType: 'cex_perp',
  isTimed: true,
  seen: '2021',
  rules: { sequence: 'numbered' },
  read: (message, emit) => {
    const feed = nameOf(message, 'feed');
    const more = (reset: boolean) => ({
      reset,
      us: usOfMs(message, 'timestamp'),
      number: numbered(idOf(message, 'seq')),
    });
    if (feed === 'book_snapshot') {
      const of = (side: string) =>
        sideOf(message, side, pairsOf(message.list(side), 'price', 'qty'));
      emit(message.text('product_id'), () => bookUpdate(more(true), of('bids'), of('asks')));
    } else if (feed === 'book' && message.has('seq')) {
      emit(message.text('product_id'), () => {
        const { price, qty, side } = message.object;
        const changed = sideOf(message, 'price, qty', [[price, qty]]);
        const of = (name: string) => (side === name ? changed : EMPTY_SIDE);
        return bookUpdate(more(false), of('buy'), of('sell'));
      });
    }
  },
  stream: {
    url: () => 'wss://futures.kraken.com/ws/v1',
    maxMessageBytes: MAX_FULL_BOOK_BYTES,
    subscribe: ({ symbol }) => [
      { event: 'subscribe', feed: 'book', product_ids: [symbol] },
      { event: 'subscribe', feed: 'heartbeat' },
    ],
  },
};
