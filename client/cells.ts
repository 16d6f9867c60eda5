/** Iterates over the snapshots and cells of pages. */
import type {
  ReplayGroup,
  ReplayMarket,
  ReplayPage,
  ReplaySnapshot,
  TypeFacet,
} from './generated/api.js';

/** How densely a snapshot's history is kept. */
export type Tier = ReplaySnapshot['tier'];
/** The unit over which a page sums cells. */
export type Group = ReplayPage['group'];
export type MarketType = TypeFacet['key'];

/** A snapshot in columns; cell i belongs to `slots[index[i]]`. */
export interface Snapshot {
  t: number;
  tier: Tier;
  priceUsd: number;
  /** The page's markets (group=market) or groups; empty with group=all. */
  slots: readonly (ReplayMarket | ReplayGroup)[];
  /** An index into `slots` per cell; empty with group=all. */
  index: readonly number[];
  bin: readonly number[];
  supportUsd: readonly number[];
  resistanceUsd: readonly number[];
}

export interface Cell {
  t: number;
  tier: Tier;
  /** The snapshot's price. */
  priceUsd: number;
  bin: number;
  /** The bin's price: `priceUsd * 1.01^bin`. */
  binPriceUsd: number;
  supportUsd: number;
  resistanceUsd: number;
  /** Its market (group=market) or group; null with group=all. */
  slot: ReplayMarket | ReplayGroup | null;
}

export async function* snapshotsOf(pages: AsyncIterable<ReplayPage>): AsyncGenerator<Snapshot> {
  for await (const page of pages) {
    const slots = page.group === 'market' ? page.markets : page.groups;
    for (const one of page.snapshots) {
      yield {
        t: one.t,
        tier: one.tier,
        priceUsd: one.price_usd,
        slots,
        index: one.market_idx ?? one.group_idx ?? [],
        bin: one.bin,
        supportUsd: one.support_usd,
        resistanceUsd: one.resistance_usd,
      };
    }
  }
}

export async function* cellsOf(snapshots: AsyncIterable<Snapshot>): AsyncGenerator<Cell> {
  for await (const { t, tier, priceUsd, slots, index, ...columns } of snapshots) {
    for (const [i, bin] of columns.bin.entries()) {
      yield {
        t,
        tier,
        priceUsd,
        bin,
        binPriceUsd: priceUsd * 1.01 ** bin,
        supportUsd: columns.supportUsd[i],
        resistanceUsd: columns.resistanceUsd[i],
        slot: slots[index[i]] ?? null,
      };
    }
  }
}
