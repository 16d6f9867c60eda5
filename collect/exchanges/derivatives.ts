/** Deribit, BitMEX, Hyperliquid and dYdX. */
import { isFields } from '../../compute/ingest/fields.js';
import { JsonFields } from '../../storage/import/fields.js';
import { type Exchange, MAX_FULL_BOOK_BYTES } from '../exchange.js';
import {
  bookUpdate,
  idOf,
  idOrNull,
  nameOf,
  numbered,
  pairsOf,
  sideOf,
  usOfMs,
} from '../messages.js';

export const DERIBIT: Exchange = {
  defaultType: 'cex_perp',
  typeOf: (symbol) => (symbol.includes('-') ? 'cex_perp' : 'cex_spot'),
  isTimed: true,
  seen: null,
  rules: { sequence: 'numbered' },
  read: (message, emit) => {
    if (!isFields(message.object.params)) return;
    const params = message.child('params');
    if (!nameOf(params, 'channel').startsWith('book.')) return;
    const data = params.child('data');
    // Levels are [new | change | delete, price, amount].
    const of = (side: string) =>
      sideOf(
        data,
        side,
        data.list(side).map((level) => (Array.isArray(level) ? level.slice(1) : level)),
      );
    emit(data.text('instrument_name'), () =>
      bookUpdate(
        {
          reset: nameOf(data, 'type') === 'snapshot',
          us: usOfMs(data, 'timestamp'),
          number: numbered(idOf(data, 'change_id'), idOrNull(data, 'prev_change_id')),
        },
        of('bids'),
        of('asks'),
      ),
    );
  },
  stream: {
    url: () => 'wss://streams.deribit.com/ws/api/v2',
    maxMessageBytes: MAX_FULL_BOOK_BYTES,
    subscribe: ({ symbol }) => [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'public/subscribe',
        params: { channels: [`book.${symbol}.100ms`] },
      },
      { jsonrpc: '2.0', id: 2, method: 'public/set_heartbeat', params: { interval: 10 } },
    ],
    answer: ({ object: { params } }) =>
      isFields(params) && params.type === 'test_request'
        ? { jsonrpc: '2.0', id: 3, method: 'public/test', params: {} }
        : undefined,
  },
};

/** Levels have ids; the price comes with `partial` and `insert`. */
export const BITMEX: Exchange = {
  defaultType: 'cex_perp',
  typeOf: (symbol) => (symbol.includes('_') ? 'cex_spot' : 'cex_perp'),
  isTimed: false,
  seen: '2021',
  rules: { sequence: 'none' },
  read: (message, emit, prices) => {
    if (nameOf(message, 'table') !== 'orderBookL2' || !Array.isArray(message.object.data)) return;
    const action = nameOf(message, 'action');
    const rows = message.list('data').filter(isFields);
    for (const symbol of new Set(rows.map((row) => String(row.symbol)))) {
      emit(symbol, () => {
        const own = rows.filter((row) => row.symbol === symbol);
        const sides: Record<string, unknown[]> = { Buy: [], Sell: [] };
        for (const { id, price, size, side } of own) {
          const key = `${symbol}/${id as number}`;
          if (typeof price === 'number') prices.set(key, price);
          const at = prices.get(key);
          // An id that was never priced is not in the book.
          if (at !== undefined) sides[String(side)]?.push([at, action === 'delete' ? 0 : size]);
          if (action === 'delete') prices.delete(key);
        }
        const of = (side: string) => sideOf(message, 'data', sides[side]);
        return bookUpdate({ reset: action === 'partial' }, of('Buy'), of('Sell'));
      });
    }
  },
  stream: {
    url: () => 'wss://ws.bitmex.com/realtime',
    maxMessageBytes: MAX_FULL_BOOK_BYTES,
    subscribe: ({ symbol }) => [{ op: 'subscribe', args: [`orderBookL2:${symbol}`] }],
    ping: 'ping',
  },
};

/** Every message is the whole book of 20 levels a side. */
export const HYPERLIQUID: Exchange = {
  defaultType: 'cex_perp',
  // Spot markets are `@107` or `PURR/USDC`.
  typeOf: (symbol) => (/[@/]/.test(symbol) ? 'cex_spot' : 'cex_perp'),
  isTimed: true,
  seen: '2025',
  // Such as `kPEPE`.
  spelling: 'mixed',
  rules: { sequence: 'whole' },
  read: (message, emit) => {
    if (nameOf(message, 'channel') !== 'l2Book') return;
    const data = message.child('data');
    emit(data.text('coin'), () => {
      const [bids, asks] = data
        .list('levels')
        .map((side) =>
          sideOf(data, 'levels', pairsOf(Array.isArray(side) ? side : [], 'px', 'sz')),
        );
      if (asks === undefined) throw data.fault('levels', 'expected two sides');
      return bookUpdate({ reset: true, us: usOfMs(data, 'time') }, bids, asks);
    });
  },
  stream: {
    url: () => 'wss://api.hyperliquid.xyz/ws',
    subscribe: ({ symbol }) => [
      { method: 'subscribe', subscription: { type: 'l2Book', coin: symbol } },
    ],
    ping: { method: 'ping' },
  },
};

/** The messages of a connection are numbered. New levels may cross old ones, which are then gone. */
export const DYDX_V4: Exchange = {
  defaultType: 'cex_perp',
  isTimed: false,
  seen: null,
  rules: { sequence: 'none', uncrosses: true },
  connectionNumber: (message) => idOrNull(message, 'message_id'),
  read: (message, emit) => {
    if (nameOf(message, 'channel') !== 'v4_orderbook') return;
    const { contents } = message.object;
    const parts = Array.isArray(contents) ? (contents as unknown[]) : [contents];
    for (const part of parts.filter(isFields)) {
      const fields = new JsonFields(message.where, part, 'contents.');
      const of = (side: string) => {
        const levels = fields.has(side) ? fields.list(side) : [];
        return sideOf(fields, side, pairsOf(levels, 'price', 'size'));
      };
      emit(message.text('id'), () =>
        bookUpdate({ reset: nameOf(message, 'type') === 'subscribed' }, of('bids'), of('asks')),
      );
    }
  },
  stream: {
    url: () => 'wss://indexer.dydx.trade/v4/ws',
    maxMessageBytes: MAX_FULL_BOOK_BYTES,
    subscribe: ({ symbol }) => [
      { type: 'subscribe', channel: 'v4_orderbook', id: symbol, batched: true },
    ],
  },
};

/** Each level has the offset of its last change: an older change of it comes too late. Switched off in 2024. */
export const DYDX_V3: Exchange = {
  defaultType: 'cex_perp',
  isTimed: false,
  seen: '2021',
  rules: { sequence: 'none' },
  read: (message, emit, offsets) => {
    if (nameOf(message, 'channel') !== 'v3_orderbook' || !message.has('contents')) return;
    const contents = message.child('contents');
    const reset = nameOf(message, 'type') === 'subscribed';
    const id = message.text('id');
    const newer = (side: string, price: string, offset: number): boolean => {
      const key = `${id}/${side}/${price}`;
      if ((offsets.get(key) ?? -1) >= offset) return false;
      offsets.set(key, offset);
      return true;
    };
    const of = (side: string) => {
      const levels = contents.list(side).map((level) => {
        const [price, size, offset] = isFields(level)
          ? [level.price, level.size, level.offset]
          : [...(Array.isArray(level) ? (level as unknown[]) : []), contents.object.offset];
        return { level: [price, size], isNew: newer(side, String(price), Number(offset)) };
      });
      const kept = levels.filter(({ isNew }) => reset || isNew);
      return sideOf(
        contents,
        side,
        kept.map(({ level }) => level),
      );
    };
    emit(id, () => bookUpdate({ reset }, of('bids'), of('asks')));
  },
  stream: null,
};
