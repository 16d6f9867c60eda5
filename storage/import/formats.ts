/** The market-data formats that an import reads, its options, and its report. */
import type { MarketType } from '../../compute/market.js';
import type { TokenName } from '../contract.js';

/**
 * book: messages of one order book, sampled at moments. pools: states of pools, one snapshot per time. tokens: lists of
 * tokens. holders: the owners of a token at one time. orders: orders of many tokens. The first two give rows of the
 * dataset `snapshots`, the others rows of the dataset with their name.
 */
export type ImportKind = 'book' | 'pools' | 'tokens' | 'holders' | 'orders';

/** The kind of each format, which decides its options. */
const KINDS = {
  'tardis-incremental-l2': 'book',
  'tardis-book-snapshot': 'book',
  'binance-stream': 'book',
  'binance-t-depth': 'book',
  capture: 'book',
  'clmm-pools': 'pools',
  'dlmm-bins': 'pools',
  'cp-pairs': 'pools',
  'solana-token-list': 'tokens',
  'wormhole-csv': 'tokens',
  'solscan-holders': 'holders',
  'jupiter-dca': 'orders',
  'jupiter-limit-orders': 'orders',
} as const satisfies Record<string, ImportKind>;

export type ImportFormat = keyof typeof KINDS;
export const IMPORT_FORMATS = Object.keys(KINDS) as ImportFormat[];
export const kindOfFormat = (format: ImportFormat): ImportKind => KINDS[format];

export interface ImportOptions {
  /**
   * Its `0x` address in lower case. Required for books, pools and holders; for orders, imports only those of this token.
   */
  token?: TokenName;
  /** Which of several symbols in the files to import, in any case. */
  symbol?: string;
  source?: string;
  pair?: string;
  type?: MarketType;
  /** USD price of the unit in which an order book is quoted. */
  quoteUsd: number;
  /** USD prices of the tokens on the other side of pools, and of tokens of orders, by canonical address. */
  quoteUsdByAddress: Map<string, number>;
  /** Decimals of tokens of orders with raw amounts, by address. */
  decimalsByAddress: Map<string, number>;
  /** Whole seconds between two snapshots of an order book. */
  everyS: number;
  /** Epoch seconds, for pool states without a time; required for holders. */
  atS?: number;
  /** Set if the book's sizes are contracts worth this many USD. */
  contractUsd?: number;
  /** Set if the book's sizes are contracts of this many units of the coin. */
  contractSize?: number;
  /** Reads the captures of the chosen exchange; required for captures. */
  capture?: (request: TokenImport) => AsyncGenerator<object, void, undefined>;
}

/** How many entries of each list a report keeps; the others are counted. */
const MAX_REPORTED = 50;

/** The first MAX_REPORTED items, and how many there were. */
export class Tally<T> {
  count = 0;
  readonly first: T[] = [];

  add(item: T): void {
    this.count++;
    if (this.first.length < MAX_REPORTED) this.first.push(item);
  }
}

/** A remark on the feed at a time. */
interface FeedNote {
  /** Epoch seconds of the feed, with a fraction; null before the feed's first time. */
  t: number | null;
  reason: string;
}

/** An input entry from which no row or link was made. */
export interface LeftOut {
  /** `file:line`, or `file` with the entry's number in a list. */
  where: string;
  /** What was left out: a pool, a mint or a contract. */
  what: string;
  /** Why, and the flag that would include it if there is one. */
  reason: string;
}

/** An import of one token: its input, its options, and its report. */
export interface TokenImport {
  files: readonly string[];
  token: TokenName;
  options: ImportOptions;
  report: ImportReport;
}

/** What an import did; its memory is bounded. */
export class ImportReport {
  /** How many messages of an order book, pool states, list entries, holders' rows or orders were read. */
  messages = 0;
  /** How many rows were made. */
  rows = 0;
  /** Breaks after which the book was unusable until it was whole again, and fresh starts. */
  readonly gaps = new Tally<FeedNote>();
  /** Messages earlier than the message before; they are applied in file order. */
  readonly outOfOrder = new Tally<FeedNote>();
  /** Rows whose best bid is at or above the best ask. */
  readonly crossed = new Tally<FeedNote>();
  /** Updates and snapshots that the book already included, or that came before any snapshot. */
  oldMessages = 0;
  readonly leftOut = new Tally<LeftOut>();
}
