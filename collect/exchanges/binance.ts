/**
 * Binance: spot, US, USD-M and COIN-M. Updates carry the ids `U` to `u`, on futures also the one before, `pu`; the book
 * comes by REST.
 */
import { isFields } from '../../compute/ingest/fields.js';
import type { BookType, Exchange } from '../exchange.js';
import { idOf, idOrNull, nameOf, updateOf, usOfMs } from '../messages.js';

interface Section {
  stream: string;
  rest: string;
  /** The most levels of a side that REST gives. */
  levels: number;
  /** Between two of them. */
  gapMs: number;
  type: BookType;
  seen: string | null;
}

const section = ({ stream, rest, levels, gapMs, type, seen }: Section): Exchange => ({
  defaultType: type,
  isTimed: true,
  seen,
  rules: { sequence: 'numbered', hasRest: true },
  read: (outer, emit) => {
    const message = isFields(outer.object.data) ? outer.child('data') : outer;
    if (nameOf(message, 'e') !== 'depthUpdate') return;
    emit(message.text('s'), () =>
      updateOf(message, ['b', 'a'], {
        us: usOfMs(message, 'E'),
        number: {
          firstId: idOf(message, 'U'),
          lastId: idOf(message, 'u'),
          previousId: idOrNull(message, 'pu'),
        },
      }),
    );
  },
  stream: {
    url: ({ symbol }) => `${stream}/stream?streams=${symbol.toLowerCase()}@depth@100ms`,
    subscribe: () => [],
  },
  rest: {
    gapMs,
    url: ({ symbol }) => `${rest}/depth?symbol=${symbol}&limit=${levels}`,
    symbolOf: (url) =>
      url.pathname.endsWith('/depth') ? (url.searchParams.get('symbol') ?? '') : '',
    read: (reply) =>
      updateOf(reply, ['bids', 'asks'], {
        reset: true,
        us: usOfMs(reply, 'E'),
        number: { firstId: null, lastId: idOf(reply, 'lastUpdateId'), previousId: null },
      }),
  },
});

/** A book of 5,000 levels weighs 250 (US: 50), of 6,000 (US: 1,200) a minute. */
const SPOT_GAP_MS = 2_500;
/** One of 1,000 levels weighs 20, of 2,400 a minute. */
const FUTURES_GAP_MS = 500;

export const BINANCE = section({
  stream: 'wss://stream.binance.com:9443',
  rest: 'https://api.binance.com/api/v3',
  levels: 5000,
  gapMs: SPOT_GAP_MS,
  type: 'cex_spot',
  seen: '2021 and 2024',
});
export const BINANCE_US = section({
  stream: 'wss://stream.binance.us:9443',
  rest: 'https://api.binance.us/api/v3',
  levels: 5000,
  gapMs: SPOT_GAP_MS,
  type: 'cex_spot',
  seen: null,
});
export const BINANCE_FUTURES = section({
  stream: 'wss://fstream.binance.com',
  rest: 'https://fapi.binance.com/fapi/v1',
  levels: 1000,
  gapMs: FUTURES_GAP_MS,
  type: 'cex_perp',
  seen: '2021, 2023 and 2024',
});
export const BINANCE_DELIVERY = section({
  stream: 'wss://dstream.binance.com',
  rest: 'https://dapi.binance.com/dapi/v1',
  levels: 1000,
  gapMs: FUTURES_GAP_MS,
  type: 'cex_perp',
  seen: '2024',
});
