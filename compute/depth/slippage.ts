/**
 * What an order costs, what it takes to move the price, and how far a flow of orders moves it: one walk over a
 * snapshot's ladder (docs/definitions.md#slippage).
 *
 * A sell takes support downwards, a buy takes resistance upwards. Both are one walk over the distance from the price:
 * `d = s * position`, with `s` -1 for a sell and 1 for a buy, and the price `P * 1.01^(s*d)` at distance `d`.
 */
import { BIN_COUNT, BIN_RATIO, MIN_BIN } from '../ladder.js';
import type { BinSums, SnapshotCells } from '../segment/snapshots.js';

export const ORDER_SIDES = ['sell', 'buy'] as const;
export type OrderSide = (typeof ORDER_SIDES)[number];

const LN_RATIO = Math.log(BIN_RATIO);

/** The side of a ladder that an order takes. */
interface LadderSide {
  side: OrderSide;
  firstBin: number;
  /** By bin, ascending: index `bin - firstBin`. */
  cents: Float64Array;
}

/** The ladder that an order takes, summed over the chosen markets. */
export interface OrderLadder extends LadderSide {
  /** Price of the snapshot, USD. */
  priceUsd: number;
  venueCount: number;
  /**
   * The parts of the venues in each bin with an amount, as an order takes them: those of the nth are
   * `partsFrom[n] <= i < partsFrom[n + 1]`.
   */
  partsFrom: Uint32Array;
  partVenue: Uint32Array;
  partCents: Float64Array;
  /** The sum of all bins. */
  totalCents: number;
}

/** What an order of a given size gets. Percentages are relative to the snapshot's price; null if the ladder cannot fill it. */
export interface OrderCost {
  filled: boolean;
  /** `usd / tokens` */
  averagePriceUsd: number | null;
  /** Where the walk ends. */
  endPriceUsd: number | null;
  /** `100 * (average / P - 1)`: negative for a sell. */
  slippagePct: number | null;
  /** Slippage if each bin's amount were at its near end, and at its far end. */
  bestPct: number | null;
  worstPct: number | null;
  /** USD taken from each venue, in proportion to its amount in each bin. */
  venueUsd: Float64Array;
}

/** The markets and the side of a snapshot that a request chooses. */
export interface LadderInput {
  cells: SnapshotCells;
  side: OrderSide;
  /** By market: the index of its venue, -1 if the market does not count. */
  venueOf: Int32Array;
  venueCount: number;
}

export interface SlippageAmounts {
  usd: readonly number[];
  movePct: readonly number[];
}

export interface Slippage {
  /** Total of the chosen markets on the side that the order takes. */
  fillableUsd: number;
  /** In the order of `usd`. */
  costs: OrderCost[];
  /** USD, in the order of `movePct`. */
  moves: number[];
}

/** Answers all amounts and moves of a request from one ladder. */
export function slippage(ladder: OrderLadder, { usd, movePct }: SlippageAmounts): Slippage {
  return {
    fillableUsd: ladder.totalCents / 100,
    costs: usd.map((amount) => orderCost(ladder, amount)),
    moves: movePct.map((move) => costOfMove(ladder, move)),
  };
}

/** By bin: sums while a ladder is being built, and the place of the bin among those with an amount. */
const sums = new Float64Array(BIN_COUNT);
const placeOf = new Int32Array(BIN_COUNT);

export function orderLadder({ cells, side, venueOf, venueCount }: LadderInput): OrderLadder {
  const { market, bin, priceUsd } = cells;
  const amounts = amountsOf(cells, side);
  sums.fill(0);
  let totalCents = 0;
  for (let i = 0; i < bin.length; i++) {
    if (venueOf[market[i]] < 0) continue;
    sums[bin[i] - MIN_BIN] += amounts[i];
    totalCents += amounts[i];
  }
  let [first, last, bins] = [BIN_COUNT, -1, 0];
  for (let n = 0; n < BIN_COUNT; n++) {
    const index = side === 'sell' ? BIN_COUNT - 1 - n : n;
    if (sums[index] === 0) continue;
    placeOf[index] = bins++;
    first = Math.min(first, index);
    last = Math.max(last, index);
  }
  const firstBin = first + MIN_BIN;
  const cents = sums.slice(first, last + 1);
  const parts = partsOfVenues({ cells, side, venueOf, venueCount }, bins);
  return { side, firstBin, cents, priceUsd, venueCount, ...parts, totalCents };
}

const amountsOf = ({ supportCents, resistanceCents }: SnapshotCells, side: OrderSide) =>
  side === 'sell' ? supportCents : resistanceCents;

/** The cells of each bin, summed by venue. Most of tens of thousands of venues have none in most bins. */
function partsOfVenues(
  { cells, side, venueOf, venueCount }: LadderInput,
  bins: number,
): Pick<OrderLadder, 'partsFrom' | 'partVenue' | 'partCents'> {
  const { market, bin } = cells;
  const amounts = amountsOf(cells, side);
  const cellsFrom = new Uint32Array(bins + 1);
  const counts = (i: number): boolean => venueOf[market[i]] >= 0 && amounts[i] !== 0;
  for (let i = 0; i < bin.length; i++) if (counts(i)) cellsFrom[placeOf[bin[i] - MIN_BIN] + 1]++;
  for (let place = 0; place < bins; place++) cellsFrom[place + 1] += cellsFrom[place];
  const next = cellsFrom.slice();
  const byBin = new Uint32Array(cellsFrom[bins]);
  for (let i = 0; i < bin.length; i++) if (counts(i)) byBin[next[placeOf[bin[i] - MIN_BIN]]++] = i;
  const partsFrom = new Uint32Array(bins + 1);
  const partVenue = new Uint32Array(byBin.length);
  const partCents = new Float64Array(byBin.length);
  /** By venue: its last part. */
  const lastPart = new Int32Array(venueCount).fill(-1);
  let parts = 0;
  for (let place = 0; place < bins; place++) {
    partsFrom[place] = parts;
    for (let i = cellsFrom[place]; i < cellsFrom[place + 1]; i++) {
      const venue = venueOf[market[byBin[i]]];
      if (lastPart[venue] < partsFrom[place]) {
        lastPart[venue] = parts;
        partVenue[parts++] = venue;
      }
      partCents[lastPart[venue]] += amounts[byBin[i]];
    }
  }
  partsFrom[bins] = parts;
  return { partsFrom, partVenue: partVenue.slice(0, parts), partCents: partCents.slice(0, parts) };
}

const signOf = (side: OrderSide): number => (side === 'sell' ? -1 : 1);

/** Called for each bin of a walk: its ends as distances from the price, the cents taken of it, and their share of it. */
type Take = (near: number, far: number, cents: number, share: number) => void;

interface WalkEnd {
  cents: number;
  /** Where the walk ends; null if it takes nothing. */
  distance: number | null;
}

/**
 * Walks away from the price until an amount is taken, a distance is reached, or the ladder ends. A bin wholly on the
 * wrong side of the price stands at it: both its ends are 0.
 */
function walk(
  { side, firstBin, cents }: LadderSide,
  most: { cents: number; distance: number },
  take?: Take,
): WalkEnd {
  const sign = signOf(side);
  const end: WalkEnd = { cents: 0, distance: null };
  for (let n = 0; n < cents.length; n++) {
    const index = side === 'sell' ? cents.length - 1 - n : n;
    const all = cents[index];
    if (all === 0) continue;
    const outward = sign * (firstBin + index);
    const near = Math.max(outward - 0.5, 0);
    if (end.cents >= most.cents || near > most.distance) break;
    const far = Math.max(outward + 0.5, 0);
    let taken = Math.min(all, most.cents - end.cents);
    if (far > most.distance) {
      taken = Math.min(taken, (all * (most.distance - near)) / (far - near));
    }
    const share = taken / all;
    end.cents += taken;
    end.distance = near + share * (far - near);
    take?.(near, far, taken, share);
    // Also if rounding leaves a rest: the next bin may be far away.
    if (taken < all) break;
  }
  return end;
}

/** What an order of `usd` gets. */
export function orderCost(ladder: OrderLadder, usd: number): OrderCost {
  const { side, priceUsd, venueCount, partsFrom, partVenue, partCents, totalCents } = ladder;
  const wanted = centsOf(usd);
  const filled = wanted <= totalCents;
  const venueUsd = new Float64Array(venueCount);
  const rate = signOf(side) * LN_RATIO;
  // Tokens times P, in cents.
  let [tokens, bestTokens, worstTokens] = [0, 0, 0];
  let place = 0;
  const { distance } = walk(
    ladder,
    { cents: wanted, distance: Infinity },
    (near, far, taken, share) => {
      for (let i = partsFrom[place]; i < partsFrom[place + 1]; i++) {
        venueUsd[partVenue[i]] += (share * partCents[i]) / 100;
      }
      const atNear = taken * Math.exp(-rate * near);
      tokens += atNear * meanDecay(rate * share * (far - near));
      bestTokens += atNear;
      worstTokens += taken * Math.exp(-rate * far);
      place++;
    },
  );
  if (!filled || distance === null) {
    const unknown = { averagePriceUsd: null, endPriceUsd: null, slippagePct: null };
    return { filled, ...unknown, bestPct: null, worstPct: null, venueUsd };
  }
  const average = wanted / tokens;
  return {
    filled,
    averagePriceUsd: priceUsd * average,
    endPriceUsd: priceUsd * Math.exp(rate * distance),
    slippagePct: 100 * (average - 1),
    bestPct: 100 * (wanted / bestTokens - 1),
    worstPct: 100 * (wanted / worstTokens - 1),
    venueUsd,
  };
}

/** Exact for amounts in whole cents: an order for whole bins must not reach into the next bin. */
function centsOf(usd: number): number {
  const whole = Math.round(usd * 100);
  return whole / 100 === usd ? whole : usd * 100;
}

/** Mean of `e^-x` for `x` from 0 to `y`: `(1 - e^-y) / y`, and 1 at 0. */
function meanDecay(y: number): number {
  return y === 0 ? 1 : -Math.expm1(-y) / y;
}

/**
 * USD between the price and `P * (1 - movePct/100)` for a sell, `P * (1 + movePct/100)` for a buy; the whole
 * ladder if that price is beyond it.
 */
export function costOfMove(ladder: LadderSide, movePct: number): number {
  const sign = signOf(ladder.side);
  // 100% down is a price of 0, which is beyond every ladder, as is anything further.
  const isBelowZero = ladder.side === 'sell' && movePct >= 100;
  const distance = isBelowZero ? Infinity : (sign * Math.log1p((sign * movePct) / 100)) / LN_RATIO;
  return walk(ladder, { cents: Infinity, distance }).cents / 100;
}

/**
 * The move of the price, in percent, that a net flow of `netUsd` causes: where a buy of a positive flow, or a sell of a
 * negative one, ends (docs/definitions.md#price-impact). If the ladder holds less, that is the far edge of its last bin.
 * @param ladder null if there is no depth
 * @returns 0 without a flow; otherwise null if there is no depth on the side that the flow takes
 */
export function impactPct(ladder: BinSums | null, netUsd: number): number | null {
  if (netUsd === 0) return 0;
  if (ladder === null) return null;
  const { firstBin, supportCents, resistanceCents } = ladder;
  const taken: LadderSide =
    netUsd < 0
      ? { side: 'sell', firstBin, cents: supportCents }
      : { side: 'buy', firstBin, cents: resistanceCents };
  const { distance } = walk(taken, { cents: centsOf(Math.abs(netUsd)), distance: Infinity });
  if (distance === null) return null;
  // The sum is never -0.
  return 100 * Math.expm1(signOf(taken.side) * distance * LN_RATIO) + 0;
}
