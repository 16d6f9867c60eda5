import type { Extent } from './book.js';
import { hash, unit } from './hash.js';
import { HeldState, positionsAt, type PoolLiquidity, type Position } from './positions.js';
import { quotePrice, type PoolMoment, type PriceModel } from './price.js';
import type { DlmmBody } from './rows.js';

/** One pool of discrete liquidity bins. */
export interface DlmmProfile extends PoolLiquidity {
  quote: PriceModel | null;
  /** Basis points between bins. */
  binStep: number;
  /** Bins on either side of the price at most. */
  reachBins: number;
  token: 'x' | 'y';
  decimalsX: number;
  decimalsY: number;
}

/** What every bin holds in USD, whichever of the two tokens it holds it in. */
interface BinState {
  firstId: number;
  usd: Float64Array;
  fromS: number;
  toS: number;
}

/** The widest position spans this many bins, as on chain. */
const MAX_POSITION_BINS = 140;
const MIN_BIN_USD = 0.5;

/** Price of X in Y, human units, at an id. */
function priceOfId(pool: DlmmProfile, id: number): number {
  return Math.pow(1 + pool.binStep / 10_000, id) * 10 ** (pool.decimalsX - pool.decimalsY);
}

/** The id at a token price in quote tokens, with its fraction. */
function idOf(pool: DlmmProfile, inQuote: number): number {
  const human = pool.token === 'x' ? inQuote : 1 / inQuote;
  const raw = human * 10 ** (pool.decimalsY - pool.decimalsX);
  return Math.log(raw) / Math.log1p(pool.binStep / 10_000);
}

/** Even, peaked or hollow: the shapes in which providers spread a position over its bins. */
function shapeWeight(key: number, position: number): number {
  const fromMiddle = Math.abs(2 * position - 1);
  const kind = key % 4;
  if (kind < 2) return 1;
  return kind === 2 ? 1.9 * (1 - fromMiddle) + 0.05 : 1.9 * fromMiddle + 0.05;
}

function idSpan(pool: DlmmProfile, position: Position, quoteUsd: number): [number, number] {
  const a = Math.floor(idOf(pool, position.lowUsd / quoteUsd));
  const b = Math.floor(idOf(pool, position.highUsd / quoteUsd));
  const low = Math.min(a, b);
  const high = Math.max(a, b);
  const excess = Math.max(0, high - low + 1 - MAX_POSITION_BINS);
  return [low + Math.floor(excess / 2), high - Math.ceil(excess / 2)];
}

function binsAt(pool: DlmmProfile, t: number): BinState {
  const set = positionsAt(pool, t);
  const quoteUsd = quotePrice(pool.quote, set.fromS);
  const spans = set.positions.map((position) => idSpan(pool, position, quoteUsd));
  const firstId = spans.reduce((least, [low]) => Math.min(least, low), Infinity);
  const lastId = spans.reduce((most, [, high]) => Math.max(most, high), -Infinity);
  const usd = new Float64Array(lastId - firstId + 1);
  set.positions.forEach(({ usd: worth, key }, index) => {
    const [low, high] = spans[index];
    const bins = high - low + 1;
    for (let id = low; id <= high; id++) {
      usd[id - firstId] += (worth / bins) * shapeWeight(key, (id - low + 0.5) / bins);
    }
  });
  return { firstId, usd, fromS: set.fromS, toS: set.toS };
}

const binStates = new HeldState(binsAt);

/** Fees, deposits and withdrawals change single bins about this often. */
const BIN_CHANGE_S = 420;

/** About 1: no two bins are alike, and none stays as it is for long. */
function binFactor(key: number, id: number, t: number): number {
  const h = hash(key, id);
  return 0.75 + 0.5 * unit(hash(h, Math.floor((t + (h % BIN_CHANGE_S)) / BIN_CHANGE_S)));
}

function rounded(amount: number, decimals: number): number {
  return Number(amount.toFixed(Math.min(decimals, 9)));
}

/**
 * The pool's state at a moment: bins below the active one hold only Y, those above it only X, the
 * active one both.
 */
export function dlmmAt(pool: DlmmProfile, moment: PoolMoment, extent: Extent): DlmmBody {
  const { firstId, usd } = binStates.at(pool, moment.t);
  const inQuote = moment.poolUsd / moment.quoteUsd;
  const position = idOf(pool, inQuote);
  const activeId = Math.floor(position);
  const edges = [inQuote * Math.exp(-extent.below), inQuote * Math.exp(extent.above)];
  const ends = edges.map((p) => idOf(pool, p)).sort((a, b) => a - b);
  const first = Math.max(firstId, activeId - pool.reachBins, Math.ceil(ends[0]));
  const last = Math.min(firstId + usd.length - 1, activeId + pool.reachBins, Math.floor(ends[1]));
  const bins: [number, number, number][] = [];
  for (let id = first; id <= last; id++) {
    const worth = usd[id - firstId] * binFactor(pool.key, id, moment.t);
    if (worth < MIN_BIN_USD) continue;
    // The active bin is emptied of X from below as the price passes through it.
    const shareY = id < activeId ? 1 : id > activeId ? 0 : position - activeId;
    const price = priceOfId(pool, id);
    const amountY = (pool.token === 'x' ? worth : worth * price) / moment.quoteUsd;
    bins.push([
      id,
      rounded(((1 - shareY) * amountY) / price, pool.decimalsX),
      rounded(shareY * amountY, pool.decimalsY),
    ]);
  }
  return {
    bin_step: pool.binStep,
    active_id: activeId,
    bins,
    decimals_x: pool.decimalsX,
    decimals_y: pool.decimalsY,
    token: pool.token,
    quote_usd: moment.quoteUsd,
  };
}
