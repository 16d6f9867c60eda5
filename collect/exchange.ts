/** What is known of an exchange's public protocol. */
import { isFields } from '../compute/ingest/fields.js';
import type { MarketType } from '../compute/market.js';
import type { JsonFields } from '../storage/import/fields.js';
import { excerpt } from '../storage/import/refusals.js';
import type { BookRules } from './feed-book.js';
import type { BookUpdate } from './messages.js';

export type BookType = Extract<MarketType, `cex_${string}`>;

/** A market on an exchange. */
export interface Symbol {
  /** As the exchange writes it. */
  readonly symbol: string;
  readonly type: BookType;
}

/** Passes on a book's change; `read` makes it, and throws an InputError if the message is malformed. */
export type Emit = (symbol: string, read: () => BookUpdate) => void;

/** What a reader keeps of a connection: values by level, such as BitMEX's prices. */
export type ReaderState = Map<string, number>;

/**
 * Bytes of a message, which takes ten times as many once it is parsed: the whole book of an exchange that gives at most
 * 5,000 levels a side, and of one that gives all.
 */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
export const MAX_FULL_BOOK_BYTES = 16 * 1024 * 1024;

/** How a book is followed live. */
export interface Stream {
  url(market: Symbol): string;
  /** A longer message ends the connection; MAX_MESSAGE_BYTES without it. */
  maxMessageBytes?: number;
  /** Asks a REST address for the URL instead. */
  address?: { url: string; read(reply: JsonFields): string };
  /** Messages to send once the connection is open. */
  subscribe(market: Symbol): readonly unknown[];
  /** Message that the exchange answers, in place of a ping of the protocol. */
  ping?: unknown;
  /** The answer to a message that asks for one. */
  answer?(message: JsonFields): unknown;
  /** Whether the exchange asks for a new connection. */
  asksForRestart?(message: JsonFields): boolean;
}

/** How a book is asked for by REST. */
export interface Rest {
  url(market: Symbol): string;
  /** Between two requests, where the exchange allows fewer than RestClient makes. */
  gapMs?: number;
  read(reply: JsonFields): BookUpdate;
  /** The symbol that a URL asks for; '' if it is not one of these. */
  symbolOf(url: URL): string;
}

export interface Exchange {
  readonly defaultType: BookType;
  /** The case of its symbols; upper without it. mixed: taken as it is given. */
  readonly spelling?: 'lower' | 'mixed';
  /** The type of a market by its symbol; null: either. Without it, all are of the default type. */
  typeOf?(symbol: string): BookType | null;
  /** Whether all of its messages have times; otherwise the time of receipt counts. */
  readonly isTimed: boolean;
  /** The real messages that the reader was compared with; null: only documents. */
  readonly seen: string | null;
  readonly rules: BookRules;
  /** Changes the text of a message before it is parsed. */
  prepare?(text: string): string;
  /** Emits what a message says about books; other messages give nothing. */
  read(message: JsonFields, emit: Emit, state: ReaderState): void;
  /** The number of a message on its connection, each one higher than the one before; null if it has none. */
  connectionNumber?(message: JsonFields): number | null;
  /** null: captures only. */
  readonly stream: Stream | null;
  readonly rest?: Rest;
}

const MAX_REASON_CHARS = 200;

/** What a refusal of a subscription says; null for any other message. */
export function refusalOf({ object }: JsonFields): string | null {
  const { error, event, type, channel, success, status } = object;
  const isRefusal =
    (error !== undefined && error !== null && error !== '') ||
    event === 'error' ||
    event === 'bts:error' ||
    type === 'error' ||
    channel === 'error' ||
    success === false ||
    status === 'error';
  if (!isRefusal) return null;
  const parts = [error, object.data, object].flatMap((part) =>
    isFields(part)
      ? [part.message, part.msg, part.ret_msg, part.errorMessage, part.reason]
      : [part],
  );
  const text = parts.find((part) => typeof part === 'string' && part !== '');
  return typeof text === 'string' ? excerpt(text, MAX_REASON_CHARS) : 'no reason given';
}
