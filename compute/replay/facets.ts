/** Mean depth of each type and venue on a page, before types and venues are filtered. */
import { MARKET_TYPE_LABELS, type Market, type MarketType } from '../market.js';
import { venueLabels } from './slots.js';

export interface TypeFacet {
  key: MarketType;
  label: string;
  /** Mean support + resistance per snapshot of the page, USD. */
  usd: number;
}

export interface VenueFacet {
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
 * Facets from each market's support + resistance over a page's snapshots, within the band. Types and
 * venues stand in order of first arrival, and only those with depth on the page, so that a page of
 * the past does not change when a market appears later. Sums are exact up to 2^53 cents.
 *
 * @param marketCents one entry a market of the token's list
 * @param frames snapshots on the page
 */
export function facetsOfMarkets(
  markets: readonly Market[],
  venueKeys: readonly string[],
  marketCents: Float64Array,
  frames: number,
): Facets {
  const typeCents = new Map<MarketType, number>();
  const venueCents = new Map<string, { type: MarketType; cents: number }>();
  markets.forEach((market, m) => {
    typeCents.set(market.type, (typeCents.get(market.type) ?? 0) + marketCents[m]);
    const venue = venueCents.get(venueKeys[m]);
    if (venue) venue.cents += marketCents[m];
    else venueCents.set(venueKeys[m], { type: market.type, cents: marketCents[m] });
  });
  // One division of whole cents, so that the mean is the nearest double to the true one.
  const mean = (cents: number) => cents / (100 * frames);
  const labels = venueLabels(markets, venueKeys);
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

/** The asked venue keys without depth on the page, each once, in the order asked. */
export function venuesWithoutDepth(asked: readonly string[], facets: Facets): string[] {
  const found = new Set(facets.venues.map((venue) => venue.key));
  return [...new Set(asked)].filter((key) => !found.has(key));
}
