/**
 * What a collector samples: a book on an exchange, or a pool on a chain.
 * A kind of source is one entry of `SOURCE_KINDS` (source-kinds.ts): it reads its part of the configuration and opens a
 * `Source`. The loop (collector.ts) knows nothing else of it: it calls `start()` once, `sample()` at every multiple of the
 * interval for all sources at once, and `stop()`. Sources of one chain share what they read through `SourceContext`.
 */
import type { MarketType } from '../compute/market.js';
import type { SortedBook } from '../storage/import/order-book.js';
import type { RestClient } from './rest.js';

/** The state of a market at a moment, in the currency that it is quoted in. */
export interface Sample {
  /** Price of the token in that currency. */
  price: number;
  /** The market's body in the dataset `snapshots` for a USD price of that currency: `{book}`, `{clmm}`, ... */
  body(quoteUsd: number): object;
  /** Address of a pool; null for a book. */
  address: string | null;
  /** The pair, as it is stored. */
  pair: string;
  /** USD price of the quote currency where the source knows it (a stablecoin on a chain) and none is configured. */
  quoteUsd?: number;
  /** How long ago the state was received, in ms. */
  ageMs: number;
  /** The levels of a book, in the units of its market, for figures that people look at. */
  book?: SortedBook;
}

/** Why a source has no sample. */
export interface Missing {
  missing: string;
}

export interface Source {
  /** Its `id` in the configuration. */
  readonly name: string;
  /** The name under which its market is stored. */
  readonly venue: string;
  readonly exchangeType: 'CEX' | 'DEX';
  readonly type: MarketType;
  /** What shows that a message was lost, for people. */
  readonly losses: string;
  /** What is real that the code was compared with; null: only documents. */
  readonly compared: string | null;
  /** Begins to follow the market. Never throws: what fails is a reason of `sample()`. */
  start(): void;
  /**
   * The state now, or why there is none. Everything in it was received, and is verified as far as the market allows. It
   * may ask for the state first; what comes after the interval's deadline is left out.
   * @param t the moment in epoch seconds that the snapshot is stamped with
   */
  sample(t: number): Promise<Sample | Missing> | Sample | Missing;
  /** Ends connections and timers. */
  stop(): void;
}

/** What the sources of a collector share. */
export interface SourceContext {
  /** Whole seconds between two samples. */
  everyS: number;
  /** Requests for books by REST. */
  rest: RestClient;
  log(text: string): void;
  /** Counts that a source lost its state and starts over. */
  onResync(source: string, cause: ResyncCause): void;
}

/**
 * Why a source starts over. sequence: an update is missing. checksum: the book differs from the exchange's. restart: the
 * exchange asks for it. renewed: nothing would show a loss.
 */
export type ResyncCause =
  | 'sequence'
  | 'checksum'
  | 'crossed'
  | 'closed'
  | 'silent'
  | 'malformed'
  | 'refused'
  | 'renewed'
  | 'restart';

/** What comes later than this share of the interval is left out; at most MAX_SAMPLE_MS. */
const SAMPLE_SHARE = 0.5;
const MAX_SAMPLE_MS = 10_000;

/** How long a sample may take. */
export const sampleTimeoutMs = (everyS: number): number =>
  Math.min(MAX_SAMPLE_MS, everyS * 1000 * SAMPLE_SHARE);

export const isMissing = (sample: Sample | Missing): sample is Missing => 'missing' in sample;
