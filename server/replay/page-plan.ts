/**
 * A page's plan: which stored snapshots it may show, how many of them fit, and what comes after; and the page that
 * the pool renders from it, reading as much of the plan as it needs.
 */
import type { LRUCache } from 'lru-cache';
import { DEFAULT_BAND } from '../../compute/ladder.js';
import { type Market, MARKET_TYPES } from '../../compute/market.js';
import type { RunTask } from '../../compute/pool.js';
import {
  countedMarkets,
  marketsOfPage,
  namesOfPage,
  type PageMarkets,
} from '../../compute/replay/names.js';
import { PAGE_LIMITS, type Selection } from '../../compute/replay/page.js';
import { growingFacts, hasFilter, type ReplayQuery } from '../../compute/replay/query.js';
import type { CountResult, PageSource, RenderResult } from '../../compute/replay/render.js';
import {
  type DepthSource,
  type PagePlan,
  SegmentGoneError,
  type TokenRecord,
} from '../../storage/contract.js';
import { countedCache } from '../../storage/counted-cache.js';
import { Turns } from '../../storage/turns.js';
import type { Budget } from '../http/budget.js';
import { replayBusy } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import type { PageIdentity } from './entity-tag.js';
import type { SegmentBlocks } from './segment-blocks.js';

/** The most plans for one page: compaction may replace its segments before they are read. */
const MAX_PLANS = 3;

export interface PageRequest {
  /** The token whose snapshots the page shows; null if the token is unknown: its plan is empty. */
  source: TokenRecord | null;
  fromS: number;
  toS: number;
  nowS: number;
  stepS?: number;
  /** Default: a page's. */
  maxSnapshots?: number;
}

/**
 * Runs work that plans pages.
 * @throws ApiError `replay_busy` if too many requests are in preparation
 */
export async function prepared<T>(inPreparation: Budget, work: () => Promise<T>): Promise<T> {
  if (!inPreparation.take(1)) throw replayBusy();
  try {
    return await work();
  } finally {
    inPreparation.give(1);
  }
}

/** Snapshots planned in one turn of the event loop. */
const SNAPSHOTS_PER_TURN = PAGE_LIMITS.maxSnapshots;

/** The next snapshots of the window, and the facts of the token's markets. Of many, both are made in turns. */
export async function makePlan(
  depth: DepthSource,
  { source, maxSnapshots = PAGE_LIMITS.maxSnapshots, ...window }: PageRequest,
  turns: Turns = new Turns(),
): Promise<PagePlan> {
  if (source === null) return { segmentIds: [], snapshots: [], nextT: null, markets: [] };
  const { tokenId } = source;
  const next = (fromS: number, planned: number) => {
    const most = Math.min(SNAPSHOTS_PER_TURN, maxSnapshots - planned);
    return depth.plan({ tokenId, ...window, fromS, maxSnapshots: most });
  };
  let plan = await next(window.fromS, 0);
  while (plan.nextT !== null && plan.snapshots.length < maxSnapshots) {
    await turns.take();
    plan = joinedPlans(plan, await next(plan.nextT, plan.snapshots.length));
  }
  await learnMarkets(plan.markets);
  return plan;
}

/** Markets taken in between two checks of the clock. */
const MARKETS_AT_ONCE = 64;

/** Takes in the facts of a token's markets in turns, if that has not been done yet. */
export async function learnMarkets(markets: readonly Market[]): Promise<void> {
  const turns = new Turns();
  const facts = growingFacts(markets);
  while (facts.advance(MARKETS_AT_ONCE)) await turns.take();
}

function joinedPlans(plan: PagePlan, { snapshots, ...next }: PagePlan): PagePlan {
  const indexes = new Map(plan.segmentIds.map((id, index) => [id, index]));
  const segmentIds = [...plan.segmentIds];
  const indexOf = next.segmentIds.map((id) => indexes.get(id) ?? segmentIds.push(id) - 1);
  const more = snapshots.map((one) => ({ ...one, segment: indexOf[one.segment] }));
  return { ...next, segmentIds, snapshots: [...plan.snapshots, ...more] };
}

/**
 * Calls `use` with a plan, and again with a new plan if a planned segment has been replaced.
 * @param plan the first one
 * @throws ApiError `replay_busy` if that happens MAX_PLANS times
 */
export async function withPlan<T>(
  depth: DepthSource,
  request: PageRequest,
  plan: PagePlan,
  use: (plan: PagePlan) => Promise<T>,
): Promise<T> {
  for (let plans = 1; ; plans++) {
    try {
      return await use(plan);
    } catch (error) {
      if (!(error instanceof SegmentGoneError)) throw error;
      if (plans === MAX_PLANS) throw replayBusy();
      plan = await makePlan(depth, request);
    }
  }
}

/**
 * Whether the plan alone determines the page's snapshots: the default band, no filter, and a grouping by
 * market or none.
 */
export function isDefaultView(query: ReplayQuery): boolean {
  const { group, band } = query;
  const isDefaultBand = band.first === DEFAULT_BAND.first && band.last === DEFAULT_BAND.last;
  return isDefaultBand && (group === 'market' || group === 'all') && !hasFilter(query);
}

/** A plan's first snapshots. */
export interface PageStart {
  length: number;
  /** Their expected number of cells: exact in the default view by market, otherwise an upper bound. */
  cells: number;
  /** `t` of the first visible snapshot after them within the window, or null. */
  nextT: number | null;
}

/** The first snapshots of which the plan expects up to `maxCells` cells: in the default view, the page. */
export function startOfPlan(
  plan: PagePlan,
  query: ReplayQuery,
  maxCells: number = PAGE_LIMITS.maxCells,
): PageStart {
  const { snapshots } = plan;
  const ceiling = cellCeiling(plan, query);
  let cells = 0;
  for (let length = 0; length < snapshots.length; length++) {
    const { bandCells, t } = snapshots[length];
    const more = Math.min(bandCells, ceiling);
    if (cells + more > maxCells) return { length, cells, nextT: t };
    cells += more;
  }
  return { length: snapshots.length, cells, nextT: plan.nextT };
}

/** The most cells that a snapshot can have under the query's grouping and band. */
function cellCeiling({ markets }: PagePlan, { group, band }: ReplayQuery): number {
  const bins = Math.max(0, band.last - band.first + 1);
  switch (group) {
    case 'market':
    case 'venue':
      return bins * markets.length;
    case 'type':
      return bins * MARKET_TYPES.length;
    case 'all':
      return bins;
  }
}

/** Neighbouring snapshots of one segment of a plan: `first <= row < end`. */
export interface PlanSpan {
  /** Index into the plan's segments. */
  segment: number;
  first: number;
  end: number;
  /** `t` of the first one. */
  t: number;
}

/** The plan's first `length` snapshots by neighbours. */
export function spansOfPlan({ snapshots }: PagePlan, length: number): PlanSpan[] {
  const spans: PlanSpan[] = [];
  let span: PlanSpan | undefined;
  for (let i = 0; i < length; i++) {
    const { segment, row, t } = snapshots[i];
    if (span?.segment === segment && span.end === row) span.end++;
    else spans.push((span = { segment, first: row, end: row + 1, t }));
  }
  return spans;
}

/** The part of a plan to read for a page. */
interface PageRead {
  /** Ids of the segments to read; `selection.run` indexes them. */
  segmentIds: number[];
  selection: Selection;
  /** Whether visible snapshots of the window come after these. */
  windowContinues: boolean;
  /** `t` of the next one. */
  nextT: number | null;
}

/**
 * The plan's first snapshots with the one that is expected to exceed `maxCells`. The page may need more if
 * filter and grouping keep fewer cells than expected: see enlargedBudget.
 */
export function readOfPlan(plan: PagePlan, query: ReplayQuery, maxCells: number): PageRead {
  const { snapshots } = plan;
  const length = Math.min(snapshots.length, startOfPlan(plan, query, maxCells).length + 1);
  const nextT = length < snapshots.length ? snapshots[length].t : plan.nextT;
  return { ...locate(plan, length), windowContinues: nextT !== null, nextT };
}

/** The positions of the plan's first snapshots. */
export function locate(plan: PagePlan, length: number): Pick<PageRead, 'segmentIds' | 'selection'> {
  const segmentIds: number[] = [];
  const runOfSegment = new Map<number, number>();
  const selection = { run: new Uint32Array(length), row: new Uint32Array(length) };
  plan.snapshots.slice(0, length).forEach(({ segment, row }, s) => {
    let run = runOfSegment.get(segment);
    if (run === undefined) {
      run = segmentIds.length;
      runOfSegment.set(segment, run);
      segmentIds.push(plan.segmentIds[segment]);
    }
    selection.run[s] = run;
    selection.row[s] = row;
  });
  return { segmentIds, selection };
}

/**
 * The expected cells to read in the next attempt, after `budget` yielded only `rowCount` cells: twice
 * as many, or in proportion if filter and grouping keep few.
 */
function enlargedBudget(budget: number, rowCount: number): number {
  return budget * Math.max(2, PAGE_LIMITS.maxCells / rowCount);
}

export interface MadePage {
  body: Uint8Array;
  /** `t` of the first snapshot that did not fit; null on the last page. */
  nextFrom: number | null;
}

/**
 * The page; null if the client has disconnected. Reads as much of the plan as the page is expected to need, then
 * more until it is enough.
 * @throws SegmentGoneError; ApiError 400 if the names that it lists are too large
 */
export async function renderPlan(
  blocks: SegmentBlocks,
  exchange: Exchange,
  page: PageIdentity,
  plan: PagePlan,
  runTask: RunTask,
): Promise<MadePage | null> {
  const { query } = page;
  checkKnownNames(exchange, query, plan);
  let markets = marketsOfPage(plan.markets, query);
  for (;;) {
    const made = await readPlan(blocks, exchange, query, plan, markets, (source) =>
      runTask('renderPage', { ...page, ...source }),
    );
    if (made?.status !== 'unnamed') return made;
    const { names, bytes } = namesOfPage(plan.markets, query, made.listed);
    keepNameBytes(query, plan, bytes);
    exchange.checkNames(bytes);
    markets = { ...markets, names };
  }
}

type Counts = Extract<CountResult, { status: 'done' }>;

/** Pages with long names of which the bytes of their names are kept, per list of markets. */
const MAX_KNOWN_PAGES = 64;
/** By name of the page. */
const knownBytes = new WeakMap<readonly Market[], LRUCache<string, number>>();

/** Text that two pages share only if they list the same names. */
function nameOfPage(query: ReplayQuery, { segmentIds, snapshots }: PagePlan): string {
  const places = snapshots.map(({ segment, row }) => `${segmentIds[segment]}.${row}`);
  return JSON.stringify([query, places]);
}

/**
 * Refuses a page whose names are known to be too large, before it takes a thread.
 * @throws ApiError 400
 */
export function checkKnownNames(exchange: Exchange, query: ReplayQuery, plan: PagePlan): void {
  const bytes = knownBytes.get(plan.markets)?.get(nameOfPage(query, plan));
  if (bytes !== undefined) exchange.checkNames(bytes);
}

function keepNameBytes(query: ReplayQuery, plan: PagePlan, bytes: number): void {
  const known = knownBytes.get(plan.markets) ?? countedCache(MAX_KNOWN_PAGES);
  knownBytes.set(plan.markets, known.set(nameOfPage(query, plan), bytes));
}

/**
 * Counts the page's snapshots and cells without rendering it; null if the client has disconnected.
 * @throws SegmentGoneError
 */
export async function countPlan(
  blocks: SegmentBlocks,
  exchange: Exchange,
  query: ReplayQuery,
  plan: PagePlan,
  runTask: RunTask,
): Promise<Counts | null> {
  const markets = countedMarkets(plan.markets, query);
  return readPlan(blocks, exchange, query, plan, markets, (source) =>
    runTask('countPage', { ...source, query }),
  );
}

type Enough<R> = Exclude<R, { status: 'more' | 'cancelled' }>;

async function readPlan<R extends CountResult | RenderResult>(
  blocks: SegmentBlocks,
  exchange: Exchange,
  query: ReplayQuery,
  plan: PagePlan,
  markets: PageMarkets,
  task: (source: Omit<PageSource, 'query'>) => Promise<R>,
): Promise<Enough<R> | null> {
  let budget: number = PAGE_LIMITS.maxCells;
  for (;;) {
    if (exchange.aborted) return null;
    const { segmentIds, ...read } = readOfPlan(plan, query, budget);
    const segments = await blocks.read(segmentIds);
    if (exchange.aborted) return null;
    const result = await task({ segments, ...read, markets, cancel: exchange.cancel });
    switch (result.status) {
      case 'done':
      case 'unnamed':
        return result as Enough<R>;
      case 'cancelled':
        return null;
      case 'more':
        if (read.selection.run.length === plan.snapshots.length) {
          throw new Error('a page needs more snapshots than its plan has');
        }
        budget = enlargedBudget(budget, result.rowCount);
    }
  }
}
