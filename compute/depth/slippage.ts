/**
 * What an order costs, and what it takes to move the price: walks over a snapshot's ladder
 * (docs/definitions.md#slippage).
 *
 * A sell takes support downwards, a buy takes resistance upwards. Both are one walk over the distance from the price:
 * `d = s * position`, with `s` -1 for a sell and 1 for a buy, and the price `P * 1.01^(s*d)` at distance `d`.
 */
import { BIN_COUNT, BIN_RATIO, MIN_BIN } from '../ladder.js';
import type { SnapshotCells } from '../segment/snapshots.js';

export const ORDER_SIDES = ['sell', 'buy'] as const;
export type OrderSide = (typeof ORDER_SIDES)[number];

const LN_RATIO = Math.log(BIN_RATIO);

/** A bin with an amount of the side that the order takes. Distances from the price, in bins. */
interface Step {
  /** `max(s*b - 0.5, 0)`: where the order begins to take it. */
  near: number;
  /** `max(s*b + 0.5, 0)`; equals `near`, 0, for a bin on the wrong side of the price. */
  far: number;
  cents: number;
}

/** The ladder that an order takes, summed over the chosen markets. */
export interface OrderLadder {
  side: OrderSide;
  /** Price of the snapshot, USD. */
  priceUsd: number;
  /** The nearest bin first. */
  steps: readonly Step[];
  venueCount: number;
  /** Cents by step and venue: index `step * venueCount + venue`. */
  venueCents: Float64Array;
  /** The sum of all steps. */
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

/** By bin: sums while a ladder is being built, and the bin's step. */
const sums = new Float64Array(BIN_COUNT);
const stepOf = new Int32Array(BIN_COUNT);

export function orderLadder({ cells, side, venueOf, venueCount }: LadderInput): OrderLadder {
  const { market, bin, priceUsd } = cells;
  const amounts = side === 'sell' ? cells.supportCents : cells.resistanceCents;
  sums.fill(0);
  let totalCents = 0;
  for (let i = 0; i < bin.length; i++) {
    if (venueOf[market[i]] < 0) continue;
    sums[bin[i] - MIN_BIN] += amounts[i];
    totalCents += amounts[i];
  }
  const steps: Step[] = [];
  const sign = signOf(side);
  for (let n = 0; n < BIN_COUNT; n++) {
    const index = side === 'sell' ? BIN_COUNT - 1 - n : n;
    if (sums[index] === 0) continue;
    const distance = sign * (index + MIN_BIN);
    stepOf[index] = steps.length;
    steps.push({
      near: Math.max(distance - 0.5, 0),
      far: Math.max(distance + 0.5, 0),
      cents: sums[index],
    });
  }
  const venueCents = new Float64Array(steps.length * venueCount);
  for (let i = 0; i < bin.length; i++) {
    const venue = venueOf[market[i]];
    if (venue < 0 || amounts[i] === 0) continue;
    venueCents[stepOf[bin[i] - MIN_BIN] * venueCount + venue] += amounts[i];
  }
  return { side, priceUsd, steps, venueCount, venueCents, totalCents };
}

const signOf = (side: OrderSide): number => (side === 'sell' ? -1 : 1);

/** What an order of `usd` gets: walks away from the price until `usd` is taken or the ladder ends. */
export function orderCost(ladder: OrderLadder, usd: number): OrderCost {
  const { side, priceUsd, steps, venueCount, venueCents, totalCents } = ladder;
  const wanted = centsOf(usd);
  const filled = wanted <= totalCents;
  const venueUsd = new Float64Array(venueCount);
  const rate = signOf(side) * LN_RATIO;
  let left = Math.min(wanted, totalCents);
  // Tokens times P, in cents.
  let [tokens, bestTokens, worstTokens] = [0, 0, 0];
  let end = 0;
  for (let step = 0; step < steps.length && left > 0; step++) {
    const { near, far, cents } = steps[step];
    const taken = Math.min(left, cents);
    const share = taken / cents;
    for (let venue = 0; venue < venueCount; venue++) {
      venueUsd[venue] += (share * venueCents[step * venueCount + venue]) / 100;
    }
    const length = share * (far - near);
    const atNear = taken * Math.exp(-rate * near);
    tokens += atNear * meanDecay(rate * length);
    bestTokens += atNear;
    worstTokens += taken * Math.exp(-rate * far);
    end = near + length;
    left -= taken;
  }
  if (!filled) {
    const unknown = { averagePriceUsd: null, endPriceUsd: null, slippagePct: null };
    return { filled, ...unknown, bestPct: null, worstPct: null, venueUsd };
  }
  const average = wanted / tokens;
  return {
    filled,
    averagePriceUsd: priceUsd * average,
    endPriceUsd: priceUsd * Math.exp(rate * end),
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
export function costOfMove({ side, steps }: OrderLadder, movePct: number): number {
  const sign = signOf(side);
  // 100% down is a price of 0, which is beyond every ladder, as is anything further.
  const isBelowZero = side === 'sell' && movePct >= 100;
  const target = isBelowZero ? Infinity : (sign * Math.log1p((sign * movePct) / 100)) / LN_RATIO;
  let cents = 0;
  for (const { near, far, cents: all } of steps) {
    if (near > target) break;
    cents += far <= target ? all : (all * (target - near)) / (far - near);
  }
  return cents / 100;
}
