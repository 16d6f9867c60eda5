/** Everything of a replay reply but its snapshots. */
import { BIN_RATIO } from '../ladder.js';
import type { Chain } from '../market.js';
import type { Page } from './page.js';

/** What a reply says of its request, beside the page itself. */
export interface ReplayEnvelope {
  /** The address as asked. */
  token: string;
  /** The mint that a `0x` leg was answered from; null where the address speaks for itself. */
  resolvedToken: string | null;
  chain: Chain;
  /** Epoch seconds after clamping. */
  window: { from: number; to: number; clamped: boolean };
}

/** What the reply says of the page beside its snapshots' cells. */
export type PageSummary = Pick<
  Page,
  | 'query'
  | 'snapshotCount'
  | 'rowCount'
  | 'nextFrom'
  | 'markets'
  | 'groups'
  | 'facets'
  | 'venuesNotFound'
> & { t: ArrayLike<number> };

/** Key of a snapshot's array of market or group indexes; null with group=all. */
export function indexKey(
  page: Pick<Page, 'index'> & { query: Pick<Page['query'], 'group'> },
): 'market_idx' | 'group_idx' | null {
  if (page.index === null) return null;
  return page.query.group === 'market' ? 'market_idx' : 'group_idx';
}

/** The reply's fields up to `snapshots`, plain data in the order in which they are written. */
export function pageHead(page: PageSummary, envelope: ReplayEnvelope) {
  const { query, snapshotCount } = page;
  return {
    token: envelope.token,
    ...(envelope.resolvedToken === null ? {} : { resolved_token: envelope.resolvedToken }),
    chain: envelope.chain,
    window: {
      from: envelope.window.from,
      to: envelope.window.to,
      clamped: envelope.window.clamped,
      served_from: snapshotCount === 0 ? null : page.t[0],
      served_to: snapshotCount === 0 ? null : page.t[snapshotCount - 1],
    },
    next_from: page.nextFrom,
    group: query.group,
    filter: {
      types: query.types,
      venues: query.venues,
      exclude_types: query.excludeTypes,
      exclude_venues: query.excludeVenues,
      venues_not_found: page.venuesNotFound,
    },
    markets_mode: query.group === 'market' ? 'split' : 'aggregate',
    min_pct: query.minPct,
    max_pct: query.maxPct,
    bin_ratio: BIN_RATIO,
    snapshot_count: snapshotCount,
    row_count: page.rowCount,
    markets: page.markets.map(({ source, exchangeType, address, pair }) => ({
      source,
      exchange_type: exchangeType,
      address,
      pair,
    })),
    groups: page.groups,
    ...(page.facets === null ? {} : { facets: page.facets }),
  };
}
