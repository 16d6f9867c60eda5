/** JSON: one document, what one reply without the limits of a page would be. */
import type { FacetSum, Totals } from './totals.js';
import { isFirst, type Chunk, type PageWriter } from './writer.js';

export const jsonWriter: PageWriter = {
  *page(page, totals) {
    if (isFirst(totals)) yield `${JSON.stringify(firstFields(totals)).slice(0, -1)},"snapshots":[`;
    let first = totals.snapshots === page.snapshots.length;
    for (const snapshot of page.snapshots) {
      yield `${first ? '' : ','}\n${JSON.stringify(snapshot)}`;
      first = false;
    }
  },
  *end(totals): Iterable<Chunk> {
    yield `\n],${JSON.stringify(lastFields(totals)).slice(1)}\n`;
  },
};

/** What holds for the window from its first page on; the rest comes after the snapshots. */
function firstFields({ head }: Totals): object {
  return {
    token: head.token,
    ...(head.resolved_token === undefined ? {} : { resolved_token: head.resolved_token }),
    chain: head.chain,
    group: head.group,
    markets_mode: head.markets_mode,
    min_pct: head.min_pct,
    max_pct: head.max_pct,
    bin_ratio: head.bin_ratio,
  };
}

function lastFields(totals: Totals): object {
  const { head, slots, facets } = totals;
  return {
    window: { ...head.window, served_from: totals.servedFrom, served_to: totals.servedTo },
    next_from: null,
    filter: { ...head.filter, venues_not_found: totals.venuesNotFound },
    snapshot_count: totals.snapshots,
    row_count: totals.cells,
    markets: head.group === 'market' ? slots : [],
    groups: head.group === 'market' ? [] : slots,
    ...(facets === null
      ? {}
      : {
          facets: {
            frames: facets.frames,
            types: facets.types.map((sum) => mean(sum, facets.frames)),
            venues: facets.venues.map((sum) => mean(sum, facets.frames)),
          },
        }),
  };
}

function mean({ cents, ...facet }: FacetSum, frames: number): object {
  return { ...facet, usd: cents / (100 * frames) };
}
