/** Bybit: v5 (`orderbook.N`, numbered) and, in captures, `orderBookL2_25` of 2021 (levels by id, without numbers). */
import { isFields } from '../../compute/ingest/fields.js';
import type { JsonFields } from '../../storage/import/fields.js';
import type { BookType, Exchange } from '../exchange.js';
import {
  type BookUpdate,
  bookUpdate,
  idOf,
  idOrNull,
  nameOf,
  numbered,
  pairsOf,
  sideOf,
  updateOf,
  usOfMs,
} from '../messages.js';

const OLD_TOPIC = 'orderBookL2_25.';

/** Coin-settled symbols have streams of their own. */
function sectionOf(type: BookType, symbol: string): string {
  if (type === 'cex_spot') return 'spot';
  return /USD$/i.test(symbol) ? 'inverse' : 'linear';
}

function readOld(message: JsonFields): BookUpdate {
  const reset = nameOf(message, 'type') === 'snapshot';
  const rows = reset ? snapshotRows(message) : changedRows(message.child('data'));
  const of = (side: string) =>
    sideOf(
      message,
      'data',
      pairsOf(
        rows.filter((row) => isFields(row) && row.side === side),
        'price',
        'size',
      ),
    );
  return bookUpdate({ reset, us: idOrNull(message, 'timestamp_e6') }, of('Buy'), of('Sell'));
}

const snapshotRows = (message: JsonFields): unknown[] =>
  isFields(message.object.data) ? message.child('data').list('order_book') : message.list('data');

const changedRows = (data: JsonFields): unknown[] => [
  ...data.list('delete').map((row) => (isFields(row) ? { ...row, size: 0 } : row)),
  ...data.list('update'),
  ...data.list('insert'),
];

export const BYBIT: Exchange = {
  defaultType: 'cex_perp',
  typeOf: () => null,
  isTimed: true,
  seen: '2021 and 2024 (500 levels)',
  rules: { sequence: 'numbered' },
  read: (message, emit) => {
    const topic = nameOf(message, 'topic');
    if (topic.startsWith(OLD_TOPIC)) emit(topic.slice(OLD_TOPIC.length), () => readOld(message));
    if (!topic.startsWith('orderbook.')) return;
    const data = message.child('data');
    emit(data.text('s'), () =>
      updateOf(data, ['b', 'a'], {
        // Number 1 is a restart of their service: it comes with a whole book.
        reset: nameOf(message, 'type') === 'snapshot' || idOf(data, 'u') === 1,
        us: usOfMs(message, 'ts'),
        number: numbered(idOf(data, 'u')),
      }),
    );
  },
  stream: {
    url: ({ type, symbol }) => `wss://stream.bybit.com/v5/public/${sectionOf(type, symbol)}`,
    subscribe: ({ symbol }) => [{ op: 'subscribe', args: [`orderbook.1000.${symbol}`] }],
    ping: { op: 'ping' },
  },
};
