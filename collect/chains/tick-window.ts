/** The part of a pool that a ladder shows. */
import { BIN_RATIO, MAX_BIN, MIN_BIN } from '../../compute/ladder.js';

/**
 * Bins to each side of the pool's price that are read: the ladder's, and some to spare, since a snapshot's price is not
 * exactly the pool's.
 */
const REACH_BINS = Math.max(-MIN_BIN, MAX_BIN) + 14;

/** Ids to each side of the pool's price that are read, where each id is `ratio` times as dear as the one below. */
export function reachOf(ratio: number): number {
  return Math.ceil((REACH_BINS * Math.log(BIN_RATIO)) / Math.log(ratio));
}

export interface TickRange {
  low: number;
  high: number;
}

const TICK_RATIO = 1.0001;

/** The ticks within reach. @param most the pool's greatest tick; the lowest is its negative */
export function ticksInReach(tick: number, most: number): TickRange {
  const reach = reachOf(TICK_RATIO);
  return { low: Math.max(-most, tick - reach), high: Math.min(most, tick + reach) };
}

/** Net liquidity by tick, ascending. */
export type Ticks = readonly (readonly [tick: number, net: bigint])[];

/** Liquidity that begins in `ticks` and is active at a tick: at most the pool's, which may begin below them. */
export function heldAt(ticks: Ticks, tick: number): bigint {
  return ticks.reduce((sum, [at, net]) => (at <= tick ? sum + net : sum), 0n);
}

/**
 * The initialised ticks of a range as a whole pool: what lies outside stands in one tick at each end, so that the
 * running sum within is the pool's own.
 * @param liquidity active at `tick`; where the ticks hold more there, they count
 * @returns ticks as the dataset `snapshots` has them
 */
export function closedTicks(
  { low, high }: TickRange,
  ticks: Ticks,
  tick: number,
  liquidity: bigint,
): [number, string][] {
  const held = heldAt(ticks, tick);
  const below = liquidity > held ? liquidity - held : 0n;
  const within = ticks.reduce((sum, [, net]) => sum + net, 0n);
  const nets = new Map<number, bigint>([[low, below]]);
  for (const [at, net] of ticks) nets.set(at, (nets.get(at) ?? 0n) + net);
  nets.set(high, (nets.get(high) ?? 0n) - (below + within));
  return [...nets]
    .filter(([, net]) => net !== 0n)
    .sort(([a], [b]) => a - b)
    .map(([at, net]) => [at, String(net)]);
}
