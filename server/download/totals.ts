/**
 * Totals of the pages so far. They are plain JSON and, together with the part file, enough to resume
 * after any page.
 */
import { slotsOf, type RemoteGroup, type RemoteMarket, type RemotePage } from './page.js';
import { outdated, type ReplayError } from './request.js';

/** A facet's sum over snapshots; in whole cents, so that the means of pages add up exactly. */
export interface FacetSum {
  key: string;
  label: string;
  type?: string;
  cents: number;
}

interface FacetSums {
  frames: number;
  types: FacetSum[];
  venues: FacetSum[];
}

/** Fields of the reply that are the same for the whole window. */
type WindowHead = Pick<
  RemotePage,
  | 'token'
  | 'resolved_token'
  | 'chain'
  | 'group'
  | 'markets_mode'
  | 'min_pct'
  | 'max_pct'
  | 'bin_ratio'
> & {
  window: Pick<RemotePage['window'], 'from' | 'to' | 'clamped'>;
  filter: Omit<RemotePage['filter'], 'venues_not_found'>;
};

export interface Totals {
  head: WindowHead;
  pages: number;
  snapshots: number;
  cells: number;
  /** First and last `t`; null before the first snapshot. */
  servedFrom: number | null;
  servedTo: number | null;
  /**
   * The markets (or groups) that cells index: the longest list of any page. The lists of all pages
   * start alike, so an index means the same on every page.
   */
  slots: (RemoteMarket | RemoteGroup)[];
  /** Tiers in order of first appearance. */
  tiers: string[];
  /** null with group=all and no filter. */
  facets: FacetSums | null;
  /** Requested venues without depth on any page. */
  venuesNotFound: string[];
}

/**
 * The totals with one more page.
 * @param totals null before the first page
 * @throws ReplayError if the page does not continue the ones before
 */
export function addPage(totals: Totals | null, page: RemotePage): Totals {
  const before = totals ?? emptyTotals(page);
  checkContinues(before, page);
  const slots = slotsOf(page);
  const { snapshots } = page;
  const cells = snapshots.reduce((sum, { bin }) => sum + bin.length, 0);
  const missing = page.filter.venues_not_found;
  return {
    head: before.head,
    pages: before.pages + 1,
    snapshots: before.snapshots + snapshots.length,
    cells: before.cells + cells,
    servedFrom: before.servedFrom ?? snapshots.at(0)?.t ?? null,
    servedTo: snapshots.at(-1)?.t ?? before.servedTo,
    slots: slots.length > before.slots.length ? [...slots] : before.slots,
    tiers: [...new Set([...before.tiers, ...snapshots.map(({ tier }) => tier)])],
    facets: addFacets(before.facets, page),
    venuesNotFound: before.venuesNotFound.filter((venue) => missing.includes(venue)),
  };
}

function emptyTotals(page: RemotePage): Totals {
  const { venues_not_found: venuesNotFound, ...filter } = page.filter;
  const { from, to, clamped } = page.window;
  return {
    head: {
      token: page.token,
      ...(page.resolved_token === undefined ? {} : { resolved_token: page.resolved_token }),
      chain: page.chain,
      window: { from, to, clamped },
      group: page.group,
      filter,
      markets_mode: page.markets_mode,
      min_pct: page.min_pct,
      max_pct: page.max_pct,
      bin_ratio: page.bin_ratio,
    },
    pages: 0,
    snapshots: 0,
    cells: 0,
    servedFrom: null,
    servedTo: null,
    slots: [],
    tiers: [],
    facets: page.facets === undefined ? null : { frames: 0, types: [], venues: [] },
    venuesNotFound,
  };
}

/** Detects that the server's data were replaced between two pages. */
function checkContinues(before: Totals, page: RemotePage): void {
  const { head, servedTo } = before;
  const same =
    page.token === head.token &&
    page.resolved_token === head.resolved_token &&
    page.chain === head.chain &&
    page.group === head.group;
  if (!same) throw changed(`it now returns ${page.chain} ${page.token}, group=${page.group}`);
  const slots = slotsOf(page);
  const shared = Math.min(slots.length, before.slots.length);
  for (let i = 0; i < shared; i++) {
    if (JSON.stringify(slots[i]) !== JSON.stringify(before.slots[i])) {
      throw changed('its list of markets differs from that of the first pages');
    }
  }
  let last = servedTo ?? -Infinity;
  for (const { t } of page.snapshots) {
    if (t <= last) throw changed(`the snapshot at ${t} comes after the one at ${last}`);
    last = t;
  }
}

function changed(what: string): ReplayError {
  return outdated(`the server's data changed between two pages: ${what}`);
}

function addFacets(sums: FacetSums | null, { facets }: RemotePage): FacetSums | null {
  if (sums === null || facets === undefined) return sums;
  return {
    frames: sums.frames + facets.frames,
    types: addSums(sums.types, facets.types, facets.frames),
    venues: addSums(sums.venues, facets.venues, facets.frames),
  };
}

/** A mean times its frames is a whole number of cents, except for rounding. */
function addSums(
  sums: FacetSum[],
  means: readonly (Omit<FacetSum, 'cents'> & { usd: number })[],
  frames: number,
): FacetSum[] {
  const added = sums.map((sum) => ({ ...sum }));
  for (const { usd, ...facet } of means) {
    const cents = Math.round(usd * 100 * frames);
    const sum = added.find(({ key }) => key === facet.key);
    if (sum === undefined) added.push({ ...facet, cents });
    else sum.cents += cents;
  }
  return added;
}
