/** A replay page: its snapshots, their cells as served, and the head of the reply. */
import { BIN_RATIO, MAX_CELLS_PER_SNAPSHOT } from '../ladder.js';
import { type Chain, type Market, TIERS } from '../market.js';
import type { RunColumns } from '../segment/run.js';
import {
  cellAppender,
  emptyCells,
  emptyRanges,
  findRanges,
  type MarketRanges,
  type ServedCells,
} from './cells.js';
import {
  type CellSlots,
  type ListedNames,
  listsNames,
  type PageMarkets,
  type PageNames,
} from './names.js';
import {
  type Facets,
  facetsOfMarkets,
  type PageGroup,
  type ReplayQuery,
  venuesNotFound,
  venuesWithDepth,
} from './query.js';

/** How many cells (as served) and snapshots a page holds at most. */
export interface PageLimits {
  maxCells: number;
  maxSnapshots: number;
}

export const PAGE_LIMITS: Readonly<PageLimits> = {
  maxCells: MAX_CELLS_PER_SNAPSHOT,
  maxSnapshots: 288,
};

/** Snapshots in serving order, `t` strictly ascending: snapshot `row[i]` of run `run[i]`. */
export interface Selection {
  run: ArrayLike<number>;
  row: ArrayLike<number>;
}

/** The cells that a page or a message takes from runs. */
export interface CellInput {
  runs: readonly RunColumns[];
  selection: Selection;
  query: Pick<ReplayQuery, 'group' | 'band'>;
}

export interface PageInput extends CellInput {
  /** The token's markets; the runs' `market` columns index them. */
  markets: PageMarkets;
  query: ReplayQuery;
  /** Whether the window has visible snapshots after the selection. */
  windowContinues: boolean;
  /** `t` of the first of these, if known. */
  nextT?: number | null;
}

/**
 * Why a page ended: `cells`, the next snapshot's cells do not fit; `snapshots`, it holds as many as it may;
 * `window`, the window ends with it; `more`, the selection ended first: the caller must select more.
 */
export type PageEnd = 'cells' | 'snapshots' | 'window' | 'more';

/** Snapshots in columns. Cell `i` of snapshot `s` is `cellOffsets[s] <= i < cellOffsets[s + 1]`. */
export interface PageSnapshots {
  query: Pick<ReplayQuery, 'group'>;
  /** Epoch seconds, one per snapshot. */
  t: Uint32Array;
  /** Index into TIERS, one per snapshot. */
  tier: Uint8Array;
  priceUsd: Float64Array;
  cellOffsets: Int32Array;
  /** Index into `markets` or `groups`; null with group=all. */
  index: Uint16Array | null;
  bin: Int16Array;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
  snapshotCount: number;
}

/** A page whose names are not known yet. */
export interface UnnamedPage extends PageSnapshots {
  query: ReplayQuery;
  /** By slot: how many cells it has. */
  slotCells: Uint32Array;
  /** How many of the kept markets, and of the slots, the page lists: up to the last one with a cell. */
  listedMarkets: number;
  listedSlots: number;
  /** By market: support + resistance within the band on the page, before the filter. */
  marketCents: Float64Array;
  rowCount: number;
  end: PageEnd;
  /** `t` of the first snapshot not served; null if `end` is window or more. */
  nextFrom: number | null;
}

export interface Page extends UnnamedPage {
  markets: readonly Market[];
  groups: readonly PageGroup[];
  /** null with group=all and no filter. */
  facets: Facets | null;
  venuesNotFound: string[];
}

/** Thrown if the client disconnects while its page is built. */
export class ReplayCancelled extends Error {
  override readonly name = 'ReplayCancelled';
}

/** A page under construction. */
export interface Draft {
  cells: ServedCells;
  t: Uint32Array;
  tier: Uint8Array;
  priceUsd: Float64Array;
  cellOffsets: Int32Array;
  snapshotCount: number;
  /** Whether the next snapshot's cells do not fit. */
  isFull: boolean;
  /** By market: support + resistance within the band on the page, before the filter. */
  marketCents: Float64Array;
  /** By slot: cells on the page, before they are summed. */
  slotCells: Uint32Array;
  /** Highest market and slot with a cell on the page, -1 if none. */
  lastMarket: number;
  lastSlot: number;
}

/**
 * Draws the largest page that the selection and the limits allow: filters, then groups, then counts.
 *
 * @param onSnapshot called before each snapshot; may throw to stop
 * @param newCells allocates the cells; the page's columns are views of them
 * @throws RangeError if a run names a market outside the list, or a single snapshot exceeds `maxCells` (with
 *   PAGE_LIMITS no stored snapshot does)
 */
export function drawPage(
  input: PageInput,
  limits: PageLimits = PAGE_LIMITS,
  onSnapshot: () => void = () => undefined,
  newCells: typeof emptyCells = emptyCells,
): UnnamedPage {
  const { query, markets } = input;
  const draft = draw(input, markets.slots, limits, onSnapshot, newCells);
  const next = nextT(input, draft.snapshotCount);
  const end = draft.isFull ? 'cells' : endOfSelection(input, draft.snapshotCount, limits, next);
  return {
    ...columnsOf(draft, query),
    query,
    slotCells: draft.slotCells,
    listedMarkets: keptUpTo(markets.slots, draft.lastMarket),
    listedSlots: draft.lastSlot + 1,
    marketCents: draft.marketCents,
    rowCount: draft.cells.length,
    end,
    nextFrom: end === 'window' || end === 'more' ? null : next,
  };
}

/** How many markets up to this one count. */
function keptUpTo({ slot }: CellSlots, last: number): number {
  let kept = 0;
  for (let m = 0; m <= last; m++) if (slot[m] >= 0) kept++;
  return kept;
}

/** The names that a page lists. */
export function namesListed(
  { listedMarkets, listedSlots, marketCents }: UnnamedPage,
  { venue }: PageMarkets,
): ListedNames {
  const venues = venuesWithDepth(venue, marketCents);
  return { markets: listedMarkets, slots: listedSlots, venues };
}

/** Adds the names that a page lists. */
export function namePage(page: UnnamedPage, kinds: PageMarkets, names: PageNames): Page {
  const { query, listedMarkets, listedSlots, marketCents, snapshotCount } = page;
  const facets = listsNames(query)
    ? facetsOfMarkets(kinds, names.venues, marketCents, snapshotCount)
    : null;
  return {
    ...page,
    markets: query.group === 'all' ? [] : names.markets.slice(0, listedMarkets),
    groups: names.groups.slice(0, listedSlots),
    facets,
    venuesNotFound: venuesNotFound(query, facets?.venues ?? [], ({ key }) => key),
  };
}

/** Takes snapshots of the selection while they fit. @throws RangeError as drawPage() */
export function draw(
  input: CellInput,
  slots: CellSlots,
  limits: PageLimits,
  onSnapshot: () => void,
  newCells: typeof emptyCells,
): Draft {
  const { runs, selection, query } = input;
  const ranges = emptyRanges(slots.slot.length);
  const append = cellAppender(query.group, slots.slot, slots.count);
  const rows = Math.min(selection.run.length, limits.maxSnapshots);
  const draft = emptyDraft(input, slots, rows, limits, newCells);
  while (draft.snapshotCount < rows) {
    onSnapshot();
    const s = draft.snapshotCount;
    const run = runs[selection.run[s]];
    const row = selection.row[s];
    findRanges(run, row, query.band, ranges);
    append(draft.cells, run, ranges);
    if (draft.cells.length > limits.maxCells) {
      draft.cells.length = draft.cellOffsets[s];
      if (s === 0) throw new RangeError(`snapshot ${run.t[row]} alone exceeds a page's cells`);
      draft.isFull = true;
      break;
    }
    accept(draft, run, row, ranges, slots);
  }
  return draft;
}

/** Columns for a full page plus the one snapshot that turns out not to fit. */
function emptyDraft(
  input: CellInput,
  slots: CellSlots,
  rows: number,
  limits: PageLimits,
  newCells: typeof emptyCells,
): Draft {
  let stored = 0;
  let widest = 0;
  for (let s = 0; s < rows; s++) {
    const { cellOffsets } = input.runs[input.selection.run[s]];
    const row = input.selection.row[s];
    const cells = cellOffsets[row + 1] - cellOffsets[row];
    stored += cells;
    widest = Math.max(widest, cells);
  }
  return {
    cells: newCells(Math.min(stored, limits.maxCells + widest)),
    t: new Uint32Array(rows),
    tier: new Uint8Array(rows),
    priceUsd: new Float64Array(rows),
    cellOffsets: new Int32Array(rows + 1),
    snapshotCount: 0,
    isFull: false,
    marketCents: new Float64Array(slots.slot.length),
    slotCells: new Uint32Array(slots.count),
    lastMarket: -1,
    lastSlot: -1,
  };
}

/** Accepts the snapshot whose cells were just appended. */
function accept(
  draft: Draft,
  run: RunColumns,
  row: number,
  ranges: MarketRanges,
  slots: CellSlots,
): void {
  const s = draft.snapshotCount++;
  draft.t[s] = run.t[row];
  draft.tier[s] = TIERS.indexOf(run.tier);
  draft.priceUsd[s] = run.priceUsd[row];
  draft.cellOffsets[s + 1] = draft.cells.length;
  for (let r = 0; r < ranges.count; r++) {
    const market = ranges.market[r];
    draft.marketCents[market] += ranges.cents[r];
    const slot = slots.slot[market];
    if (slot < 0) continue;
    draft.slotCells[slot] += ranges.end[r] - ranges.start[r];
    draft.lastMarket = Math.max(draft.lastMarket, market);
    draft.lastSlot = Math.max(draft.lastSlot, slot);
  }
}

/** `t` of the snapshot after the first `served` ones; null if there is none or it is unknown. */
function nextT({ runs, selection, nextT }: PageInput, served: number): number | null {
  if (served === selection.run.length) return nextT ?? null;
  return runs[selection.run[served]].t[selection.row[served]];
}

function endOfSelection(
  input: PageInput,
  served: number,
  limits: PageLimits,
  next: number | null,
): PageEnd {
  if (served === input.selection.run.length && !input.windowContinues) return 'window';
  // A page full of cells may still take a snapshot whose cells are all filtered out. A page full of
  // snapshots is done, but needs the time of the next snapshot.
  return served === limits.maxSnapshots && next !== null ? 'snapshots' : 'more';
}

/** The snapshots of a draft; with group=all cells have no index. */
export function columnsOf(
  { t, tier, priceUsd, cellOffsets, cells, snapshotCount }: Draft,
  query: PageSnapshots['query'],
): PageSnapshots {
  const rowCount = cells.length;
  return {
    query,
    t: t.subarray(0, snapshotCount),
    tier: tier.subarray(0, snapshotCount),
    priceUsd: priceUsd.subarray(0, snapshotCount),
    cellOffsets: cellOffsets.subarray(0, snapshotCount + 1),
    index: query.group === 'all' ? null : cells.index.subarray(0, rowCount),
    bin: cells.bin.subarray(0, rowCount),
    supportCents: cells.supportCents.subarray(0, rowCount),
    resistanceCents: cells.resistanceCents.subarray(0, rowCount),
    snapshotCount,
  };
}

/** The reply's fields that repeat the request. */
export interface ReplayEnvelope {
  /** The address in the request. */
  token: string;
  /** The mint whose snapshots answer a request for its `0x` leg; otherwise null. */
  resolvedToken: string | null;
  chain: Chain;
  /** Epoch seconds after clamping. */
  window: { from: number; to: number; clamped: boolean };
}

/** What the reply's head states about the page. */
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

/** Name of a snapshot's array of market or group indexes; null with group=all. */
export function indexKey(
  page: Pick<Page, 'index'> & { query: Pick<Page['query'], 'group'> },
): 'market_idx' | 'group_idx' | null {
  if (page.index === null) return null;
  return page.query.group === 'market' ? 'market_idx' : 'group_idx';
}

/** A market as replies and messages list it. */
export const listedMarket = ({ source, exchangeType, address, pair }: Market) => ({
  source,
  exchange_type: exchangeType,
  address,
  pair,
});

/** The fields before `snapshots`, in order. */
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
    markets: page.markets.map(listedMarket),
    groups: page.groups,
    ...(page.facets === null ? {} : { facets: page.facets }),
  };
}
