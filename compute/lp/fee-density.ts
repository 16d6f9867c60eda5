/** LP fee density (docs/definitions.md#fee-density): organic volume over liquidity near the price. */
import { type Joined, splitTexts } from '../joined-texts.js';
import { recordOf } from '../collections.js';
import { type BinSums, depthUsdWithin } from '../segment/snapshots.js';
import { firstHourOf, hourIndex } from './hours.js';
import { binsOfPrices, pricesOver, type HourPrices } from './price-range.js';
import { inOrderOfAddress, rankOf } from './dlmm-board.js';

export const LP_WINDOWS_H = { '1h': 1, '6h': 6, '24h': 24 } as const;
type LpWindow = keyof typeof LP_WINDOWS_H;
export const LP_WINDOWS = Object.keys(LP_WINDOWS_H) as LpWindow[];

const LONGEST_WINDOW_H = LP_WINDOWS_H['24h'];

export const LP_DENOMINATORS = ['near', 'bin10', 'range'] as const;
type LpDenominator = (typeof LP_DENOMINATORS)[number];

const NEAR_BINS = 25;
const BIN10_BINS = 10;
/** A token with a smaller denominator is left out. */
const MIN_DENOMINATOR_USD = 1_000;

/** A token's denominators, USD; NaN if it has none. */
export interface Denominators {
  near: number;
  bin10: number;
  /** By window, in the order of LP_WINDOWS. */
  range: number[];
}

/**
 * A token's denominators, from the on-chain pools of its newest snapshot.
 * @param prices of the token's snapshots in sight; null if there are none
 */
export function denominatorsOf(
  newest: { priceUsd: number; pools: BinSums },
  prices: HourPrices | null,
  thisHourS: number,
): Denominators {
  const { priceUsd, pools } = newest;
  const range = LP_WINDOWS.map((window) => {
    const fromHourS = firstHourOf(thisHourS, LP_WINDOWS_H[window]);
    const travelled = prices === null ? null : pricesOver(prices, fromHourS, thisHourS);
    if (travelled === null) return NaN;
    const { first, last } = binsOfPrices(priceUsd, travelled.lowUsd, travelled.highUsd);
    return depthUsdWithin(pools, first, last);
  });
  return {
    near: depthUsdWithin(pools, -NEAR_BINS, NEAR_BINS),
    bin10: depthUsdWithin(pools, -BIN10_BINS, BIN10_BINS),
    range,
  };
}

/** Tokens that the board may list; token i is index i of each column, also of those in `range`. */
interface DensityTokens {
  addresses: readonly string[];
  near: Float64Array;
  bin10: Float64Array;
  /** By window, in the order of LP_WINDOWS. */
  range: readonly Float64Array[];
}

export function densityTokens(
  tokens: readonly { address: string; denominators: Denominators }[],
): DensityTokens {
  const column = (of: (denominators: Denominators) => number) =>
    Float64Array.from(tokens, ({ denominators }) => of(denominators));
  return {
    addresses: tokens.map(({ address }) => address),
    near: column(({ near }) => near),
    bin10: column(({ bin10 }) => bin10),
    range: LP_WINDOWS.map((_, window) => column(({ range }) => range[window])),
  };
}

/** Hours of tokens as columns: row i is index i of each. At most one row per token and hour. */
export interface TokenHours {
  addresses: readonly string[];
  /** Index into `addresses`. */
  token: Uint32Array;
  /** Start of the hour, epoch seconds. */
  hour: Uint32Array;
  organicVolumeUsd: Float64Array;
}

export interface FeeDensityInput {
  tokens: DensityTokens;
  /** In any order; hours outside a window and tokens not in `tokens` are ignored. */
  hours: TokenHours;
  thisHourS: number;
  /** Most rows of each board. */
  maxRows: number;
}

/** Rows by rank: largest density first, ties by address ascending. */
export interface FeeDensityRows {
  /** Index into the input's tokens. */
  token: Uint32Array;
  organicVolumeUsd: Float64Array;
  denominatorUsd: Float64Array;
  feeDensity: Float64Array;
}

export type FeeDensityBoards = Record<LpWindow, Record<LpDenominator, FeeDensityRows>>;

/** The input as it is sent to a thread. */
interface FeeDensityTask extends Omit<FeeDensityInput, 'tokens' | 'hours'> {
  tokens: Joined<DensityTokens>;
  hours: Joined<TokenHours>;
}

/** The boards of every window and denominator: a task of the pool. */
export function feeDensityTask({ tokens, hours, ...rest }: FeeDensityTask): FeeDensityBoards {
  return feeDensityBoards({
    tokens: { ...tokens, addresses: splitTexts(tokens.addresses) },
    hours: { ...hours, addresses: splitTexts(hours.addresses) },
    ...rest,
  });
}

/** The boards of every window and denominator. */
export function feeDensityBoards(input: FeeDensityInput): FeeDensityBoards {
  const { tokens, maxRows } = input;
  const byAddress = inOrderOfAddress(tokens.addresses);
  const hourly = hourlyVolumes(input);
  return recordOf(LP_WINDOWS, (window) => {
    const volumes = volumesOver(hourly, tokens.addresses.length, LP_WINDOWS_H[window]);
    const { near, bin10, range } = tokens;
    const ofDenominator = { near, bin10, range: range[LP_WINDOWS.indexOf(window)] };
    return recordOf(LP_DENOMINATORS, (denominator) =>
      rankDensity(byAddress, volumes, ofDenominator[denominator], maxRows),
    );
  });
}

/** Index `hour * tokens + token`, hours of the longest window, oldest first; NaN without a row. */
function hourlyVolumes({ tokens, hours, thisHourS }: FeeDensityInput): Float64Array {
  const { length } = tokens.addresses;
  const volumes = new Float64Array(LONGEST_WINDOW_H * length).fill(NaN);
  const indexOf = new Map(tokens.addresses.map((address, token) => [address, token]));
  const tokenOf = hours.addresses.map((address) => indexOf.get(address) ?? -1);
  const firstHourS = firstHourOf(thisHourS, LONGEST_WINDOW_H);
  for (let i = 0; i < hours.hour.length; i++) {
    const token = tokenOf[hours.token[i]];
    const hour = hourIndex(firstHourS, hours.hour[i]);
    if (token < 0 || hour < 0 || hour >= LONGEST_WINDOW_H) continue;
    volumes[hour * length + token] = hours.organicVolumeUsd[i];
  }
  return volumes;
}

/** The sum of each token's last `windowHours` hours; NaN if it has no row there. */
function volumesOver(hourly: Float64Array, length: number, windowHours: number): Float64Array {
  const volumes = new Float64Array(length).fill(NaN);
  for (let hour = LONGEST_WINDOW_H - windowHours; hour < LONGEST_WINDOW_H; hour++) {
    for (let token = 0; token < length; token++) {
      const volume = hourly[hour * length + token];
      if (Number.isNaN(volume)) continue;
      volumes[token] = (Number.isNaN(volumes[token]) ? 0 : volumes[token]) + volume;
    }
  }
  return volumes;
}

function rankDensity(
  byAddress: Uint32Array,
  volumes: Float64Array,
  denominators: Float64Array,
  maxRows: number,
): FeeDensityRows {
  const listed = byAddress.filter(
    (token) => denominators[token] >= MIN_DENOMINATOR_USD && !Number.isNaN(volumes[token]),
  );
  const density = Float64Array.from(listed, (token) => volumes[token] / denominators[token]);
  const rows = rankOf(density).subarray(0, maxRows);
  const column = (of: (row: number) => number) => Float64Array.from(rows, of);
  return {
    token: Uint32Array.from(rows, (row) => listed[row]),
    organicVolumeUsd: column((row) => volumes[listed[row]]),
    denominatorUsd: column((row) => denominators[listed[row]]),
    feeDensity: column((row) => density[row]),
  };
}
