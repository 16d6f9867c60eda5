/** The messages of Binance combined-stream captures. */
import { type Fields, isFields, isPrice, NOT_NEGATIVE } from '../../compute/ingest/fields.js';
import { InputError } from '../errors.js';
import { readLineBatches } from '../lines.js';
import { JsonFields, parseDecimal, parseJsonObject } from './fields.js';
import type { Levels } from './order-book.js';
import { excerpt } from './refusals.js';

export const US_PER_MS = 1_000;
/** Plausible times in milliseconds: 1973 to 2106, which seconds and microseconds miss. */
export const MIN_TIME_MS = 1e11;
export const MAX_TIME_MS = 0xffff_ffff * 1e3;
const LOCAL_TIME = /^[0-9]*\s*$/;
/** Files are refused after this many messages at their start that are not Binance's. */
const MAX_FOREIGN_MESSAGES = 1_000;
/** Streams of only the best 5, 10 or 20 levels, which do not make a book. */
const PARTIAL_DEPTH = /@depth(5|10|20)(@|$)/;

/** A change of the book: the totals at these prices after updates `firstId` to `lastId`. */
export interface DepthUpdate {
  kind: 'update';
  symbol: string;
  /** `E`, in epoch microseconds. */
  us: number;
  firstId: number;
  lastId: number;
  /** `pu`, the `lastId` of the previous update; null on spot, where ids have no gaps. */
  previousId: number | null;
  fields: JsonFields;
}

/** The REST depth snapshot: the best 1,000 levels per side as of update `lastId`. */
export interface DepthSnapshot {
  kind: 'snapshot';
  /** The symbol of the book; null if the snapshot does not state it, as on spot and USD-M. */
  symbol: string | null;
  /** `E` in epoch microseconds; null on spot, which has none. */
  us: number | null;
  lastId: number;
  fields: JsonFields;
}

/** Any other message; only its time matters. */
export interface OtherMessage {
  kind: 'other';
  /** The event or stream; null if the message is not from Binance. */
  name: string | null;
  us: number | null;
}

export type BinanceMessage = DepthUpdate | DepthSnapshot | OtherMessage;

/**
 * The messages of stream files, in batches: `<local time> <JSON>`, one per line.
 * @throws InputError if a line or its message is malformed, or the files are not a Binance stream
 */
export async function* readBinanceMessages(
  files: readonly string[],
): AsyncGenerator<Iterable<BinanceMessage>, void, undefined> {
  const foreign = new ForeignMessages();
  for (const path of files) {
    let isFirst = true;
    for await (const lines of readLineBatches(path)) {
      yield (function* () {
        for (const { line, text } of lines) {
          if (text === '') continue;
          const where = `${path}:${line}`;
          const message = readMessage(where, text, isFirst);
          isFirst = false;
          foreign.see(message, where, text);
          yield message;
        }
      })();
    }
  }
  foreign.finish();
}

/** Recognizes files of another exchange, which can look similar. */
class ForeignMessages {
  private count = 0;
  private first: string | null = null;
  private hasOwn = false;

  see(message: BinanceMessage, where: string, text: string): void {
    if (this.hasOwn) return;
    if (message.kind !== 'other' || message.name !== null) {
      this.hasOwn = true;
      return;
    }
    this.first ??= notBinance(where, text);
    if (++this.count === MAX_FOREIGN_MESSAGES) throw new InputError(this.first);
  }

  finish(): void {
    if (!this.hasOwn && this.first !== null) throw new InputError(this.first);
  }
}

function notBinance(where: string, text: string): string {
  return (
    `${where}: this is not a Binance stream: expected lines like ` +
    `'<local time> {"stream":...,"data":{...}}', found '${excerpt(text)}'`
  );
}

function readMessage(where: string, text: string, isFirst: boolean): BinanceMessage {
  const brace = text.indexOf('{');
  if (brace < 0 || !LOCAL_TIME.test(text.slice(0, brace))) {
    if (isFirst) throw new InputError(notBinance(where, text));
    const expected = "expected '<local time> <JSON object>'";
    throw new InputError(`${where}: the line: ${expected}, found '${excerpt(text)}'`);
  }
  const outer = parseJsonObject(text.slice(brace), where);
  return messageOf(new JsonFields(where, outer), outer);
}

/** The message of a combined stream or of REST. @throws InputError if it is malformed */
export function messageOf(outer: JsonFields, { stream, data }: Fields): BinanceMessage {
  const fields = isFields(data) ? outer.child('data') : outer;
  const streamName = typeof stream === 'string' ? stream : null;
  const isPartial = streamName !== null && PARTIAL_DEPTH.test(streamName);
  if (fields.object.e === 'depthUpdate' && !isPartial) return readUpdate(fields);
  if (fields.object.lastUpdateId !== undefined && !isPartial) {
    const lastId = fields.integer('lastUpdateId', 0, Number.MAX_SAFE_INTEGER);
    const symbol = fields.textOrNull('symbol') ?? symbolOfStream(streamName);
    return { kind: 'snapshot', symbol, us: readTimeOrNull(fields), lastId, fields };
  }
  const { e, result } = fields.object;
  const event = typeof e === 'string' && !isPartial ? e : nameOfStream(streamName);
  // Replies to subscriptions have `result: null`.
  const name = event ?? (result === null ? 'reply' : null);
  return { kind: 'other', name, us: name === null ? null : readTimeOrNull(fields) };
}

function symbolOfStream(stream: string | null): string | null {
  const at = stream?.indexOf('@') ?? -1;
  return at > 0 ? stream!.slice(0, at).toUpperCase() : null;
}

/** `bookTicker` of `btcusdt@bookTicker`, `depth20` of `btcusdt@depth20@100ms`. */
function nameOfStream(stream: string | null): string | null {
  return stream?.split('@')[1] ?? stream;
}

function readUpdate(fields: JsonFields): DepthUpdate {
  const id = (field: string) => fields.integer(field, 0, Number.MAX_SAFE_INTEGER);
  const us = readTimeOrNull(fields);
  if (us === null) throw fields.fault('E', 'expected epoch milliseconds');
  return {
    kind: 'update',
    symbol: fields.text('s'),
    us,
    firstId: id('U'),
    lastId: id('u'),
    previousId: fields.has('pu') ? id('pu') : null,
    fields,
  };
}

function readTimeOrNull(fields: JsonFields): number | null {
  const ms = fields.integerOrNull('E', MIN_TIME_MS, MAX_TIME_MS);
  return ms === null ? null : ms * US_PER_MS;
}

/** Adds the `[price, size]` pairs of a field to the levels, including sizes of 0. */
export function readLevels(fields: JsonFields, field: string, levels: Levels): void {
  fields.list(field).forEach((level, i) => {
    levels.set(...levelOf(fields, `${field}[${i}]`, level));
  });
}

/** The price and size of `[price, size, ...]`, numbers or texts. @throws InputError that names the field */
export function levelOf(fields: JsonFields, field: string, level: unknown): [number, number] {
  const [price, size] = Array.isArray(level) ? [decimalOf(level[0]), decimalOf(level[1])] : [];
  if (price !== undefined && size !== undefined && isPrice(price) && NOT_NEGATIVE.holds(size)) {
    return [price, size];
  }
  throw fields.fault(field, 'expected [price above 0, size of at least 0]');
}

/** A number, also as a text; NaN if it is neither. */
function decimalOf(value: unknown): number {
  if (typeof value === 'string') return parseDecimal(value);
  return typeof value === 'number' ? value : NaN;
}
