import { hash, sizeDraw, unit } from './hash.js';
import { DAY_S } from './path.js';
import { fairPrice, type PriceModel } from './price.js';

/** What a pool of ranges holds, and around which price. */
export interface PoolLiquidity {
  key: number;
  price: PriceModel;
  tvlUsd: number;
  /** About so many stand at a time. */
  positions: number;
}

/** One liquidity provider's range. */
export interface Position {
  lowUsd: number;
  highUsd: number;
  usd: number;
  /** A hash of its own, for what else a pool wants to know of it. */
  key: number;
}

/** The positions of a pool, and the span of time in which none of them changes. */
export interface PositionSet {
  positions: Position[];
  fromS: number;
  toS: number;
}

/** Kinds of providers: half width (log), how long they stay, how many, share of the liquidity. */
const COHORTS = [
  { width: 0.7, staysS: 12 * DAY_S, weight: 6, share: 0.28 },
  { width: 0.35, staysS: 5 * DAY_S, weight: 8, share: 0.18 },
  { width: 0.18, staysS: 2.5 * DAY_S, weight: 8, share: 0.17 },
  { width: 0.09, staysS: DAY_S, weight: 8, share: 0.16 },
  { width: 0.045, staysS: DAY_S / 2, weight: 6, share: 0.12 },
  { width: 0.02, staysS: DAY_S / 4, weight: 4, share: 0.09 },
] as const;
const COHORT_WEIGHT = COHORTS.reduce((sum, cohort) => sum + cohort.weight, 0);
/** Providers of a kind arrive in groups, each around the price at its own time. */
const GROUPS = 2;

/**
 * The positions of a pool at `t`: wide ones stand for weeks, narrow ones for hours, each around the
 * price when its group arrived, with heavy-tailed sizes.
 */
export function positionsAt(pool: PoolLiquidity, t: number): PositionSet {
  const { key, tvlUsd, positions: count } = pool;
  const set: PositionSet = { positions: [], fromS: -Infinity, toS: Infinity };
  COHORTS.forEach((cohort, index) => {
    const perGroup = Math.max(1, Math.round((count * cohort.weight) / COHORT_WEIGHT / GROUPS));
    for (let group = 0; group < GROUPS; group++) {
      const h = hash(hash(key, index), group);
      const arrivedS = t - ((t + (h % cohort.staysS)) % cohort.staysS);
      set.fromS = Math.max(set.fromS, arrivedS);
      set.toS = Math.min(set.toS, arrivedS + cohort.staysS);
      const centre = fairPrice(pool.price, arrivedS);
      for (let i = 0; i < perGroup; i++) {
        const g = hash(hash(h, arrivedS), i);
        set.positions.push({
          lowUsd: centre * Math.exp(-cohort.width * (0.4 + 0.9 * unit(hash(g, 1)))),
          highUsd: centre * Math.exp(cohort.width * (0.4 + 0.9 * unit(hash(g, 2)))),
          usd: ((tvlUsd * cohort.share) / GROUPS / perGroup) * 0.7 * sizeDraw(g),
          key: g,
        });
      }
    }
  });
  return set;
}

/** Remembers a pool's last worked-out state for as long as none of its positions changes. */
export class HeldState<Pool extends object, State extends { fromS: number; toS: number }> {
  private readonly held = new WeakMap<Pool, State>();

  constructor(private readonly make: (pool: Pool, t: number) => State) {}

  at(pool: Pool, t: number): State {
    const last = this.held.get(pool);
    if (last !== undefined && t >= last.fromS && t < last.toS) return last;
    const made = this.make(pool, t);
    this.held.set(pool, made);
    return made;
  }
}
