/**
 * The depth of the simulated market behind `fathom demo`: about sixty tokens on both chains, a pure
 * function of a seed and the time. Any span of it can be made in any order, on any thread, and a
 * live collector can continue where the history ends.
 */
import type { BinnedChunk } from '../compute/ingest/binned-chunk.js';
import { binSnapshotRows } from '../compute/ingest/snapshots.js';
import { type Tier, TIER_LENGTH_S } from '../compute/market.js';
import { DAY_S, HOUR_S } from '../compute/time.js';
import { bookAt } from './book.js';
import { hash, keyOf, unit } from './hash.js';
import type { DemoMarket, MarketHead } from './markets.js';
import { clmmAt, constantProductAt, dlmmAt } from './pools.js';
import { tradedPrice } from './price.js';
import { type DemoToken, demoTokens } from './tokens.js';

/** How far raw snapshots reach back. */
export const DEMO_RAW_S = DAY_S;
/** Quarter-hourly snapshots of the main chain, before the raw ones. */
export const DEMO_15M_S = 7 * DAY_S;
/** Hourly snapshots of the EVM chain, before the raw ones. */
export const DEMO_1H_S = 30 * DAY_S;

/** The raw day is made in these spans, newest first, to make pages work soon. */
const RAW_SPANS_S = [2 * HOUR_S, 6 * HOUR_S, 16 * HOUR_S] as const;
/** A collector misses a snapshot now and then. */
const MISS_CHANCE = 0.004;
/** A venue's feed is down for one of these spans now and then. */
const OUTAGE_S = 600;
const OUTAGE_CHANCE = 0.002;
/** Bins that an hourly snapshot keeps. */
const HOURLY_FIRST_BIN = -25;
const HOURLY_LAST_BIN = 22;

/** One span of the demo's history: one token's snapshots of one tier in `[fromS, toS)`. */
export interface DemoUnit {
  token: DemoToken;
  tier: Tier;
  fromS: number;
  toS: number;
}

/** A DemoUnit as it crosses a thread boundary. */
export interface DemoUnitInput {
  seed: number;
  /** Position in demoTokens(seed). */
  tokenIndex: number;
  tier: Tier;
  fromS: number;
  toS: number;
}

/**
 * The demo's whole history up to and including `untilS` as units of work, newest first: the last two
 * hours of every token, then the rest of the raw day, then a week of quarter hours on mainchain
 * and a month of hours on evmchain. Units of one token and tier do not overlap and leave no gap.
 */
export function demoPlan(tokens: readonly DemoToken[], untilS: number): DemoUnit[] {
  const traded = tokens.filter((token) => token.markets.length > 0);
  const plan: DemoUnit[] = [];
  let toS = untilS + 1;
  for (const spanS of RAW_SPANS_S) {
    const fromS = toS - spanS;
    for (const token of traded) plan.push({ token, tier: 'raw', fromS, toS });
    toS = fromS;
  }
  for (const token of traded) {
    const isMain = token.chain === 'mainchain';
    const lengthS = isMain ? DEMO_15M_S : DEMO_1H_S;
    plan.push({ token, tier: isMain ? '15m' : '1h', fromS: toS - lengthS, toS });
  }
  return plan;
}

/**
 * Times of a token's snapshots of a tier in `[fromS, toS)`, ascending: raw ones at the token's own
 * cadence on absolute time with a few missing, the others on whole quarters and hours.
 */
export function demoSnapshotTimes(
  token: DemoToken,
  fromS: number,
  toS: number,
  tier: Tier,
): number[] {
  if (token.markets.length === 0) return [];
  const isRaw = tier === 'raw';
  const stepS = isRaw ? token.cadenceS : TIER_LENGTH_S[tier];
  const offsetS = isRaw ? token.offsetS : 0;
  const times: number[] = [];
  for (let step = Math.ceil((fromS - offsetS) / stepS); ; step++) {
    const t = step * stepS + offsetS;
    if (t >= toS) return times;
    const isMissed = isRaw && unit(hash(hash(token.key, 4), step)) < MISS_CHANCE;
    if (!isMissed) times.push(t);
  }
}

/**
 * The row of dataset `snapshots` of one token at one moment: its price and every market's raw
 * state. Hourly rows have only the cells near the price.
 * @param t epoch seconds, one of `demoSnapshotTimes`
 * @throws RangeError if the token has no price, and therefore no snapshots
 */
export function demoSnapshotRow(token: DemoToken, t: number, tier: Tier) {
  if (token.price === null) throw new RangeError(`${token.symbol} has no price and no snapshots`);
  const priceUsd = tradedPrice(token.price, t);
  const markets = token.markets
    .filter((market, index) => index === 0 || !isDown(token, market, t))
    .map((market): DemoMarketRow => ({ ...market.head, ...bodyOf(market, priceUsd, t) }));
  const row = { chain: token.chain, address: token.address, t, tier, price_usd: priceUsd, markets };
  return tier === '1h' ? { ...row, markets: nearCells(row) } : row;
}

/** A row of dataset `snapshots`. */
export type DemoSnapshotRow = ReturnType<typeof demoSnapshotRow>;

/** Simulates one token's snapshots of `[fromS, toS)` and bins them like a collector's rows. */
export function simulateDemo(input: DemoUnitInput): BinnedChunk {
  const { seed, tokenIndex, tier, fromS, toS } = input;
  if (tokensOfSeed?.seed !== seed) tokensOfSeed = { seed, tokens: demoTokens(seed) };
  const token = tokensOfSeed.tokens[tokenIndex];
  const times = demoSnapshotTimes(token, fromS, toS, tier);
  return binSnapshotRows(rowsAt(token, times, tier), { firstLine: 1, mode: 'replace' });
}

/** One row at a time: those of a day would take hundreds of MB. */
function* rowsAt(
  token: DemoToken,
  times: readonly number[],
  tier: Tier,
): Iterable<DemoSnapshotRow> {
  for (const t of times) yield demoSnapshotRow(token, t, tier);
}

/** The last seed's tokens, kept for the sums that their pools cache. */
let tokensOfSeed: { seed: number; tokens: DemoToken[] } | null = null;

function isDown({ key }: DemoToken, { head }: DemoMarket, t: number): boolean {
  return unit(hash(keyOf(key, head.source), Math.floor(t / OUTAGE_S))) < OUTAGE_CHANCE;
}

type DemoMarketRow = MarketHead & MarketBody;
type MarketBody =
  | { book: ReturnType<typeof bookAt> }
  | { clmm: ReturnType<typeof clmmAt> }
  | { dlmm: ReturnType<typeof dlmmAt> }
  | { constant_product: ReturnType<typeof constantProductAt> }
  | { cells: [number, number, number][] };

function bodyOf(market: DemoMarket, priceUsd: number, t: number): MarketBody {
  switch (market.kind) {
    case 'book':
      return { book: bookAt(market.book, priceUsd, t) };
    case 'clmm':
      return { clmm: clmmAt(market.pool, priceUsd, t) };
    case 'dlmm':
      return { dlmm: dlmmAt(market.pool, priceUsd, t) };
    case 'constant_product':
      return { constant_product: constantProductAt(market.pool, priceUsd, t) };
  }
}

/** The markets of a row as cells, the form in which some collectors report them. */
function nearCells(row: object): DemoMarketRow[] {
  const { markets, run } = binSnapshotRows([row], { firstLine: 1, mode: 'replace' }).runs[0];
  return markets.map(({ exchangeType, ...market }, index) => {
    const cells: [number, number, number][] = [];
    run.bin.forEach((bin, i) => {
      const isNear = bin >= HOURLY_FIRST_BIN && bin <= HOURLY_LAST_BIN;
      if (run.market[i] !== index || !isNear) return;
      cells.push([bin, run.supportCents[i] / 100, run.resistanceCents[i] / 100]);
    });
    return { ...market, exchange_type: exchangeType, cells };
  });
}
