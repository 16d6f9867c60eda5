import type { Fault } from '../../compute/ingest/faults.js';
import type { RunPart } from '../../compute/ingest/run-builder.js';
import { marketKey, venueKey, type Market, type MarketType } from '../../compute/market.js';

/** Finds markets of a file that contradict its earlier ones: one venue has one type. */
export class SeenVenues {
  private readonly types = new Map<string, MarketType>();
  /** Exchange types by token and market: a market of both, known once, would keep its first. */
  private readonly exchanges = new Map<string, Market['exchangeType']>();

  /** Takes a batch's markets of one token; a fault for each contradiction. */
  add({ run, markets, marketPlaces }: RunPart): Fault[] {
    const faults: Fault[] = [];
    markets.forEach((market, i) => {
      const { line, prefix } = marketPlaces[i];
      const venue = venueKey(market.source);
      const type = this.types.get(venue) ?? market.type;
      this.types.set(venue, type);
      if (type !== market.type) {
        const message = `must be ${type}, as in an earlier row of venue ${venue}, not ${market.type}`;
        faults.push({ line, field: `${prefix}type`, message });
      }
      const key = `${run.chain}:${run.address}:${marketKey(market)}`;
      const exchange = this.exchanges.get(key) ?? market.exchangeType;
      this.exchanges.set(key, exchange);
      if (exchange !== market.exchangeType) {
        const message = `must be ${exchange}, as in an earlier row`;
        faults.push({ line, field: `${prefix}exchange_type`, message });
      }
    });
    return faults;
  }
}
