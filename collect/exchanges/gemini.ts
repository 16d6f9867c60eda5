/** Gemini: the first `l2_updates` of a symbol, which also has its trades, is the whole book; no numbers, no times. */
import { type Exchange, MAX_FULL_BOOK_BYTES } from '../exchange.js';
import { nameOf, updateOfChanges } from '../messages.js';

export const GEMINI: Exchange = {
  defaultType: 'cex_spot',
  isTimed: false,
  seen: '2021',
  rules: { sequence: 'none' },
  read: (message, emit) => {
    if (nameOf(message, 'type') !== 'l2_updates') return;
    emit(message.text('symbol'), () =>
      updateOfChanges(message, 'changes', ['buy', 'sell'], { reset: message.has('trades') }),
    );
  },
  stream: {
    url: () => 'wss://api.gemini.com/v2/marketdata',
    maxMessageBytes: MAX_FULL_BOOK_BYTES,
    subscribe: ({ symbol }) => [
      { type: 'subscribe', subscriptions: [{ name: 'l2', symbols: [symbol] }] },
    ],
  },
};
