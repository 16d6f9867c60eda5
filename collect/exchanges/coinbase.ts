/**
 * Coinbase: Exchange (`level2_batch`, no numbers) and Advanced Trade (`l2_data`, numbered over the connection), told
 * apart by their shape. Only the second one shows that a message is missing.
 */
import { isFields } from '../../compute/ingest/fields.js';
import { JsonFields } from '../../storage/import/fields.js';
import { type Emit, type Exchange, MAX_FULL_BOOK_BYTES } from '../exchange.js';
import {
  bookUpdate,
  idOrNull,
  nameOf,
  pairsOf,
  sideOf,
  updateOf,
  updateOfChanges,
  usOfIso,
} from '../messages.js';

function readAdvanced(message: JsonFields, emit: Emit): void {
  for (const entry of message.list('events')) {
    if (!isFields(entry)) throw message.fault('events', 'expected objects');
    const event = new JsonFields(message.where, entry, 'events.');
    const of = (side: string) => {
      const rows = event.list('updates').filter((row) => isFields(row) && row.side === side);
      return sideOf(event, 'updates', pairsOf(rows, 'price_level', 'new_quantity'));
    };
    emit(event.text('product_id'), () =>
      bookUpdate(
        {
          reset: nameOf(event, 'type') === 'snapshot',
          us: usOfIso(message, 'timestamp'),
        },
        of('bid'),
        of('offer'),
      ),
    );
  }
}

const numberOf = (message: JsonFields): number | null => idOrNull(message, 'sequence_num');

export const COINBASE: Exchange = {
  defaultType: 'cex_spot',
  isTimed: true,
  seen: '2021 (Exchange)',
  rules: { sequence: 'none' },
  read: (message, emit) => {
    if (nameOf(message, 'channel') === 'l2_data') {
      readAdvanced(message, emit);
      return;
    }
    const type = nameOf(message, 'type');
    if (type === 'snapshot') {
      emit(message.text('product_id'), () =>
        updateOf(message, ['bids', 'asks'], { reset: true, us: usOfIso(message, 'time') }),
      );
    } else if (type === 'l2update') {
      emit(message.text('product_id'), () =>
        updateOfChanges(message, 'changes', ['buy', 'sell'], { us: usOfIso(message, 'time') }),
      );
    }
  },
  stream: {
    url: () => 'wss://ws-feed.exchange.coinbase.com',
    maxMessageBytes: MAX_FULL_BOOK_BYTES,
    subscribe: ({ symbol }) => [
      {
        type: 'subscribe',
        product_ids: [symbol],
        channels: ['level2_batch', 'heartbeat'],
      },
    ],
  },
};

export const COINBASE_ADVANCED: Exchange = {
  ...COINBASE,
  seen: null,
  connectionNumber: numberOf,
  stream: {
    url: () => 'wss://advanced-trade-ws.coinbase.com',
    maxMessageBytes: MAX_FULL_BOOK_BYTES,
    subscribe: ({ symbol }) => [
      { type: 'subscribe', product_ids: [symbol], channel: 'level2' },
      { type: 'subscribe', channel: 'heartbeats' },
    ],
  },
};
