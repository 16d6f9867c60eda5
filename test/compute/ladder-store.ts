/** Stores of full ladders whose amounts a test chooses for each snapshot. */
import type { PlainStore } from '../reference/replay.js';
import { START_T } from './replay-stores.js';

/** A fixed sequence of numbers in 0..1. */
export function sequence(seed = 12_345): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

export interface LadderShape {
  snapshots: number;
  markets: number;
  /** Number of bins per market, from -half to half - 1. */
  bins: number;
  /** Share of the cells that each snapshot has. */
  there?: number;
}

/** Cents of a cell in a snapshot; `last` is the previous amount, -1 at first. */
export type Cents = (
  draw: () => number,
  last: number,
  s: number,
  market: number,
  bin: number,
) => number;

/** In every snapshot 60% of the cells change, the others stay the same. */
export const moving: Cents = (draw, last) =>
  last < 0 || draw() < 0.6 ? 1000 + draw() ** 2 * 600_000 : last;

/** A store in which every cell up to bin 0 has support, and every other cell resistance. */
export function ladderStore(
  { snapshots, markets, bins, there = 1 }: LadderShape,
  cents: Cents = moving,
  draw = sequence(),
): PlainStore {
  const amounts = new Map<number, number>();
  const types = ['onchain_pool', 'onchain_limit_order', 'cex_spot', 'cex_perp'] as const;
  return {
    markets: Array.from({ length: markets }, (_, m) => ({
      source: `Venue ${m >> 1}`,
      exchangeType: (m >> 1) % 4 < 2 ? ('DEX' as const) : ('CEX' as const),
      type: types[(m >> 1) % 4],
      address: `address-${m}`,
      pair: 'A/USD',
    })),
    snapshots: Array.from({ length: snapshots }, (_, s) => ({
      t: START_T + 120 * s,
      tier: 'raw' as const,
      price: 148 + Math.round(draw() * 1000) / 1000,
      cells: Array.from({ length: markets * bins }, (_, c) => {
        const market = Math.floor(c / bins);
        const bin = (c % bins) - (bins >> 1);
        const amount = Math.floor(cents(draw, amounts.get(c) ?? -1, s, market, bin));
        amounts.set(c, amount);
        const support = bin <= 0 ? BigInt(amount) : 0n;
        return { market, bin, support, resistance: BigInt(amount) - support };
      }).filter(() => there === 1 || draw() < there),
    })),
  };
}
