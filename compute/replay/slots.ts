/** Where each of a token's markets goes on a page: the positions that cells of a page index. */
import { MARKET_TYPE_LABELS, venueKey, type Market, type MarketType } from '../market.js';
import { keepsMarket, type ReplayQuery } from './query.js';

/** One ladder of a page with group=venue or type. */
export interface PageGroup {
  key: string;
  label: string;
  type: MarketType;
}

export interface MarketSlots {
  /** Venue key of each of the token's markets. */
  venueKeys: string[];
  /**
   * By market: its index in the page's list of markets (group=market), the index of its group
   * (venue, type), 0 (all); -1 where the filter drops it.
   */
  slot: Int32Array;
  /** Number of slots in use. */
  count: number;
  /** The groups in order of first arrival among the markets that the filter keeps. */
  groups: PageGroup[];
}

/** Gives each of a token's markets (in order of first arrival) its slot under a query. */
export function slotsOfMarkets(markets: readonly Market[], query: ReplayQuery): MarketSlots {
  const venueKeys = markets.map((market) => venueKey(market.source));
  const labels = venueLabels(markets, venueKeys);
  const slot = new Int32Array(markets.length).fill(-1);
  const groups: PageGroup[] = [];
  const groupOfKey = new Map<string, number>();
  let count = 0;
  markets.forEach((market, m) => {
    const venue = venueKeys[m];
    if (!keepsMarket(query, market.type, venue)) return;
    if (query.group === 'market') slot[m] = count++;
    else if (query.group === 'all') slot[m] = 0;
    else {
      const key = query.group === 'venue' ? venue : market.type;
      let group = groupOfKey.get(key);
      if (group === undefined) {
        group = groups.length;
        groupOfKey.set(key, group);
        const label =
          query.group === 'venue' ? (labels.get(venue) as string) : MARKET_TYPE_LABELS[market.type];
        groups.push({ key, label, type: market.type });
      }
      slot[m] = group;
    }
  });
  if (query.group === 'all') count = 1;
  else if (query.group !== 'market') count = groups.length;
  return { venueKeys, slot, count, groups };
}

/** A venue's label: the source as the first market of that venue gave it. */
export function venueLabels(
  markets: readonly Market[],
  venueKeys: readonly string[],
): Map<string, string> {
  const labels = new Map<string, string>();
  markets.forEach((market, m) => {
    if (!labels.has(venueKeys[m])) labels.set(venueKeys[m], market.source);
  });
  return labels;
}
