/** Dataset `levels` as numbers: sorts rows of one level each, and makes snapshots of sorted ones. */
import type { RunKey } from '../segment/run.js';
import { type BinnedChunk, type Binning, ChunkBuilder } from './binned-chunk.js';
import { type Fault, type HeadFields, MAX_FAULTS } from './fields.js';
import type { KeyedMarket } from './market-fields.js';
import { GivenList } from './number-lists.js';
import { SnapshotBinner } from './snapshots.js';
import { WarningTally } from './warnings.js';

/** Offsets of a level's numbers in its row: first those by which rows are compared, in order, then the others. */
export const LEVEL = {
  token: 0,
  /** Epoch seconds. */
  t: 1,
  market: 2,
  /** Fraction of a second after `t`. */
  fraction: 3,
  /** 0: bid, 1: ask. */
  side: 4,
  price: 5,
  line: 6,
  size: 7,
  quoteUsd: 8,
  /** The snapshot's price; NaN if not given. */
  priceUsd: 9,
} as const;
/** Numbers of a row. */
export const LEVEL_WIDTH = 10;
/** How many of them are compared; lines differ, so no two rows are equal. */
const COMPARED = 7;

/** Negative if the row at one offset comes before the other. */
export function compareLevels(a: Float64Array, atA: number, b: Float64Array, atB: number): number {
  for (let i = 0; i < COMPARED; i++) {
    const difference = a[atA + i] - b[atB + i];
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The rows in order, in a buffer of their own. */
export function sortLevels(rows: Float64Array): Float64Array {
  const length = rows.length / LEVEL_WIDTH;
  // Arrays are sorted by the runs that they have; typed arrays are not.
  const order = Array.from({ length }, (_, row) => row * LEVEL_WIDTH);
  order.sort((a, b) => compareLevels(rows, a, rows, b));
  const sorted = new Float64Array(rows.length);
  order.forEach((from, row) => {
    const to = row * LEVEL_WIDTH;
    for (let i = 0; i < LEVEL_WIDTH; i++) sorted[to + i] = rows[from + i];
  });
  return sorted;
}

/** Sorted rows of whole snapshots. */
export interface LevelRows {
  rows: Float64Array;
  /** What the rows' numbers of tokens and markets mean. */
  tokens: ReadonlyMap<number, RunKey>;
  markets: ReadonlyMap<number, KeyedMarket>;
}

const NO_PRICE =
  'no book of this t has bids and asks: add --column price_usd=NAME or --set price_usd=VALUE';
/** What is wrong with a snapshot without a price. */
export const NO_PRICE_FAULT = { field: 'price_usd', message: NO_PRICE };

/** Bins the snapshots of a chunk. Each has the line of its first row. */
export function packLevels(input: LevelRows & Binning): BinnedChunk {
  const chunk = new ChunkBuilder(input);
  chunk.rows = input.rows.length / LEVEL_WIDTH;
  const binner = new SnapshotBinner(chunk, 'size');
  const { warnings, unpriced } = chunk;
  let faulty = 0;
  for (const snapshot of snapshotsOf(input, warnings)) {
    const { line, fault, priceUsd } = snapshot;
    chunk.earlierLevels += snapshot.earlierLevels;
    if (fault !== null) {
      chunk.faults.line = fault.line;
      chunk.faults.add(fault.field, fault.message);
      if (++faulty === MAX_FAULTS) break;
    } else if (Number.isNaN(priceUsd)) {
      if (unpriced.length < MAX_FAULTS) unpriced.push(line);
      warnings.add('no_price', line, () => NO_PRICE);
    } else {
      binner.add(rowOf(snapshot), line);
    }
  }
  return chunk.finish();
}

/** The key and price of each snapshot; NaN: it has none. */
export function headsOfLevels(input: LevelRows): HeadFields[] {
  return Array.from(snapshotsOf(input, new WarningTally()), ({ token, t, priceUsd }) => ({
    ...token,
    t,
    price_usd: priceUsd,
  }));
}

/** A market's book: prices in USD, best first. */
interface Book {
  keyed: KeyedMarket;
  quoteUsd: number;
  bids: GivenList;
  asks: GivenList;
  /** Best prices as quoted; NaN if the side is empty. */
  bestBid: number;
  bestAsk: number;
}

interface LevelSnapshot {
  token: RunKey;
  t: number;
  /** Its first line. */
  line: number;
  /** Given, or that of the deepest book; NaN: it has none. */
  priceUsd: number;
  books: Book[];
  earlierLevels: number;
  /** Why there is no snapshot. */
  fault: Fault | null;
}

/** The snapshots of the rows, in order; the lists of one are replaced by those of the next. */
function* snapshotsOf(input: LevelRows, warnings: WarningTally): Generator<LevelSnapshot> {
  const { rows } = input;
  const books = new BookReader(input, warnings);
  for (let start = 0; start < rows.length;) {
    const end = endOf(rows, start, LEVEL.t);
    yield books.snapshot(start, end);
    start = end;
  }
}

/** The offset of the first row after `start` that differs in one of the numbers up to `last`. */
function endOf(rows: Float64Array, start: number, last: number): number {
  for (let at = start + LEVEL_WIDTH; at < rows.length; at += LEVEL_WIDTH) {
    for (let i = last; i >= 0; i--) if (rows[at + i] !== rows[start + i]) return at;
  }
  return rows.length;
}

class BookReader {
  /** Pairs of price and size. */
  private readonly pairs: Float64Array;
  private used = 0;
  /** Offsets of a book's levels. */
  private readonly kept: Uint32Array;

  constructor(
    private readonly input: LevelRows,
    private readonly warnings: WarningTally,
  ) {
    const levels = input.rows.length / LEVEL_WIDTH;
    this.pairs = new Float64Array(levels * 2);
    this.kept = new Uint32Array(levels);
  }

  /** The snapshot of the rows between two offsets. */
  snapshot(start: number, end: number): LevelSnapshot {
    const { rows, tokens } = this.input;
    this.used = 0;
    const snapshot: LevelSnapshot = {
      token: tokens.get(rows[start + LEVEL.token])!,
      t: rows[start + LEVEL.t],
      line: Infinity,
      priceUsd: NaN,
      books: [],
      earlierLevels: 0,
      fault: null,
    };
    for (let at = start; at < end; at += LEVEL_WIDTH) {
      snapshot.line = Math.min(snapshot.line, rows[at + LEVEL.line]);
    }
    for (let from = start; from < end;) {
      const marketEnd = endOf(rows, from, LEVEL.market);
      // The levels of the market's last moment within the second.
      let last = from;
      for (let next = from; next < marketEnd; next = endOf(rows, next, LEVEL.fraction)) last = next;
      snapshot.earlierLevels += (last - from) / LEVEL_WIDTH;
      snapshot.fault ??= this.faultOf(snapshot, last, marketEnd);
      if (snapshot.fault === null) snapshot.books.push(this.book(last, marketEnd));
      from = marketEnd;
    }
    if (Number.isNaN(snapshot.priceUsd)) snapshot.priceUsd = this.midOfDeepest(snapshot.books);
    return snapshot;
  }

  /** A contradiction between a book's rows, or with the snapshot's price, which its first given one sets. */
  private faultOf(snapshot: LevelSnapshot, start: number, end: number): Fault | null {
    const { rows } = this.input;
    const quoteUsd = rows[start + LEVEL.quoteUsd];
    let otherQuote: Fault | null = null;
    for (let at = start; at < end; at += LEVEL_WIDTH) {
      const priceUsd = rows[at + LEVEL.priceUsd];
      const line = rows[at + LEVEL.line];
      if (Number.isNaN(snapshot.priceUsd)) snapshot.priceUsd = priceUsd;
      if (!Number.isNaN(priceUsd) && priceUsd !== snapshot.priceUsd) {
        const message = `must be ${snapshot.priceUsd} on all rows of this snapshot`;
        return { line, field: 'price_usd', message };
      }
      if (otherQuote === null && rows[at + LEVEL.quoteUsd] !== quoteUsd) {
        const message = `must be ${quoteUsd} on all rows of this book`;
        otherQuote = { line, field: 'quote_usd', message };
      }
    }
    return otherQuote;
  }

  /** Of two levels with the same side and price, the later row counts; a size of 0 is not a level. */
  private book(start: number, end: number): Book {
    const { kept, warnings } = this;
    const { rows, markets } = this.input;
    let count = 0;
    let bids = 0;
    for (let at = start; at < end; at += LEVEL_WIDTH) {
      const size = rows[at + LEVEL.size];
      const next = at + LEVEL_WIDTH;
      const isReplaced =
        next < end &&
        rows[next + LEVEL.side] === rows[at + LEVEL.side] &&
        rows[next + LEVEL.price] === rows[at + LEVEL.price];
      if (isReplaced) {
        const later = rows[next + LEVEL.size];
        const what = (): string =>
          `line ${rows[next + LEVEL.line]} has the same side and price, and size ${later}, not ${size}`;
        if (later !== size) warnings.add('replaced_level', rows[at + LEVEL.line], what);
      } else if (size > 0) {
        kept[count++] = at;
        if (rows[at + LEVEL.side] === 0) bids++;
      }
    }
    const quoteUsd = rows[start + LEVEL.quoteUsd];
    return {
      keyed: markets.get(rows[start + LEVEL.market])!,
      quoteUsd,
      bids: this.list(bids, (i) => kept[bids - 1 - i], quoteUsd),
      asks: this.list(count - bids, (i) => kept[bids + i], quoteUsd),
      bestBid: bids > 0 ? rows[kept[bids - 1] + LEVEL.price] : NaN,
      bestAsk: count > bids ? rows[kept[bids] + LEVEL.price] : NaN,
    };
  }

  private list(length: number, offsetOf: (i: number) => number, quoteUsd: number): GivenList {
    const { pairs, used } = this;
    const { rows } = this.input;
    for (let i = 0; i < length; i++) {
      const at = offsetOf(i);
      pairs[this.used++] = rows[at + LEVEL.price] * quoteUsd;
      pairs[this.used++] = rows[at + LEVEL.size];
    }
    return new GivenList(pairs, used, length);
  }

  /** The mid price, in USD, of the book with the most USD among those with both sides; NaN if there is none. */
  private midOfDeepest(books: readonly Book[]): number {
    let deepest: Book | null = null;
    let mostUsd = -1;
    for (const book of books) {
      if (Number.isNaN(book.bestBid + book.bestAsk)) continue;
      let usd = 0;
      for (const { values, start, length } of [book.bids, book.asks]) {
        for (let at = start; at < start + length * 2; at += 2) usd += values[at] * values[at + 1];
      }
      const isFirst = book.keyed.key < (deepest?.keyed.key ?? '');
      if (usd > mostUsd || (usd === mostUsd && isFirst)) [deepest, mostUsd] = [book, usd];
    }
    return deepest === null ? NaN : ((deepest.bestBid + deepest.bestAsk) / 2) * deepest.quoteUsd;
  }
}

/** The snapshot as a row of `snapshots`. */
function rowOf({ token, t, priceUsd, books }: LevelSnapshot): object {
  return {
    ...token,
    t,
    price_usd: priceUsd,
    markets: books.map(({ keyed: { market }, bids, asks }) => ({
      source: market.source,
      exchange_type: market.exchangeType,
      type: market.type,
      address: market.address,
      pair: market.pair,
      book: { bids, asks },
    })),
  };
}
