import { hash, unit } from './hash.js';

/** A large resting order at a round price. */
export interface Wall {
  priceUsd: number;
  /** In units of an ordinary level. */
  strength: number;
}

const HOUR_S = 3_600;
const WALL_EPOCH_S = 7 * HOUR_S;
const MAX_WALL_CHANCE = 0.6;
const MIN_STRENGTH = 12;
const STRENGTH_RANGE = 70;
/** A venue carries this share of a token's walls. */
const VENUE_SHARE = 0.55;
/** A wall's owner trims or tops it up at these times. */
const TRIM_S = 1_200;
/** Closer to the price than this a wall is taken or pulled. */
const MIN_DISTANCE = 0.003;

/** How round a two-digit number is: 10, 20, ... most, then 15, 25, ..., then the rest. */
function roundness(digits: number): number {
  if (digits % 10 === 0) return 1;
  return digits % 5 === 0 ? 0.6 : 0.12;
}

/** Where the wall at one round price stands in its epoch, or 0 where there is none. */
function strengthAt(h: number, digits: number, isBid: boolean, t: number): number {
  const shifted = t + (h % WALL_EPOCH_S);
  const epoch = Math.floor(shifted / WALL_EPOCH_S);
  const g = hash(h, epoch);
  if (unit(g) >= roundness(digits) * MAX_WALL_CHANCE) return 0;
  if ((hash(g, 1) & 1) === (isBid ? 1 : 0)) return 0;
  const from = unit(hash(g, 2)) * 0.45;
  const until = from + 0.25 + unit(hash(g, 3)) * 0.4;
  const within = shifted / WALL_EPOCH_S - epoch;
  if (within < from || within > until) return 0;
  const trim = 0.9 + 0.2 * unit(hash(g, Math.floor(shifted / TRIM_S)));
  const skew = unit(hash(g, 4));
  return (MIN_STRENGTH + STRENGTH_RANGE * skew * skew * skew) * trim;
}

/**
 * The walls of one venue that stand at `t` between two prices: at prices of two significant
 * digits, for two to five hours each, bids below the price and asks above it.
 */
export function wallsAt(
  tokenKey: number,
  venueKey: number,
  midUsd: number,
  lowUsd: number,
  highUsd: number,
  t: number,
): Wall[] {
  const walls: Wall[] = [];
  const lastDecade = Math.floor(Math.log10(highUsd)) - 1;
  for (let decade = Math.floor(Math.log10(lowUsd)) - 1; decade <= lastDecade; decade++) {
    const decadeKey = hash(tokenKey, decade);
    for (let digits = 10; digits < 100; digits++) {
      const priceUsd = decade < 0 ? digits / 10 ** -decade : digits * 10 ** decade;
      if (priceUsd < lowUsd || priceUsd > highUsd) continue;
      if (Math.abs(priceUsd / midUsd - 1) < MIN_DISTANCE) continue;
      const h = hash(decadeKey, digits);
      if (unit(hash(venueKey, h)) >= VENUE_SHARE) continue;
      const strength = strengthAt(h, digits, priceUsd < midUsd, t);
      if (strength > 0) walls.push({ priceUsd, strength });
    }
  }
  return walls;
}
