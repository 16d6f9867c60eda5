/**
 * OKX and Bitget, whose messages are alike: `books` with a checksum of the best 25 levels. Since 2022 OKX's updates also
 * name the one before (`prevSeqId`), and its checksum may be 0, which says nothing.
 */
import { isFields } from '../../compute/ingest/fields.js';
import { JsonFields } from '../../storage/import/fields.js';
import { alternating } from '../checksums.js';
import type { BookType, Emit, Exchange } from '../exchange.js';
import { idOf, idOrNull, nameOf, updateOf, usOfMs } from '../messages.js';

function readBooks(message: JsonFields, emit: Emit): void {
  if (!isFields(message.object.arg) || !Array.isArray(message.object.data)) return;
  const arg = message.child('arg');
  if (nameOf(arg, 'channel') !== 'books') return;
  const reset = nameOf(message, 'action') === 'snapshot';
  for (const entry of message.list('data')) {
    if (!isFields(entry)) throw message.fault('data', 'expected objects');
    const data = new JsonFields(message.where, entry, 'data.');
    const previousId = idOrNull(data, 'prevSeqId');
    emit(arg.text('instId'), () =>
      updateOf(
        data,
        ['bids', 'asks'],
        {
          reset,
          us: usOfMs(data, 'ts'),
          number:
            previousId === null ? null : { firstId: null, lastId: idOf(data, 'seqId'), previousId },
          checksum: idOrNull(data, 'checksum') || null,
        },
        true,
      ),
    );
  }
}

export const OKX: Exchange = {
  defaultType: 'cex_spot',
  typeOf: (symbol) => (/-(SWAP|[0-9]{6})$/.test(symbol) ? 'cex_perp' : 'cex_spot'),
  isTimed: true,
  seen: '2022 (before updates were numbered)',
  rules: { sequence: 'numbered', checksum: alternating, depth: 400 },
  read: readBooks,
  stream: {
    url: () => 'wss://ws.okx.com:8443/ws/v5/public',
    subscribe: ({ symbol }) => [{ op: 'subscribe', args: [{ channel: 'books', instId: symbol }] }],
    ping: 'ping',
  },
};

const instTypeOf = (type: BookType): string => (type === 'cex_spot' ? 'SPOT' : 'USDT-FUTURES');

export const BITGET: Exchange = {
  defaultType: 'cex_spot',
  typeOf: () => null,
  isTimed: true,
  seen: '2022 (v1; v2 only from documents)',
  rules: { sequence: 'none', checksum: alternating },
  read: readBooks,
  stream: {
    url: () => 'wss://ws.bitget.com/v2/ws/public',
    subscribe: ({ symbol, type }) => [
      {
        op: 'subscribe',
        args: [{ instType: instTypeOf(type), channel: 'books', instId: symbol }],
      },
    ],
    ping: 'ping',
  },
};
