/** Binance's captured and historical order books as snapshots. */
import {
  type BinanceMessage,
  type DepthSnapshot,
  type DepthUpdate,
  type OtherMessage,
  readLevels,
} from './binance-messages.js';
import { type BookMarket, BookSampler } from './book-sampler.js';
import { UnnamedSnapshots, UpdateBuffer } from './binance-waiting.js';
import type { ImportReport, TokenImport } from './formats.js';
import { BookMessage } from './order-book.js';
import { excerpt } from './refusals.js';
import { following, idBefore } from './sequence.js';
import { SymbolChoice } from './symbols.js';

/** COIN-M symbols: `BTCUSD_PERP`, `BTCUSD_240927`; but `BTCBUSD_210129` was quoted in BUSD. */
const COIN_MARGINED = /USD_PERP$|(^BNB|[^B])USD_[0-9]{6}$/;
/** How many kinds of other messages a report names. */
const MAX_NAMED_STREAMS = 10;

type ReadMessages = (files: readonly string[]) => AsyncIterable<Iterable<BinanceMessage>>;

/**
 * Binance's order books as snapshots, by the exchange's rule: a depth snapshot makes the book whole; updates with
 * `u <= lastUpdateId` are old (futures: `u <`); updates that came before the snapshot and reach past it are applied after it; from then
 * on each update must continue the one before (spot: `U` is the previous `u` + 1; futures: `pu` is the previous `u`),
 * otherwise the book waits for another snapshot.
 */
export async function* importBinance(
  readMessages: ReadMessages,
  request: TokenImport,
): AsyncGenerator<object, void, undefined> {
  const { files, options, report } = request;
  const sampler = new BookSampler(request);
  const choice = new SymbolChoice(options.symbol);
  const feed = new BinanceFeed(sampler, choice, report);
  for await (const messages of readMessages(files)) {
    for (const message of messages) {
      switch (message.kind) {
        case 'update':
          yield* feed.update(message);
          break;
        case 'snapshot':
          yield* feed.snapshot(message);
          break;
        case 'other':
          feed.other(message);
      }
    }
  }
  choice.finish();
  yield* sampler.finish(feed.reasonOfNoBook(), feed.lastUs);
}

class BinanceFeed {
  /** The greatest `E` of any message, including tickers and trades. */
  lastUs = 0;
  /** The greatest `E` of an update, whether held back or not. */
  private updateUs = 0;
  /** The last update that the book includes. */
  private lastId = 0;
  /** Whether no update has followed the snapshot yet: the next one may begin before it. */
  private isFresh = false;
  private isNamed = false;
  private snapshots = 0;
  private readonly others = new OtherStreams();
  private readonly waiting = new UpdateBuffer();
  private readonly unnamed = new UnnamedSnapshots();
  private readonly body = new BookMessage();

  constructor(
    private readonly sampler: BookSampler,
    private readonly choice: SymbolChoice,
    private readonly report: ImportReport,
  ) {}

  other({ name, us }: OtherMessage): void {
    this.noteTime(us);
    if (name !== null) this.others.add(name);
  }

  /** Why the book was never whole. */
  reasonOfNoBook(): string {
    if (this.updateUs === 0 && this.snapshots === 0)
      return `no depth update; ${this.others.text()}`;
    if (this.snapshots === 0) {
      return 'no depth snapshot to begin the book with: a line with lastUpdateId, bids and asks, or rows of update_type snap in T_DEPTH';
    }
    if (this.unnamed.count > 0) return 'no depth snapshot names the symbol or fits its updates';
    return this.updateUs === 0 ? 'no depth update' : 'no depth update continues the depth snapshot';
  }

  private noteTime(us: number | null): void {
    if (us !== null) this.lastUs = Math.max(this.lastUs, us);
  }

  *update(update: DepthUpdate): Generator<object, void, undefined> {
    this.noteTime(update.us);
    const market = binanceMarket(update);
    if (!this.choice.takes(update.fields.where, update.symbol, market.source)) {
      this.unnamed.addOther(update);
      return;
    }
    this.report.messages++;
    if (!this.isNamed) this.sampler.nameMarket(market, update.fields.where);
    this.isNamed = true;
    const follows = following(update, this.lastId, this.isFresh);
    if (!this.sampler.isWhole) {
      this.hold(update);
    } else if (follows === 'old') {
      this.report.oldMessages++;
    } else if (follows === 'gap') {
      const reason = `update ${update.firstId} does not follow ${this.lastId}`;
      yield* this.sampler.breakOff(reason, update.us);
      this.hold(update);
    } else {
      if (this.sampler.isDue(update.us)) yield* this.sampler.before(update.us);
      if (this.sampler.isWhole) this.apply(update);
      else this.hold(update);
    }
    this.updateUs = Math.max(this.updateUs, update.us);
    yield* this.takeUnnamed();
  }

  *snapshot(snapshot: DepthSnapshot): Generator<object, void, undefined> {
    const { symbol, fields } = snapshot;
    this.noteTime(snapshot.us);
    if (symbol !== null && !this.choice.takes(fields.where, symbol, null)) return;
    this.report.messages++;
    this.snapshots++;
    if (symbol !== null || this.choice.wanted === undefined) {
      yield* this.startOver(snapshot);
      return;
    }
    if (this.unnamed.add(snapshot)) this.report.oldMessages++;
    yield* this.takeUnnamed();
  }

  /** A snapshot without a symbol is used if, of several symbols, only the chosen one's ids match it. */
  private *takeUnnamed(): Generator<object, void, undefined> {
    if (this.unnamed.count === 0 || this.sampler.isWhole) return;
    const snapshot = this.unnamed.takeFitting(this.waiting);
    if (snapshot !== null) yield* this.startOver(snapshot);
  }

  private *startOver(snapshot: DepthSnapshot): Generator<object, void, undefined> {
    const { sampler, report, body } = this;
    if (sampler.isWhole && snapshot.lastId < this.lastId) {
      report.oldMessages++;
      return;
    }
    const us = this.timeOf(snapshot);
    if (sampler.isWhole) {
      yield* sampler.before(us);
      report.gaps.add({ t: us / 1e6, reason: 'the feed starts over with a snapshot' });
    }
    body.startOver();
    body.where = snapshot.fields.where;
    readLevels(snapshot.fields, 'bids', body.bids);
    readLevels(snapshot.fields, 'asks', body.asks);
    sampler.apply(body, us);
    this.lastId = snapshot.lastId;
    this.isFresh = true;
    yield* this.applyWaiting();
  }

  /** Spot snapshots have no time: they get that of the last update that they include. */
  private timeOf(snapshot: DepthSnapshot): number {
    const { waiting, sampler } = this;
    const heldUs = waiting.isEmpty ? this.updateUs : waiting.timeUpTo(snapshot.lastId);
    return Math.max(snapshot.us ?? heldUs, sampler.timeUs);
  }

  /** Applies the updates that came before the snapshot and reach past it. */
  private *applyWaiting(): Generator<object, void, undefined> {
    for (const update of this.waiting.take()) {
      const follows = following(update, this.lastId, this.isFresh);
      if (this.sampler.isWhole && follows === 'old') {
        this.report.oldMessages++;
      } else if (this.sampler.isWhole && follows === 'next') {
        this.apply(update);
      } else {
        if (this.sampler.isWhole) {
          const reason = `the snapshot at ${this.lastId} is older than update ${update.firstId}`;
          yield* this.sampler.breakOff(reason, update.us);
        }
        this.waiting.add(update);
      }
    }
  }

  private apply(update: DepthUpdate): void {
    const { body } = this;
    body.clear();
    body.where = update.fields.where;
    readLevels(update.fields, 'b', body.bids);
    readLevels(update.fields, 'a', body.asks);
    this.sampler.apply(body, update.us);
    this.lastId = update.lastId;
    this.isFresh = false;
  }

  /** Keeps an update for the next snapshot; after a gap the earlier updates are useless. */
  private hold(update: DepthUpdate): void {
    const held = this.waiting.lastId;
    if (held !== null && update.lastId <= held) {
      this.report.oldMessages++;
      return;
    }
    if (held !== null && idBefore(update) !== held) {
      const reason = `update ${update.firstId} does not follow ${held}, before any snapshot`;
      this.report.gaps.add({ t: update.us / 1e6, reason });
      this.report.oldMessages += this.waiting.take().length;
    }
    this.report.oldMessages += this.waiting.add(update);
  }
}

/** Spot, USD-M and COIN-M are three venues: `binance`, `binance-futures`, `binance-delivery`. */
export function binanceMarket(update: DepthUpdate): BookMarket {
  const pair = update.symbol;
  if (update.previousId === null) return { source: 'binance', pair, type: 'cex_spot' };
  const source = COIN_MARGINED.test(pair) ? 'binance-delivery' : 'binance-futures';
  return { source, pair, type: 'cex_perp' };
}

/** Counts messages of kinds that make no book. */
class OtherStreams {
  private readonly counts = new Map<string, number>();

  add(name: string): void {
    const known = this.counts.get(name);
    if (known !== undefined || this.counts.size < MAX_NAMED_STREAMS) {
      this.counts.set(name, (known ?? 0) + 1);
    }
  }

  text(): string {
    if (this.counts.size === 0) return 'the files are empty';
    const texts = [...this.counts].map(([name, count]) => `${excerpt(name)} (${count})`);
    return `only ${texts.join(', ')}`;
  }
}
