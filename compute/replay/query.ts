/** What a replay page is asked for (docs/definitions.md#replay), after the server has checked it. */
import type { BinRange } from '../ladder.js';
import type { MarketType } from '../market.js';

export const REPLAY_GROUPS = ['market', 'venue', 'type', 'all'] as const;
export type ReplayGroup = (typeof REPLAY_GROUPS)[number];

/** Which markets count, by type and by venue key; null where the request did not say. */
export interface ReplayFilter {
  types: readonly MarketType[] | null;
  excludeTypes: readonly MarketType[] | null;
  venues: readonly string[] | null;
  excludeVenues: readonly string[] | null;
}

export interface ReplayQuery extends ReplayFilter {
  group: ReplayGroup;
  /** The bins that `minPct` and `maxPct` keep (binsOfBand). */
  band: BinRange;
  /** Percent from each snapshot's price, as the reply states them. */
  minPct: number;
  maxPct: number;
}

/** Whether the request names types or venues. A band is not a filter. */
export function hasFilter(query: ReplayFilter): boolean {
  return (
    query.types !== null ||
    query.excludeTypes !== null ||
    query.venues !== null ||
    query.excludeVenues !== null
  );
}

/** Whether the filter keeps a market of this type and venue key. */
export function keepsMarket(filter: ReplayFilter, type: MarketType, venue: string): boolean {
  return (
    (filter.types?.includes(type) ?? true) &&
    !(filter.excludeTypes?.includes(type) ?? false) &&
    (filter.venues?.includes(venue) ?? true) &&
    !(filter.excludeVenues?.includes(venue) ?? false)
  );
}
