/**
 * A validated replay request (docs/definitions.md#replay), and what it means for a token's markets: which of
 * them count, how their cells are grouped, their facets.
 */
import type { BinRange } from '../ladder.js';
import { type Market, MARKET_TYPE_LABELS, type MarketType, venueKey } from '../market.js';

export const REPLAY_GROUPS = ['market', 'venue', 'type', 'all'] as const;
export type ReplayGroup = (typeof REPLAY_GROUPS)[number];

/** Which markets count, by type and by venue key; null if the request does not restrict them. */
export interface ReplayFilter {
  types: readonly MarketType[] | null;
  excludeTypes: readonly MarketType[] | null;
  venues: readonly string[] | null;
  excludeVenues: readonly string[] | null;
}

export interface ReplayQuery extends ReplayFilter {
  group: ReplayGroup;
  /** The bins from `minPct` to `maxPct` (binsOfBand). */
  band: BinRange;
  /** Percent from each snapshot's price. */
  minPct: number;
  maxPct: number;
}

/** Whether the request names types or venues; a band is not a filter. */
export function hasFilter(query: ReplayFilter): boolean {
  return (
    query.types !== null ||
    query.excludeTypes !== null ||
    query.venues !== null ||
    query.excludeVenues !== null
  );
}

/** Whether the filter keeps a market with a type and a venue key. */
function marketFilter(filter: ReplayFilter): (type: MarketType, venue: string) => boolean {
  // A request may name a hundred venues, and a token have tens of thousands of markets.
  const venues = filter.venues && new Set(filter.venues);
  const excludeVenues = filter.excludeVenues && new Set(filter.excludeVenues);
  return (type, venue) =>
    (filter.types?.includes(type) ?? true) &&
    !(filter.excludeTypes?.includes(type) ?? false) &&
    (venues?.has(venue) ?? true) &&
    !(excludeVenues?.has(venue) ?? false);
}

/** One group of a page with group=venue or type. */
export interface PageGroup {
  key: string;
  label: string;
  type: MarketType;
}

/** The index of each of a token's markets on a page. */
export interface MarketSlots {
  /**
   * By market: its index in the page's list of markets (group=market), the index of its group (venue, type),
   * or 0 (all); -1 if the filter drops it.
   */
  slot: Int32Array;
  /** Number of slots in use. */
  count: number;
  /** The groups in order of first arrival among the kept markets. */
  groups: PageGroup[];
}

/** The slots of a token's markets, which must be in order of first arrival. */
export function slotsOfMarkets(
  markets: readonly Market[],
  query: ReplayFilter & Pick<ReplayQuery, 'group'>,
): MarketSlots {
  const keeps = marketFilter(query);
  const venues = needsVenues(query) ? venuesOf(markets) : null;
  const slot = new Int32Array(markets.length).fill(-1);
  const groups: PageGroup[] = [];
  const groupOfKey = new Map<string, number>();
  let count = 0;
  markets.forEach((market, m) => {
    const venue = venues?.keys[m] ?? '';
    if (!keeps(market.type, venue)) return;
    if (query.group === 'market') slot[m] = count++;
    else if (query.group === 'all') slot[m] = 0;
    else {
      const key = query.group === 'venue' ? venue : market.type;
      let group = groupOfKey.get(key);
      if (group === undefined) {
        group = groups.length;
        groupOfKey.set(key, group);
        const label =
          query.group === 'venue'
            ? (venues?.labels.get(key) as string)
            : MARKET_TYPE_LABELS[market.type];
        groups.push({ key, label, type: market.type });
      }
      slot[m] = group;
    }
  });
  if (query.group === 'all') count = 1;
  else if (query.group !== 'market') count = groups.length;
  return { slot, count, groups };
}

/** Whether slots depend on the markets' venues. */
export function needsVenues(query: ReplayFilter & Pick<ReplayQuery, 'group'>): boolean {
  return query.group === 'venue' || query.venues !== null || query.excludeVenues !== null;
}

interface Venues {
  /** By market. */
  keys: readonly string[];
  /** By venue key: the source of the venue's first market. */
  labels: ReadonlyMap<string, string>;
}

/** Of lists of markets, which never change. */
const venuesOfLists = new WeakMap<readonly Market[], Venues>();

function venuesOf(markets: readonly Market[]): Venues {
  let venues = venuesOfLists.get(markets);
  if (venues === undefined) {
    const keys = markets.map((market) => venueKey(market.source));
    const labels = new Map<string, string>();
    markets.forEach((market, m) => {
      if (!labels.has(keys[m])) labels.set(keys[m], market.source);
    });
    venues = { keys, labels };
    venuesOfLists.set(markets, venues);
  }
  return venues;
}

interface TypeFacet {
  key: MarketType;
  label: string;
  /** Mean support + resistance per snapshot of the page, USD. */
  usd: number;
}

interface VenueFacet {
  key: string;
  label: string;
  type: MarketType;
  usd: number;
}

export interface Facets {
  /** Snapshots on the page. */
  frames: number;
  types: TypeFacet[];
  venues: VenueFacet[];
}

/**
 * Mean depth of each type and venue on a page, before filtering by type and venue
 * (docs/definitions.md#replay-facets). Types and venues are in order of first arrival. Only those with depth on
 * the page are listed: a page of the past must not change when a market appears later.
 *
 * @param marketCents by market: support + resistance within the band, exact up to 2^53
 * @param frames snapshots on the page
 */
export function facetsOfMarkets(
  markets: readonly Market[],
  marketCents: Float64Array,
  frames: number,
): Facets {
  const { keys, labels } = venuesOf(markets);
  const typeCents = new Map<MarketType, number>();
  const venueCents = new Map<string, { type: MarketType; cents: number }>();
  markets.forEach((market, m) => {
    typeCents.set(market.type, (typeCents.get(market.type) ?? 0) + marketCents[m]);
    const venue = venueCents.get(keys[m]);
    if (venue) venue.cents += marketCents[m];
    else venueCents.set(keys[m], { type: market.type, cents: marketCents[m] });
  });
  // One division of whole cents gives the double nearest to the true mean.
  const mean = (cents: number) => cents / (100 * frames);
  return {
    frames,
    types: [...typeCents]
      .filter(([, cents]) => cents > 0)
      .map(([key, cents]) => ({ key, label: MARKET_TYPE_LABELS[key], usd: mean(cents) })),
    venues: [...venueCents]
      .filter(([, { cents }]) => cents > 0)
      .map(([key, { type, cents }]) => ({
        key,
        label: labels.get(key) as string,
        type,
        usd: mean(cents),
      })),
  };
}

/**
 * The filter's venue keys that no item has, without duplicates, in the order of the request.
 * @param keyOf called only if the filter names venues
 */
export function venuesNotFound<T>(
  { venues, excludeVenues }: ReplayFilter,
  items: readonly T[],
  keyOf: (item: T) => string,
): string[] {
  const missing = new Set([...(venues ?? []), ...(excludeVenues ?? [])]);
  if (missing.size > 0) for (const item of items) missing.delete(keyOf(item));
  return [...missing];
}
