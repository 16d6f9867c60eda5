import { InputError } from '../errors.js';
import {
  readBinanceMessages,
  readLevels,
  type DepthSnapshot,
  type DepthUpdate,
} from './binance-messages.js';
import { BookMessage, type BookMarket } from './book.js';
import type { ImportOptions, ImportToken } from './options.js';
import type { ImportReport } from './report.js';
import { BookSampler } from './sampler.js';
import { UpdateBuffer } from './update-buffer.js';

/**
 * Binance combined-stream captures as snapshots, by the exchange's rule: a depth snapshot makes the
 * book whole; updates with `u <= lastUpdateId` are old; updates that came before the snapshot and
 * reach past it are applied after it; then each update must continue the one before (spot: `U` is
 * the previous `u` + 1; futures: `pu` is the previous `u`), else the book waits for a snapshot.
 */
export async function* importBinanceStream(
  files: readonly string[],
  token: ImportToken,
  options: ImportOptions,
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  const sampler = new BookSampler(token, options, report);
  const feed = new BinanceFeed(sampler, report);
  for await (const messages of readBinanceMessages(files)) {
    for (const message of messages) {
      switch (message.kind) {
        case 'update':
          yield* feed.update(message);
          break;
        case 'snapshot':
          yield* feed.snapshot(message);
          break;
        case 'other':
          feed.seeTime(message.us);
      }
    }
  }
  yield* sampler.finish(feed.lastUs);
}

class BinanceFeed {
  /** The greatest `E` of any message, tickers and trades too. */
  lastUs = 0;
  /** The greatest `E` of an update, held back or not. */
  private updateUs = 0;
  /** The update that the book stands at. */
  private lastId = 0;
  /** No update followed the snapshot yet, so the next one may begin before it. */
  private isFresh = false;
  private symbol: string | null = null;
  private readonly waiting = new UpdateBuffer();
  private readonly body = new BookMessage();

  constructor(
    private readonly sampler: BookSampler,
    private readonly report: ImportReport,
  ) {}

  seeTime(us: number | null): void {
    if (us !== null) this.lastUs = Math.max(this.lastUs, us);
  }

  *update(update: DepthUpdate): Generator<object, void, undefined> {
    this.report.messages++;
    this.seeTime(update.us);
    this.checkSymbol(update);
    if (!this.sampler.isWhole) {
      this.hold(update);
    } else if (update.lastId <= this.lastId) {
      this.report.oldMessages++;
    } else if (!this.continues(update)) {
      this.sampler.breakOff(`update ${update.firstId} does not follow ${this.lastId}`);
      this.hold(update);
    } else {
      if (this.sampler.isDue(update.us)) yield* this.sampler.before(update.us);
      if (this.sampler.isWhole) this.apply(update);
      else this.hold(update);
    }
    this.updateUs = Math.max(this.updateUs, update.us);
  }

  *snapshot(snapshot: DepthSnapshot): Generator<object, void, undefined> {
    this.report.messages++;
    this.seeTime(snapshot.us);
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
    this.applyWaiting();
  }

  /** A spot snapshot has no time: it is as late as the updates that it holds already. */
  private timeOf(snapshot: DepthSnapshot): number {
    const { waiting, sampler } = this;
    const heldUs = waiting.isEmpty ? this.updateUs : waiting.timeUpTo(snapshot.lastId);
    return Math.max(snapshot.us ?? heldUs, sampler.timeUs);
  }

  /** Applies what came before the snapshot and reaches past it. */
  private applyWaiting(): void {
    for (const update of this.waiting.take()) {
      if (this.sampler.isWhole && update.lastId <= this.lastId) {
        this.report.oldMessages++;
      } else if (this.sampler.isWhole && this.continues(update)) {
        this.apply(update);
      } else {
        if (this.sampler.isWhole) {
          const reason = `the snapshot at ${this.lastId} is older than update ${update.firstId}`;
          this.sampler.breakOff(reason);
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

  private continues(update: DepthUpdate): boolean {
    const { lastId } = this;
    const before = update.previousId ?? update.firstId - 1;
    return this.isFresh ? before <= lastId : before === lastId;
  }

  /** Keeps an update for the next snapshot; a hole makes what came before it useless. */
  private hold(update: DepthUpdate): void {
    const held = this.waiting.lastId;
    if (held !== null && update.lastId <= held) {
      this.report.oldMessages++;
      return;
    }
    if (held !== null && (update.previousId ?? update.firstId - 1) !== held) {
      const reason = `update ${update.firstId} does not follow ${held}, before any snapshot`;
      this.report.gaps.add({ t: update.us / 1e6, reason });
      this.report.oldMessages += this.waiting.take().length;
    }
    this.report.oldMessages += this.waiting.add(update);
  }

  private checkSymbol(update: DepthUpdate): void {
    if (this.symbol === null) {
      this.symbol = update.symbol;
      this.sampler.nameMarket(binanceMarket(update));
    } else if (this.symbol !== update.symbol) {
      throw new InputError(
        `${update.fields.where}: s: expected ${this.symbol} (one import is one market), ` +
          `found ${update.symbol}`,
      );
    }
  }
}

/** Spot, USD-M and COIN-M are three venues: `binance`, `binance-futures`, `binance-delivery`. */
function binanceMarket(update: DepthUpdate): BookMarket {
  const pair = update.symbol;
  if (update.previousId === null) return { source: 'binance', pair, type: 'cex_spot' };
  const source = update.isCoinMargined ? 'binance-delivery' : 'binance-futures';
  return { source, pair, type: 'cex_perp' };
}
