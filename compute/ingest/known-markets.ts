import { marketKey, type Market } from '../market.js';
import type { RawMarket } from './market-fields.js';

/** Markets of one source and name that are remembered: they differ in nothing but the rest. */
const MAX_ALIKE = 4;

interface Known extends RawMarket {
  market: Market;
}

/** Markets by the raw fields that they were read from. */
export class KnownMarkets {
  private readonly bySource = new Map<unknown, Map<unknown, Known[]>>();
  private readonly keys = new Map<Market, string>();

  /** The market's key: what is remembered has its text made once. */
  keyOf(market: Market): string {
    return this.keys.get(market) ?? marketKey(market);
  }

  /** The market that fields gave before, null where they never did or that is forgotten. */
  find(raw: RawMarket): Market | null {
    const alike = this.bySource.get(raw.source)?.get(raw.address ?? raw.pair);
    if (alike === undefined) return null;
    for (const known of alike) {
      const isSame =
        known.pair === raw.pair &&
        known.address === raw.address &&
        known.exchangeType === raw.exchangeType &&
        known.type === raw.type;
      if (isSame) return known.market;
    }
    return null;
  }

  add(raw: RawMarket, market: Market): void {
    const name = raw.address ?? raw.pair;
    const byName = this.bySource.get(raw.source) ?? new Map<unknown, Known[]>();
    const alike = byName.get(name) ?? [];
    this.bySource.set(raw.source, byName);
    byName.set(name, alike);
    if (alike.length >= MAX_ALIKE) return;
    alike.push({ ...raw, market });
    this.keys.set(market, marketKey(market));
  }
}
