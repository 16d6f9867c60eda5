import { type Market, type MarketType, venueKey } from '../../compute/market.js';

/** The types of a file's venues: each venue has one. */
export class VenueTypes {
  private readonly types = new Map<string, MarketType>();

  /** How a market's type contradicts an earlier row; null if it does not. */
  contradiction({ source, type }: Market): string | null {
    const venue = venueKey(source);
    const known = this.types.get(venue) ?? type;
    this.types.set(venue, known);
    if (known === type) return null;
    return `must be ${known}, as in an earlier row of venue ${venue}, not ${type}`;
  }
}
