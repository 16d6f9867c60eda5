/** The 1% geometric ladder (docs/definitions.md#ladder). */

export const BIN_RATIO = 1.01;
export const MIN_BIN = -232;
export const MAX_BIN = 242;
export const BIN_COUNT = MAX_BIN - MIN_BIN + 1;

/** Ingest refuses a snapshot with more cells. */
export const MAX_CELLS_PER_SNAPSHOT = 100_000;
/** The most support + resistance of a snapshot, in cents: larger sums would not be exact. */
export const MAX_SNAPSHOT_CENTS = Number.MAX_SAFE_INTEGER;
/** A cell with less support + resistance than this is omitted (docs/definitions.md#cells). */
export const MIN_CELL_CENTS = 100;

export const DEFAULT_MIN_PCT = -50;
export const DEFAULT_MAX_PCT = 100;

const LN_RATIO = Math.log(BIN_RATIO);
const BAND_TOLERANCE = 1e-9;

/** Price of bin `b` relative to the snapshot's price: `1.01^b`. */
export function binFactor(bin: number): number {
  return Math.pow(BIN_RATIO, bin);
}

/** `binFactor` of each bin, from MIN_BIN on. */
export const BIN_FACTORS: Readonly<Float64Array> = Float64Array.from(
  { length: BIN_COUNT },
  (_, i) => binFactor(MIN_BIN + i),
);

/**
 * Bin of a level at `priceUsd` on the ladder of a snapshot at `snapshotPriceUsd`:
 * `floor(ln(p / P) / ln(1.01) + 0.5)`. It may lie outside MIN_BIN..MAX_BIN.
 */
export function binOfPrice(priceUsd: number, snapshotPriceUsd: number): number {
  return Math.floor(Math.log(priceUsd / snapshotPriceUsd) / LN_RATIO + 0.5);
}

/** Rounds USD to whole cents, halves up: `floor(x * 100 + 0.5)`. */
export function centsOfUsd(usd: number): number {
  return Math.floor(usd * 100 + 0.5);
}

/** First and last bin of a band; `first > last` if the band has no bin. */
export interface BinRange {
  first: number;
  last: number;
}

/**
 * Bins that the band `[minPct, maxPct]` (percent from the snapshot's price) keeps:
 * `1 + minPct/100 <= 1.01^b <= 1 + maxPct/100` with a relative tolerance of 1e-9 at both ends.
 */
export function binsOfBand(minPct: number, maxPct: number): BinRange {
  const low = (1 + minPct / 100) * (1 - BAND_TOLERANCE);
  const high = (1 + maxPct / 100) * (1 + BAND_TOLERANCE);
  let first = MIN_BIN;
  while (first <= MAX_BIN && BIN_FACTORS[first - MIN_BIN] < low) first++;
  let last = MAX_BIN;
  while (last >= MIN_BIN && BIN_FACTORS[last - MIN_BIN] > high) last--;
  return { first, last };
}

/** The default band's bins: -69 to 69. */
export const DEFAULT_BAND: BinRange = binsOfBand(DEFAULT_MIN_PCT, DEFAULT_MAX_PCT);
