/** Binance combined-stream captures as snapshots of the order book. */
import { InputError } from '../errors.js';
import { readLineBatches } from '../lines.js';
import { JsonFields, parseDecimal, parseJsonObject } from './fields.js';
import type { ImportOptions, ImportReport, ImportToken } from './formats.js';
import { type BookMarket, BookMessage, BookSampler, type LevelList } from './order-book.js';

/** Levels of updates that wait for a snapshot; beyond, the oldest updates are dropped. */
export const MAX_WAITING_LEVELS = 500_000;

const US_PER_MS = 1_000;
/** Plausible times in milliseconds: 1973 to 2106, which seconds and microseconds miss. */
const MIN_TIME_MS = 1e11;
const MAX_TIME_MS = 0xffff_ffff * 1e3;
/** COIN-M symbols: `BTCUSD_PERP`, `BTCUSD_240927`; but `BTCBUSD_210129` was quoted in BUSD. */
const COIN_MARGINED = /USD_PERP$|(^BNB|[^B])USD_[0-9]{6}$/;
const LOCAL_TIME = /^[0-9]*\s*$/;

/** A change of the book: the totals at these prices after updates `firstId` to `lastId`. */
interface DepthUpdate {
  kind: 'update';
  symbol: string;
  /** `E`, in epoch microseconds. */
  us: number;
  firstId: number;
  lastId: number;
  /** `pu`, the `lastId` of the update before; null on spot, where ids have no gaps. */
  previousId: number | null;
  fields: JsonFields;
}

/** The REST depth snapshot: the best 1,000 levels a side as of update `lastId`. */
interface DepthSnapshot {
  kind: 'snapshot';
  /** `E` in epoch microseconds, null on spot, which has none. */
  us: number | null;
  lastId: number;
  fields: JsonFields;
}

/** Any other message; only its time counts. */
interface OtherMessage {
  kind: 'other';
  us: number | null;
}

type BinanceMessage = DepthUpdate | DepthSnapshot | OtherMessage;

/** The messages of stream files, a batch at a time: `<local time> <JSON>`, one a line. */
async function* readBinanceMessages(
  files: readonly string[],
): AsyncGenerator<Iterable<BinanceMessage>, void, undefined> {
  for (const path of files) {
    for await (const lines of readLineBatches(path)) {
      yield (function* () {
        for (const { line, text } of lines) {
          if (text !== '') yield readMessage(`${path}:${line}`, text);
        }
      })();
    }
  }
}

function readMessage(where: string, text: string): BinanceMessage {
  const brace = text.indexOf('{');
  if (brace < 0 || !LOCAL_TIME.test(text.slice(0, brace))) {
    throw new InputError(`${where}: the line: expected '<local time> <JSON object>'`);
  }
  const outer = new JsonFields(where, parseJsonObject(text.slice(brace), where));
  const fields = outer.has('data') ? outer.child('data') : outer;
  if (fields.object.e === 'depthUpdate') return readUpdate(fields);
  if (fields.object.lastUpdateId !== undefined) {
    const lastId = fields.integer('lastUpdateId', 0, Number.MAX_SAFE_INTEGER);
    return { kind: 'snapshot', us: readTimeOrNull(fields), lastId, fields };
  }
  return { kind: 'other', us: readTimeOrNull(fields) };
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

/** Adds the `[price, size]` pairs of a field to a list; sizes of 0 too. */
function readLevels(fields: JsonFields, field: string, levels: LevelList): void {
  fields.list(field).forEach((level, i) => {
    const [price, size] = Array.isArray(level) ? level.map(decimalOf) : [];
    if (!(price > 0 && size >= 0)) {
      throw fields.fault(`${field}[${i}]`, 'expected [price above 0, size of at least 0]');
    }
    levels.push(price, size);
  });
}

function decimalOf(value: unknown): number {
  if (typeof value === 'string') return parseDecimal(value);
  return typeof value === 'number' ? value : NaN;
}

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
  /** No update has followed the snapshot yet: the next one may begin before it. */
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

  /** Spot snapshots have no time: they get that of the last update that they include. */
  private timeOf(snapshot: DepthSnapshot): number {
    const { waiting, sampler } = this;
    const heldUs = waiting.isEmpty ? this.updateUs : waiting.timeUpTo(snapshot.lastId);
    return Math.max(snapshot.us ?? heldUs, sampler.timeUs);
  }

  /** Applies the updates that came before the snapshot and reach past it. */
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

  /** Keeps an update for the next snapshot; after a gap the earlier ones are useless. */
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
      this.sampler.nameMarket(binanceMarket(update), update.fields.where);
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
  const source = COIN_MARGINED.test(pair) ? 'binance-delivery' : 'binance-futures';
  return { source, pair, type: 'cex_perp' };
}

/** Updates of an order book that wait for the snapshot that they build on, oldest first. */
class UpdateBuffer {
  private updates: DepthUpdate[] = [];
  private first = 0;
  private levels = 0;

  /** The last update's `u`, null where none waits. */
  get lastId(): number | null {
    return this.updates.at(-1)?.lastId ?? null;
  }

  get isEmpty(): boolean {
    return this.updates.length === this.first;
  }

  /** The greatest time of the updates that end at or before `lastId`, 0 where none does. */
  timeUpTo(lastId: number): number {
    let us = 0;
    for (const update of this.updates) {
      if (update.lastId <= lastId) us = Math.max(us, update.us);
    }
    return us;
  }

  /** Adds an update; returns how many old ones it drops to stay within MAX_WAITING_LEVELS. */
  add(update: DepthUpdate): number {
    this.updates.push(update);
    this.levels += levelsOf(update);
    const first = this.first;
    while (this.levels > MAX_WAITING_LEVELS && this.first < this.updates.length - 1) {
      this.levels -= levelsOf(this.updates[this.first++]);
    }
    const dropped = this.first - first;
    if (this.first > this.updates.length / 2) {
      this.updates = this.updates.slice(this.first);
      this.first = 0;
    }
    return dropped;
  }

  /** Empties the buffer. */
  take(): DepthUpdate[] {
    const updates = this.updates.slice(this.first);
    [this.updates, this.first, this.levels] = [[], 0, 0];
    return updates;
  }
}

/** An empty update holds memory too. */
function levelsOf(update: DepthUpdate): number {
  return 1 + update.fields.list('b').length + update.fields.list('a').length;
}
