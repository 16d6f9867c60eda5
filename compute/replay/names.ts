/**
 * What a page needs of a token's markets: which cells count and how they are summed, and the names that it lists. A
 * token may have 65,535 markets with 100 MB of names, so names that are long go to a thread only once it is known which
 * ones the page lists.
 */
import { MAX_MARKET_NAME_CHARS, MAX_SOURCE_CHARS } from '../ingest/fields.js';
import type { Market } from '../market.js';
import {
  hasFilter,
  factsOfMarkets,
  type MarketKinds,
  type MarketSlots,
  type PageGroup,
  type ReplayQuery,
  slotsOfMarkets,
} from './query.js';

/** Markets with names up to this size are sent to a thread with every page. */
const MAX_SHORT_NAMES_BYTES = 1024 * 1024;

/** The most that a market's source, address and pair take as UTF-8. */
const MAX_MARKET_BYTES = 3 * (MAX_SOURCE_CHARS + 2 * MAX_MARKET_NAME_CHARS);

/** The slots of markets as the cells need them. */
export type CellSlots = Pick<MarketSlots, 'slot' | 'count'>;

/** Plain data that can cross threads. The kinds are empty if the page lists no names. */
export interface PageMarkets extends MarketKinds {
  slots: CellSlots;
  /** null: they are long, and the page must first say which ones it lists. */
  names: PageNames | null;
}

/** Names in full where the page lists them. */
export interface PageNames {
  /** The first of those that the filter keeps; none with group=all. */
  markets: readonly Market[];
  /** With group=venue and type, by slot. */
  groups: readonly PageGroup[];
  /** By index. */
  venues: readonly PageGroup[];
}

/** Which names a page lists. */
export interface ListedNames {
  /** The first markets that the filter keeps, and the first slots. */
  markets: number;
  slots: number;
  /** Indexes of the venues that its facets list. */
  venues: Uint16Array;
}

type MarketQuery = Pick<ReplayQuery, 'group' | keyof Parameters<typeof hasFilter>[0]>;

/** Whether pages list any market, group or facet. */
export const listsNames = (query: MarketQuery): boolean =>
  query.group !== 'all' || hasFilter(query);

const NO_KINDS: MarketKinds = { type: new Uint8Array(0), venue: new Uint16Array(0) };
const NO_NAMES: PageNames = { markets: [], groups: [], venues: [] };

/** What counting a page needs of a token's markets. */
export function countedMarkets(markets: readonly Market[], query: MarketQuery): PageMarkets {
  const { slot, count } = slotsOfMarkets(markets, query);
  return { slots: { slot, count }, ...NO_KINDS, names: NO_NAMES };
}

/** What a page needs of a token's markets, which are in order of first arrival. */
export function marketsOfPage(markets: readonly Market[], query: MarketQuery): PageMarkets {
  if (!listsNames(query)) return countedMarkets(markets, query);
  const { slot, count, groups } = slotsOfMarkets(markets, query);
  const { type, venue, venues } = factsOfMarkets(markets);
  const names = hasLongNames(markets)
    ? null
    : { markets: firstKept(markets, query, slot, markets.length), groups, venues };
  return { slots: { slot, count }, type, venue, names };
}

/** The names that a page lists, and their least bytes: a group's name is not counted again beside its facet's. */
export function namesOfPage(
  markets: readonly Market[],
  query: MarketQuery,
  listed: ListedNames,
): { names: PageNames; bytes: number } {
  const { slot, groups } = slotsOfMarkets(markets, query);
  const facts = factsOfMarkets(markets);
  const kept = firstKept(markets, query, slot, listed.markets);
  const venues = new Array<PageGroup>(facts.venues.length).fill(UNLISTED);
  let bytes = 0;
  for (const index of listed.venues) {
    venues[index] = facts.venues[index];
    bytes += facts.venueBytes[index];
  }
  for (let m = 0, left = kept.length; left > 0; m++) {
    if (slot[m] < 0) continue;
    bytes += facts.marketBytes[m];
    left--;
  }
  return { names: { markets: kept, groups: groups.slice(0, listed.slots), venues }, bytes };
}

const UNLISTED: PageGroup = { key: '', label: '', type: 'onchain_pool' };

/** Groups with names only where a reply lists them. @param isListed by index */
export const onlyListed = (
  groups: readonly PageGroup[],
  isListed: (index: number) => boolean,
): PageGroup[] => groups.map((group, index) => (isListed(index) ? group : UNLISTED));

/** The first markets that the filter keeps. */
function firstKept(
  markets: readonly Market[],
  query: MarketQuery,
  slot: Int32Array,
  most: number,
): readonly Market[] {
  if (query.group === 'all') return [];
  if (most === markets.length && !hasFilter(query)) return markets;
  const kept: Market[] = [];
  for (let m = 0; m < markets.length && kept.length < most; m++) {
    if (slot[m] >= 0) kept.push(markets[m]);
  }
  return kept;
}

/** Whether there are enough markets for long names; if not, nothing needs to be known of them. */
export const mayHaveLongNames = (markets: readonly Market[]): boolean =>
  markets.length * MAX_MARKET_BYTES > MAX_SHORT_NAMES_BYTES;

/** Whether the names are too long to be copied or encoded for every reply. */
export const hasLongNames = (markets: readonly Market[]): boolean =>
  mayHaveLongNames(markets) && factsOfMarkets(markets).bytes > MAX_SHORT_NAMES_BYTES;
