/** Dataset `levels`: each row is one level of an order book, in any order; snapshots are made from them. */
import {
  type Fault,
  type FaultLog,
  type Fields,
  isFields,
  MAX_FAULTS,
  MAX_T_S,
  NOT_NEGATIVE,
  POSITIVE,
  readHead,
} from '../../compute/ingest/fields.js';
import {
  type KeyedMarket,
  type MarketFieldNames,
  MarketParser,
} from '../../compute/ingest/market-fields.js';
import { CHAINS, EXCHANGE_TYPES, type Market, MARKET_TYPES, TIERS } from '../../compute/market.js';
import type { RunKey } from '../../compute/segment/run.js';
import { DiskFullError, InputError, isDiskFull } from '../errors.js';
import { type Warning, WarningTally } from '../../compute/ingest/warnings.js';
import type { Chunk } from './chunks.js';
import { number, optional, text, type WantedColumn } from './columns.js';
import { type Level, LevelSorter } from './level-sorter.js';
import { FRACTION, NO_MAPPING } from './mapping.js';
import { type RowSource, rowBatches } from './rows.js';
import { VenueTypes } from './venue-types.js';

const SIDES = ['bid', 'ask'] as const;
/** Levels of one snapshot, all in memory at once. */
const MAX_LEVELS_PER_SNAPSHOT = 1_000_000;
/** Markets of all tokens of a file. */
const MAX_MARKETS_PER_FILE = 1_000_000;
/** A chunk has at least this many levels, except the last one. */
const CHUNK_LEVELS = 16_384;

export const LEVEL_COLUMNS: readonly WantedColumn[] = [
  text('chain', CHAINS),
  text('address'),
  { ...number('t'), time: 'whole' },
  text('source'),
  text('exchange_type', EXCHANGE_TYPES),
  text('side', SIDES),
  number('price'),
  number('size'),
  optional(text('tier', TIERS)),
  optional(text('type', MARKET_TYPES)),
  optional(text('market_address')),
  optional(text('pair')),
  optional(number('quote_usd')),
  optional(number('price_usd')),
];

const NAMES: MarketFieldNames = { prefix: '', address: 'market_address' };
const NO_PRICE =
  'no book of this t has bids and asks: add --column price_usd=NAME or --set price_usd=VALUE';
/** Used while no row gives the snapshot's price. */
const ANY_PRICE_USD = 1;

/** A file's levels, sorted; close it after use. */
interface SortedLevels {
  rows: number;
  /** Levels of earlier books within a second, counted by the last call of `chunks`. */
  readonly earlierLevels: number;
  /** What is rarely intended, found by the last call of `chunks`. */
  readonly warnings: readonly Warning[];
  /** The snapshots as chunks; may be called again. Faults of whole books are added to `faults`. */
  chunks(faults: FaultLog): AsyncGenerator<Chunk>;
  close(): Promise<void>;
}

/**
 * Reads and sorts a file of levels.
 * @param faults gets the faults of rows; if there are any, nothing is sorted
 * @throws InputError if the file lacks a column or has too many rows; DiskFullError
 */
export async function sortedLevels(
  directory: string,
  source: RowSource,
  faults: FaultLog,
): Promise<SortedLevels> {
  const sorter = new LevelSorter(directory);
  const reader = new LevelReader(faults);
  let rows = 0;
  try {
    const mapped = { ...source, mapping: source.mapping ?? NO_MAPPING };
    for await (const batch of rowBatches(mapped, LEVEL_COLUMNS, faults)) {
      for (const { line, row } of batch) {
        rows++;
        faults.line = line;
        const level = reader.read(row);
        if (level !== null && faults.count === 0) await sorter.add(level);
        if (faults.count >= MAX_FAULTS) break;
      }
      if (faults.count >= MAX_FAULTS) break;
    }
  } catch (error) {
    await sorter.close();
    if (isDiskFull(error)) throw new DiskFullError(directory);
    if (error instanceof InputError && !error.message.startsWith(source.file)) {
      throw new InputError(`${source.file}: ${error.message}`);
    }
    throw error;
  }
  return {
    rows,
    get earlierLevels() {
      return reader.earlierLevels;
    },
    get warnings() {
      return reader.warnings.all;
    },
    chunks: (ofBooks) => chunksOf(faults.count > 0 ? null : sorter, reader, ofBooks),
    close: () => sorter.close(),
  };
}

/** Checks rows, and numbers their tokens and markets in order of first arrival. */
class LevelReader {
  readonly tokens: RunKey[] = [];
  readonly markets: KeyedMarket[] = [];
  /** Levels of a market that a later moment within their second replaced. */
  earlierLevels = 0;
  warnings = new WarningTally();
  private readonly tokenIds = new Map<string, number>();
  private readonly marketIds = new Map<string, number>();
  private readonly venues = new VenueTypes();
  private readonly parser: MarketParser;
  /** The last row's texts and the token that they name. */
  private last: { chain: unknown; address: unknown; tier: unknown; token: number } | null = null;

  constructor(private readonly faults: FaultLog) {
    this.parser = new MarketParser(faults);
  }

  /** A row's level, or null and its faults. */
  read(row: unknown): Level | null {
    const { faults } = this;
    if (!isFields(row)) {
      faults.add('json', 'must be an object');
      return null;
    }
    const before = faults.count;
    const token = this.token(row);
    const market = this.market(token, row);
    const side = SIDES.findIndex((name) => name === row.side);
    if (side < 0) faults.add('side', 'must be bid or ask');
    const price = this.number(row, 'price', POSITIVE);
    const size = this.number(row, 'size', NOT_NEGATIVE);
    const quoteUsd = isNone(row.quote_usd) ? 1 : this.number(row, 'quote_usd', POSITIVE);
    if (faults.count > before) return null;
    const priceUsd = isNone(row.price_usd) ? NaN : (row.price_usd as number);
    const fraction = (row[FRACTION] as number | undefined) ?? 0;
    const t = row.t as number;
    return { token, t, market, fraction, side, price, line: faults.line, size, quoteUsd, priceUsd };
  }

  private number(row: Fields, name: string, rule: typeof POSITIVE): number {
    const value = row[name];
    if (typeof value === 'number' && rule.holds(value)) return value;
    this.faults.add(name, rule.expected);
    return NaN;
  }

  private token(row: Fields): number {
    const { chain, address, tier, t } = row;
    const { last } = this;
    const isPlain =
      isNone(row.price_usd) &&
      typeof t === 'number' &&
      Number.isInteger(t) &&
      t >= 1 &&
      t <= MAX_T_S;
    if (last?.chain === chain && last?.address === address && last?.tier === tier && isPlain) {
      return last!.token;
    }
    const given = isNone(row.price_usd) ? { ...row, price_usd: ANY_PRICE_USD } : row;
    const head = readHead(given, this.faults);
    if (head === null) return -1;
    const name = `${head.chain} ${head.address} ${head.tier}`;
    let token = this.tokenIds.get(name);
    if (token === undefined) {
      token = this.tokens.push({ chain: head.chain, address: head.address, tier: head.tier }) - 1;
      this.tokenIds.set(name, token);
    }
    this.last = { chain, address, tier, token };
    return token;
  }

  private market(token: number, row: Fields): number {
    const { source, exchange_type, type, market_address: address, pair } = row;
    const { faults, parser } = this;
    const read = parser.read({ source, exchange_type, type, address, pair }, NAMES);
    const keyed = read === null ? null : parser.withOwnBody(read, NAMES);
    if (keyed === null) return -1;
    const name = `${token} ${keyed.key}`;
    let id = this.marketIds.get(name);
    if (id === undefined) {
      if (this.markets.length >= MAX_MARKETS_PER_FILE) {
        throw new InputError(`a file of levels has at most ${MAX_MARKETS_PER_FILE} markets`);
      }
      id = this.markets.push(keyed) - 1;
      this.marketIds.set(name, id);
    }
    const { market } = keyed;
    const known = this.markets[id].market;
    const wrongType = this.venues.contradiction(market);
    if (wrongType !== null) faults.add('type', wrongType);
    if (known.exchangeType !== market.exchangeType) {
      faults.add('exchange_type', `must be ${known.exchangeType}, as in an earlier row`);
    }
    return id;
  }
}

const isNone = (value: unknown): boolean => value === undefined || value === null;

/** Chunks of snapshots, each with the line of its first row. */
async function* chunksOf(
  sorter: LevelSorter | null,
  reader: LevelReader,
  faults: FaultLog,
): AsyncGenerator<Chunk> {
  if (sorter === null) return;
  reader.earlierLevels = 0;
  reader.warnings = new WarningTally();
  let rows: object[] = [];
  let lines: number[] = [];
  let levels = 0;
  const chunk = (): Chunk => ({
    kind: 'snapshotRows',
    firstLine: 1,
    lines: Float64Array.from(lines),
    rows,
  });
  // A recorder that stops within a book leaves one without a price; if all are, the file's columns are wrong.
  const unpriced: number[] = [];
  let hasPriced = false;
  for await (const snapshot of snapshotsOf(sorter)) {
    levels += snapshot.length;
    const line = snapshot.reduce((first, level) => Math.min(first, level.line), Infinity);
    const built = snapshotRow(snapshot, reader);
    if ('row' in built) {
      rows.push(built.row);
      lines.push(line);
      hasPriced = true;
    } else if (built.fault === null) {
      if (unpriced.length < MAX_FAULTS) unpriced.push(line);
      reader.warnings.add('no_price', line, () => NO_PRICE);
    } else {
      faults.line = built.fault.line;
      faults.add(built.fault.field, built.fault.message);
      if (faults.count >= MAX_FAULTS) return;
    }
    if (levels < CHUNK_LEVELS) continue;
    if (rows.length > 0) yield chunk();
    [rows, lines, levels] = [[], [], 0];
  }
  if (rows.length > 0) yield chunk();
  if (hasPriced || faults.count > 0) return;
  for (faults.line of unpriced) faults.add('price_usd', NO_PRICE);
}

/** The levels of each snapshot, in order. @throws InputError if one has too many */
async function* snapshotsOf(sorter: LevelSorter): AsyncGenerator<Level[]> {
  let levels: Level[] = [];
  for await (const level of sorter.sorted()) {
    const first = levels.at(0);
    if (first !== undefined && (first.t !== level.t || first.token !== level.token)) {
      yield levels;
      levels = [];
    }
    if (levels.length >= MAX_LEVELS_PER_SNAPSHOT) {
      throw new InputError(
        `line ${level.line}: a snapshot has at most ${MAX_LEVELS_PER_SNAPSHOT} levels`,
      );
    }
    levels.push(level);
  }
  if (levels.length > 0) yield levels;
}

/** A market's book: prices in USD, best first. */
interface Book {
  market: Market;
  key: string;
  quoteUsd: number;
  bids: [priceUsd: number, size: number][];
  asks: [priceUsd: number, size: number][];
  /** Best prices as quoted; NaN if the side is empty. */
  bestBid: number;
  bestAsk: number;
}

/** A row of `snapshots`, or the fault because of which there is none; null: it has no price. */
function snapshotRow(
  levels: readonly Level[],
  reader: LevelReader,
): { row: object } | { fault: Fault | null } {
  const [{ token, t }] = levels;
  const { tokens, markets } = reader;
  const books: Book[] = [];
  let givenUsd = NaN;
  const present = byMarket(levels);
  reader.earlierLevels += present.reduce((left, own) => left - own.length, levels.length);
  for (const own of present) {
    for (const { priceUsd, line } of own) {
      if (Number.isNaN(givenUsd)) givenUsd = priceUsd;
      if (!Number.isNaN(priceUsd) && priceUsd !== givenUsd) {
        return faultOf(line, 'price_usd', `must be ${givenUsd} on all rows of this snapshot`);
      }
    }
    const { quoteUsd } = own[0];
    const other = own.find((level) => level.quoteUsd !== quoteUsd);
    if (other !== undefined) {
      return faultOf(other.line, 'quote_usd', `must be ${quoteUsd} on all rows of this book`);
    }
    books.push(bookOf(own, markets[own[0].market], reader.warnings));
  }
  const priceUsd = Number.isNaN(givenUsd) ? midOfDeepest(books) : givenUsd;
  if (Number.isNaN(priceUsd)) return { fault: null };
  return {
    row: {
      ...tokens[token],
      t,
      price_usd: priceUsd,
      markets: books.map(({ market, bids, asks }) => ({
        source: market.source,
        exchange_type: market.exchangeType,
        type: market.type,
        address: market.address,
        pair: market.pair,
        book: { bids, asks },
      })),
    },
  };
}

const faultOf = (line: number, field: string, message: string): { fault: Fault } => ({
  fault: { line, field, message },
});

/** The levels of each market at its last moment within the second. */
function byMarket(levels: readonly Level[]): Level[][] {
  const all: Level[][] = [];
  for (const level of levels) {
    const own = all.at(-1);
    if (own?.[0].market !== level.market) all.push([level]);
    else if (own[0].fraction !== level.fraction) all[all.length - 1] = [level];
    else own.push(level);
  }
  return all;
}

/** Of two levels with the same side and price, the later row counts; a size of 0 is not a level. */
function bookOf(
  levels: readonly Level[],
  { market, key }: KeyedMarket,
  warnings: WarningTally,
): Book {
  const last = levels.filter(({ side, price, size, line }, i) => {
    const next = levels.at(i + 1);
    if (next?.side !== side || next.price !== price) return true;
    const replacing = `line ${next.line} has the same side and price, and size ${next.size}, not ${size}`;
    if (next.size !== size) warnings.add('replaced_level', line, () => replacing);
    return false;
  });
  const present = last.filter(({ size }) => size > 0);
  const bids = present.filter(({ side }) => side === 0).reverse();
  const asks = present.filter(({ side }) => side === 1);
  const { quoteUsd } = levels[0];
  const inUsd = ({ price, size }: Level): [number, number] => [price * quoteUsd, size];
  return {
    market,
    key,
    quoteUsd,
    bids: bids.map(inUsd),
    asks: asks.map(inUsd),
    bestBid: bids.at(0)?.price ?? NaN,
    bestAsk: asks.at(0)?.price ?? NaN,
  };
}

/** The mid price, in USD, of the book with the most USD among those with both sides; NaN if there is none. */
function midOfDeepest(books: readonly Book[]): number {
  let deepest: Book | null = null;
  let mostUsd = -1;
  for (const book of books) {
    if (Number.isNaN(book.bestBid + book.bestAsk)) continue;
    let usd = 0;
    for (const [priceUsd, size] of book.bids) usd += priceUsd * size;
    for (const [priceUsd, size] of book.asks) usd += priceUsd * size;
    const isDeeper = usd > mostUsd || (usd === mostUsd && book.key < (deepest?.key ?? ''));
    if (isDeeper) [deepest, mostUsd] = [book, usd];
  }
  return deepest === null ? NaN : ((deepest.bestBid + deepest.bestAsk) / 2) * deepest.quoteUsd;
}
