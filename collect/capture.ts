/** `fathom import capture`: captured messages of an exchange as snapshots. */
import { InputError } from '../storage/errors.js';
import { type BinanceMessage, messageOf } from '../storage/import/binance-messages.js';
import { binanceMarket, importBinance } from '../storage/import/binance.js';
import { BookSampler } from '../storage/import/book-sampler.js';
import { JsonFields } from '../storage/import/fields.js';
import type { TokenImport } from '../storage/import/formats.js';
import { SymbolChoice } from '../storage/import/symbols.js';
import { type CaptureLine, parseMessage, readCaptures } from './capture-lines.js';
import type { BookType, Exchange } from './exchange.js';
import { EXCHANGES, type ExchangeName, onlyTypeOf, venueOf } from './exchanges.js';
import { FeedBook } from './feed-book.js';
import type { BookUpdate } from './messages.js';

/** Rows of `snapshots` of a capture; see importRows(). */
export type CaptureImport = (request: TokenImport) => AsyncGenerator<object, void, undefined>;

/** The import of an exchange's captures. */
export function captureOf(name: ExchangeName): CaptureImport {
  return name.startsWith('binance')
    ? (request) => importBinance((files) => binanceMessages(files, name), withSource(request, name))
    : (request) => new CaptureReader(name, request).rows();
}

/** Binance's updates show which section they are of; those of binance.us look like those of binance.com. */
function withSource(request: TokenImport, name: ExchangeName): TokenImport {
  if (name !== 'binance-us' || request.options.source !== undefined) return request;
  return { ...request, options: { ...request.options, source: name } };
}

/**
 * The messages of a Binance capture. A REST reply that names no symbol has that of its URL.
 * @throws InputError also if the updates are those of another section than `name`
 */
async function* binanceMessages(
  files: readonly string[],
  name: ExchangeName,
): AsyncGenerator<BinanceMessage[], void, undefined> {
  const { rest } = EXCHANGES.binance;
  const expected = name === 'binance-us' ? 'binance' : name;
  for await (const lines of readCaptures(files)) {
    const messages: BinanceMessage[] = [];
    for (const { where, text, url } of lines) {
      if (text === null) continue;
      const fields = parseMessage(text, where);
      const message = messageOf(new JsonFields(where, fields), fields);
      const symbol = url === null ? '' : (rest?.symbolOf(new URL(url)) ?? '');
      if (message.kind === 'snapshot' && symbol !== '') message.symbol ??= symbol.toUpperCase();
      if (message.kind === 'update') {
        const { source } = binanceMarket(message);
        if (source !== expected) {
          throw new InputError(
            `${where}: the updates of ${message.symbol} are those of ${source}, not of ${name}: expected --exchange ${source}`,
          );
        }
      }
      messages.push(message);
    }
    yield messages;
  }
}

/** Addresses that are remembered; any other is taken for one that begins anew. */
const MAX_CONNECTIONS = 1000;

class CaptureReader {
  private readonly exchange: Exchange;
  private readonly sampler: BookSampler;
  private readonly choice: SymbolChoice;
  private readonly feed: FeedBook;
  /** Of the connection whose messages are read. */
  private state = new Map<string, number>();
  /** The addresses of connections that have begun. */
  private readonly connections = new Set<string>();
  private lastNumber: number | null = null;
  private isNamed = false;
  /** The line that is being read. */
  private where = '';
  private hasOnlySnapshots = true;
  /** The greatest time of any message of a book. */
  private lastUs = 0;
  private seen = 0;

  constructor(
    private readonly name: ExchangeName,
    private readonly request: TokenImport,
  ) {
    this.exchange = EXCHANGES[name];
    this.sampler = new BookSampler(request);
    this.choice = new SymbolChoice(request.options.symbol);
    this.feed = new FeedBook(this.exchange.rules, this.sampler.book, (message, update) => {
      message.where = this.where;
      this.sampler.apply(message, this.timeOf(update));
    });
  }

  async *rows(): AsyncGenerator<object, void, undefined> {
    for await (const lines of readCaptures(this.request.files)) {
      for (const line of lines) yield* this.take(line);
    }
    this.choice.finish();
    yield* this.verify(this.lastUs);
    this.request.report.oldMessages += this.feed.oldUpdates;
    yield* this.sampler.finish(this.reasonOfNoBook(), this.lastUs);
  }

  private reasonOfNoBook(): string {
    const { seen, name, request } = this;
    if (seen === 0) return `no message about a book of ${name}`;
    if (request.report.messages === 0) return `no message about a book that is chosen`;
    return 'no snapshot to begin the book with';
  }

  private *take(line: CaptureLine): Generator<object, void, undefined> {
    const { where, text, url } = line;
    if (text === null) {
      yield* this.connected(line);
      return;
    }
    const { exchange } = this;
    const fields = new JsonFields(where, parseMessage(exchange.prepare?.(text) ?? text, where));
    const updates: [symbol: string, read: () => BookUpdate][] = [];
    const symbol = url === null ? '' : (exchange.rest?.symbolOf(new URL(url)) ?? '');
    if (symbol !== '' && exchange.rest !== undefined) {
      const { rest } = exchange;
      updates.push([symbol, () => rest.read(fields)]);
    } else {
      yield* this.countConnection(fields, line);
      exchange.read(fields, (of, read) => updates.push([of, read]), this.state);
    }
    for (const [of, read] of updates) {
      this.seen++;
      if (!this.choice.takes(where, of, this.name)) continue;
      const update = read();
      if (exchange.isTimed) yield* this.update(of, update, where);
      else if (line.us !== null) yield* this.update(of, { ...update, us: line.us }, where);
      else throw new InputError(`${where}: the line: expected a time before the message`);
    }
  }

  /** A connection begins anew: what the old one said is no longer kept up to date. */
  private *connected({ url, us }: CaptureLine): Generator<object, void, undefined> {
    if (url === null) return;
    if (!this.connections.has(url) && this.connections.size < MAX_CONNECTIONS) {
      this.connections.add(url);
      return;
    }
    this.lastNumber = null;
    this.state = new Map();
    yield* this.breakOff('the connection begins anew', us);
  }

  private *countConnection(
    fields: JsonFields,
    line: CaptureLine,
  ): Generator<object, void, undefined> {
    const number = this.exchange.connectionNumber?.(fields) ?? null;
    if (number === null) return;
    const last = this.lastNumber;
    this.lastNumber = number;
    // Captures may leave out messages of other symbols: only a step back is certain.
    if (last === null || number > last) return;
    yield* this.breakOff(`message ${number} does not follow ${last}`, line.us);
  }

  private *update(
    symbol: string,
    update: BookUpdate,
    where: string,
  ): Generator<object, void, undefined> {
    const { sampler, request, name, feed } = this;
    request.report.messages++;
    if (!this.isNamed) {
      const type = this.typeOf(symbol);
      sampler.nameMarket({ source: venueOf(name, type), pair: symbol, type }, where);
    }
    this.isNamed = true;
    const us = this.timeOf(update);
    this.lastUs = Math.max(this.lastUs, us);
    yield* this.verify(us);
    if (sampler.isDue(us)) yield* sampler.before(us);
    this.where = where;
    const { isWhole } = feed;
    const reason = feed.take(update);
    if (reason !== null) yield* this.breakOff(reason, us);
    else if (isWhole && update.reset && !this.hasOnlySnapshots) {
      request.report.gaps.add({ t: us / 1e6, reason: 'the feed starts over with a snapshot' });
    }
    this.hasOnlySnapshots &&= update.reset;
  }

  /** A moment is written only if the book equals the exchange's. */
  private *verify(us: number): Generator<object, void, undefined> {
    if (!this.sampler.isDue(us)) return;
    const reason = this.feed.verify();
    if (reason === null) return;
    this.sampler.isWhole = false;
    yield* this.sampler.breakOff(reason, us);
  }

  private *breakOff(reason: string, us: number | null): Generator<object, void, undefined> {
    if (this.feed.isWhole) this.feed.lose();
    if (this.sampler.isWhole) yield* this.sampler.breakOff(reason, us ?? this.sampler.timeUs);
  }

  /** The type of a symbol; where the exchange has both for it, the one that is given. */
  private typeOf(symbol: string): BookType {
    const { exchange, request } = this;
    const given = request.options.type;
    const chosen = given === 'cex_spot' || given === 'cex_perp' ? given : exchange.defaultType;
    return onlyTypeOf(exchange, symbol) ?? chosen;
  }

  /** A message without a time has that of the one before it. */
  private timeOf({ us }: BookUpdate): number {
    return us ?? this.sampler.timeUs;
  }
}
