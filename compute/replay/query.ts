/**
 * A validated replay request (docs/definitions.md#replay), and what it means for a token's markets: which of
 * them count, how their cells are grouped, their facets.
 */
import type { BinRange } from '../ladder.js';
import {
  type Market,
  MARKET_TYPE_LABELS,
  MARKET_TYPES,
  type MarketType,
  venueKey,
} from '../market.js';

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
  return query.types !== null || query.excludeTypes !== null || namesVenues(query);
}

/** Whether the request names venues. */
export const namesVenues = ({ venues, excludeVenues }: ReplayFilter): boolean =>
  venues !== null || excludeVenues !== null;

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
  const { group } = query;
  const keepsType = (type: MarketType): boolean =>
    (query.types?.includes(type) ?? true) && !(query.excludeTypes?.includes(type) ?? false);
  const facts = needsVenues(query) ? factsOfMarkets(markets) : null;
  const keepsVenue = facts?.venues.map(venueFilter(query)) ?? [];
  const slot = new Int32Array(markets.length).fill(-1);
  const groups: PageGroup[] = [];
  /** By venue or by type. */
  const slotOf: (number | undefined)[] = [];
  let count = 0;
  markets.forEach(({ type }, m) => {
    const venue = facts?.venue[m] ?? 0;
    if (!keepsType(type) || keepsVenue[venue] === false) return;
    if (group === 'market') slot[m] = count++;
    else if (group === 'all') slot[m] = 0;
    else {
      const index = group === 'venue' ? venue : MARKET_TYPES.indexOf(type);
      const named = group === 'venue' ? facts?.venues[venue] : undefined;
      slot[m] = slotOf[index] ??= groups.push(groupOf(named, type)) - 1;
    }
  });
  if (group === 'all') count = 1;
  else if (group !== 'market') count = groups.length;
  return { slot, count, groups };
}

/** Whether the filter keeps a venue. */
function venueFilter({ venues, excludeVenues }: ReplayFilter): (venue: PageGroup) => boolean {
  // A request may name a hundred venues, and a token have tens of thousands of markets.
  const [kept, dropped] = [venues && new Set(venues), excludeVenues && new Set(excludeVenues)];
  return ({ key }) => (kept?.has(key) ?? true) && !(dropped?.has(key) ?? false);
}

/** Whether slots depend on the markets' venues. */
function needsVenues(query: ReplayFilter & Pick<ReplayQuery, 'group'>): boolean {
  return query.group === 'venue' || namesVenues(query);
}

/** @param venue undefined: the group is the type */
const groupOf = (venue: PageGroup | undefined, type: MarketType): PageGroup => ({
  key: venue?.key ?? type,
  label: venue?.label ?? MARKET_TYPE_LABELS[type],
  type,
});

/** What facets need of a token's markets, without their names. */
export interface MarketKinds {
  /** By market: index into MARKET_TYPES. */
  type: Uint8Array;
  /** By market: index of its venue, in order of first arrival. */
  venue: Uint16Array;
}

/** Bytes of a group's key and label. */
export const bytesOfGroup = ({ key, label }: PageGroup): number =>
  key.length + Buffer.byteLength(label);

const bytesOfMarket = ({ source, address, pair }: Market): number =>
  Buffer.byteLength(source) + Buffer.byteLength(address ?? '') + Buffer.byteLength(pair ?? '');

/** A token's markets by type and venue, and the bytes of their names as UTF-8. */
export class MarketFacts implements MarketKinds {
  readonly type: Uint8Array;
  readonly venue: Uint16Array;
  /** In order of first arrival. A venue's label and type are those of its first market. */
  readonly venues: PageGroup[] = [];
  readonly marketBytes: Uint16Array;
  readonly venueBytes: number[] = [];
  /** Of all markets. */
  bytes = 0;
  private readonly venueOfKey = new Map<string, number>();
  private known = 0;

  constructor(private readonly markets: readonly Market[]) {
    this.type = new Uint8Array(markets.length);
    this.venue = new Uint16Array(markets.length);
    this.marketBytes = new Uint16Array(markets.length);
  }

  /** Takes in the next markets, at most so many. @returns whether there are more */
  advance(most: number): boolean {
    const end = Math.min(this.markets.length, this.known + most);
    for (let m = this.known; m < end; m++) {
      const market = this.markets[m];
      this.type[m] = MARKET_TYPES.indexOf(market.type);
      this.venue[m] = this.venueOf(market);
      this.marketBytes[m] = bytesOfMarket(market);
      this.bytes += this.marketBytes[m];
    }
    this.known = end;
    if (end === this.markets.length) this.venueOfKey.clear();
    return end < this.markets.length;
  }

  private venueOf({ source, type }: Market): number {
    const key = venueKey(source);
    let index = this.venueOfKey.get(key);
    if (index === undefined) {
      const venue = { key, label: source, type };
      index = this.venues.push(venue) - 1;
      this.venueBytes.push(bytesOfGroup(venue));
      this.venueOfKey.set(key, index);
    }
    return index;
  }
}

/** Of lists of markets, which never change. */
const factsOfLists = new WeakMap<readonly Market[], MarketFacts>();

/** The facts of a list, which may lack the last markets: the caller can advance them in turns. */
export function growingFacts(markets: readonly Market[]): MarketFacts {
  const facts = factsOfLists.get(markets) ?? new MarketFacts(markets);
  factsOfLists.set(markets, facts);
  return facts;
}

export function factsOfMarkets(markets: readonly Market[]): Readonly<MarketFacts> {
  const facts = growingFacts(markets);
  facts.advance(markets.length);
  return facts;
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
 * @param venues by index; those with depth at least
 * @param marketCents by market: support + resistance within the band, exact up to 2^53
 * @param frames snapshots on the page
 */
export function facetsOfMarkets(
  { type, venue }: MarketKinds,
  venues: readonly PageGroup[],
  marketCents: Float64Array,
  frames: number,
): Facets {
  const typeCents = new Map<number, number>();
  for (let m = 0; m < type.length; m++) {
    typeCents.set(type[m], (typeCents.get(type[m]) ?? 0) + marketCents[m]);
  }
  // One division of whole cents gives the double nearest to the true mean.
  const mean = (cents: number) => cents / (100 * frames);
  const centsOfVenue = centsOfVenues(venue, marketCents);
  return {
    frames,
    types: [...typeCents]
      .filter(([, cents]) => cents > 0)
      .map(([index, cents]) => {
        const key = MARKET_TYPES[index];
        return { key, label: MARKET_TYPE_LABELS[key], usd: mean(cents) };
      }),
    venues: Array.from(withDepth(centsOfVenue), (index) => {
      const { key, label, type } = venues[index];
      return { key, label, type, usd: mean(centsOfVenue[index]) };
    }),
  };
}

function centsOfVenues(venue: Uint16Array, marketCents: Float64Array): Float64Array {
  let count = 0;
  for (const index of venue) count = Math.max(count, index + 1);
  const cents = new Float64Array(count);
  venue.forEach((index, m) => (cents[index] += marketCents[m]));
  return cents;
}

/** Indexes of the venues that facets list. */
export const venuesWithDepth = (venue: Uint16Array, marketCents: Float64Array): Uint16Array =>
  withDepth(centsOfVenues(venue, marketCents));

function withDepth(centsOfVenue: Float64Array): Uint16Array {
  const all = Uint16Array.from(centsOfVenue.keys());
  return all.filter((index) => centsOfVenue[index] > 0);
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
