/** The kernel of replay: which snapshots a page holds, and their cells as served. */
import { MAX_CELLS_PER_SNAPSHOT } from '../ladder.js';
import { type Market, MARKET_TYPE_LABELS, type MarketType, TIERS } from '../market.js';
import type { RunColumns } from '../segment/run.js';
import {
  appendGroups,
  appendMarkets,
  type ReusableCells,
  emptyCells,
  emptyRanges,
  findRanges,
  groupScratch,
  type MarketRanges,
  type MarketSlots,
  type PageGroup,
  type ServedCells,
  slotsOfMarkets,
  venueLabels,
} from './cells.js';
import { hasFilter, type ReplayQuery } from './query.js';

/** Cells, counted as served, and snapshots that a page holds at most. */
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

export interface PageInput {
  runs: readonly RunColumns[];
  selection: Selection;
  /** The token's markets in order of first arrival; the runs' `market` columns index it. */
  markets: readonly Market[];
  query: ReplayQuery;
  /** Whether visible snapshots of the window come after the selection. */
  windowContinues: boolean;
  /** `t` of the first of them, where it is known. */
  nextT?: number | null;
}

/**
 * Why a page ended: the next snapshot's cells did not fit, it holds as many snapshots as it may, or
 * nothing comes after it in the window. `more`: the selection ran out before any of these; the
 * caller has to select further snapshots.
 */
export type PageEnd = 'cells' | 'snapshots' | 'window' | 'more';

/** A page in columns. Cell `i` of snapshot `s` is `cellOffsets[s] <= i < cellOffsets[s + 1]`. */
export interface Page {
  query: ReplayQuery;
  /** Epoch seconds, one a snapshot. */
  t: Uint32Array;
  /** Index into TIERS, one a snapshot. */
  tier: Uint8Array;
  priceUsd: Float64Array;
  cellOffsets: Int32Array;
  /** Index into `markets` or `groups`; null with group=all. */
  index: Uint16Array | null;
  bin: Int16Array;
  supportCents: Float64Array;
  resistanceCents: Float64Array;
  markets: Market[];
  groups: PageGroup[];
  /** null with group=all and no filter. */
  facets: Facets | null;
  venuesNotFound: string[];
  snapshotCount: number;
  rowCount: number;
  end: PageEnd;
  /** `t` of the first snapshot not served; null where `end` is window or more. */
  nextFrom: number | null;
}

/** Thrown out of a page's making when its flag says that nobody waits for it any more. */
export class ReplayCancelled extends Error {
  override readonly name = 'ReplayCancelled';
}

/** Everything one page's loop writes to. */
interface Draft {
  cells: ServedCells;
  t: Uint32Array;
  tier: Uint8Array;
  priceUsd: Float64Array;
  cellOffsets: Int32Array;
  snapshotCount: number;
  /** By market: support + resistance over the page within the band, before the filter. */
  marketCents: Float64Array;
  /** The last market and slot with a cell on the page, -1 for none. */
  lastMarket: number;
  lastSlot: number;
}

/**
 * Builds the largest page that the selection and the limits allow: filter, then group, then count.
 *
 * @param cancelled asked once a snapshot
 * @param room where the cells are put; the page's columns are views of it
 * @throws ReplayCancelled as soon as `cancelled` says so
 * @throws RangeError where a run names a market outside the list, or one snapshot alone exceeds
 *   `maxCells` (with PAGE_LIMITS no stored snapshot does)
 */
export function buildPage(
  input: PageInput,
  limits: PageLimits = PAGE_LIMITS,
  cancelled: () => boolean = () => false,
  room: ReusableCells = emptyCells,
): Page {
  const { runs, selection, markets, query } = input;
  const slots = slotsOfMarkets(markets, query);
  const ranges = emptyRanges(markets.length);
  const append = appender(query, slots, ranges);
  const rows = Math.min(selection.run.length, limits.maxSnapshots);
  const draft = emptyDraft(input, rows, limits, room);
  let end: PageEnd | null = null;
  while (draft.snapshotCount < rows) {
    if (cancelled()) throw new ReplayCancelled('replay page cancelled');
    const s = draft.snapshotCount;
    const run = runs[selection.run[s]];
    const row = selection.row[s];
    findRanges(run, row, query.band, ranges);
    append(draft.cells, run);
    if (draft.cells.length > limits.maxCells) {
      draft.cells.length = draft.cellOffsets[s];
      if (s === 0) throw new RangeError(`snapshot ${run.t[row]} alone exceeds a page's cells`);
      end = 'cells';
      break;
    }
    accept(draft, run, row, ranges, slots);
  }
  const next = nextT(input, draft.snapshotCount);
  end ??= endOfSelection(input, draft.snapshotCount, limits, next);
  return finishPage(input, slots, draft, end, end === 'more' ? null : next);
}

type Append = (cells: ServedCells, run: RunColumns) => void;

function appender(query: ReplayQuery, slots: MarketSlots, ranges: MarketRanges): Append {
  if (query.group === 'market') {
    return (cells, run) => appendMarkets(cells, run, ranges, slots.slot);
  }
  const scratch = groupScratch(slots.count, slots.slot.length);
  return (cells, run) => appendGroups(cells, run, ranges, slots.slot, scratch);
}

/** Columns with room for a full page and the one snapshot that turns out not to fit. */
function emptyDraft(
  input: PageInput,
  rows: number,
  limits: PageLimits,
  room: ReusableCells,
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
    cells: room(Math.min(stored, limits.maxCells + widest)),
    t: new Uint32Array(rows),
    tier: new Uint8Array(rows),
    priceUsd: new Float64Array(rows),
    cellOffsets: new Int32Array(rows + 1),
    snapshotCount: 0,
    marketCents: new Float64Array(input.markets.length),
    lastMarket: -1,
    lastSlot: -1,
  };
}

/** Takes the snapshot whose cells were just appended onto the page. */
function accept(
  draft: Draft,
  run: RunColumns,
  row: number,
  ranges: MarketRanges,
  slots: MarketSlots,
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
    draft.lastMarket = Math.max(draft.lastMarket, market);
    draft.lastSlot = Math.max(draft.lastSlot, slot);
  }
}

/** `t` of the snapshot after the first `served` ones; null where there is none or it is unknown. */
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
  // A page full of cells may still take a snapshot that the filter empties; one full of snapshots
  // is done, if only the next one's time is known.
  return served === limits.maxSnapshots && next !== null ? 'snapshots' : 'more';
}

function finishPage(
  input: PageInput,
  slots: MarketSlots,
  draft: Draft,
  end: PageEnd,
  nextFrom: number | null,
): Page {
  const { markets, query } = input;
  const { snapshotCount, cells } = draft;
  const rowCount = cells.length;
  const facets =
    query.group === 'all' && !hasFilter(query)
      ? null
      : facetsOfMarkets(markets, slots.venueKeys, draft.marketCents, snapshotCount);
  const asked = [...(query.venues ?? []), ...(query.excludeVenues ?? [])];
  return {
    query,
    t: draft.t.subarray(0, snapshotCount),
    tier: draft.tier.subarray(0, snapshotCount),
    priceUsd: draft.priceUsd.subarray(0, snapshotCount),
    cellOffsets: draft.cellOffsets.subarray(0, snapshotCount + 1),
    index: query.group === 'all' ? null : cells.index.subarray(0, rowCount),
    bin: cells.bin.subarray(0, rowCount),
    supportCents: cells.supportCents.subarray(0, rowCount),
    resistanceCents: cells.resistanceCents.subarray(0, rowCount),
    markets:
      query.group === 'all'
        ? []
        : markets.filter((_, m) => m <= draft.lastMarket && slots.slot[m] >= 0),
    groups: slots.groups.slice(0, draft.lastSlot + 1),
    facets,
    venuesNotFound: facets === null ? [] : venuesWithoutDepth(asked, facets),
    snapshotCount,
    rowCount,
    end,
    nextFrom: end === 'window' ? null : nextFrom,
  };
}

// Mean depth of each type and venue on a page, before types and venues are filtered.

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
