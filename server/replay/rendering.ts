/** Renders a plan in the pool, reading as many of its snapshots as the page needs. */
import { MARKET_TYPES } from '../../compute/market.js';
import type { RunTask } from '../../compute/pool.js';
import type { CountResult, PageSource, RenderResult } from '../../compute/replay/render.js';
import { PAGE_LIMITS, type Selection } from '../../compute/replay/page.js';
import type { ReplayQuery } from '../../compute/replay/query.js';
import type { PagePlan } from '../../storage/contract.js';
import type { Exchange } from '../http/exchange.js';
import type { PageIdentity } from './caching.js';
import type { SegmentColumns } from './segment-columns.js';

/** A plan's first snapshots, the segments that hold them, and what comes after. */
export interface PlanHead {
  /** Ids of the segments to read; `selection.run` indexes them. */
  segmentIds: number[];
  selection: Selection;
  /** Whether visible snapshots of the window come after these. */
  windowContinues: boolean;
  /** `t` of the next one. */
  nextT: number | null;
}

/**
 * The plan's first snapshots, up to the one that is expected to exceed `maxCells`. With the default band,
 * group=market and no filter the expectation is exact. Otherwise the page may need more (enlargedBudget).
 */
export function headOfPlan(plan: PagePlan, query: ReplayQuery, maxCells: number): PlanHead {
  const ceiling = cellCeiling(plan, query);
  let cells = 0;
  let length = 0;
  while (length < plan.snapshots.length && cells <= maxCells) {
    cells += Math.min(plan.snapshots[length].bandCells, ceiling);
    length++;
  }
  const next = length < plan.snapshots.length ? plan.snapshots[length].t : plan.nextT;
  return { ...locate(plan, length), windowContinues: next !== null, nextT: next };
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

function locate(plan: PagePlan, length: number): Pick<PlanHead, 'segmentIds' | 'selection'> {
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
 * The expected cells to read in the next attempt, after `budget` gave only `rowCount` cells as served: twice
 * as many, or more in proportion where filter and grouping keep few.
 */
export function enlargedBudget(budget: number, rowCount: number): number {
  return budget * Math.max(2, PAGE_LIMITS.maxCells / rowCount);
}

/** A page as it was made. */
export interface MadePage {
  body: Uint8Array;
  /** `t` of the first snapshot that did not fit; null on the last page. */
  nextFrom: number | null;
}

/**
 * The page; null where the client went. Reads as much of the plan as the page is expected to need, and
 * more while that is too little.
 * @throws SegmentGoneError
 */
export async function renderPlan(
  columns: SegmentColumns,
  exchange: Exchange,
  page: PageIdentity,
  plan: PagePlan,
  runTask: RunTask,
): Promise<MadePage | null> {
  return readPlan(columns, exchange, page.query, plan, (source, transfer) =>
    runTask('renderPage', { ...page, ...source }, transfer),
  );
}

type Counts = Extract<CountResult, { status: 'done' }>;

/**
 * What the page holds, without making it; null where the client went.
 * @throws SegmentGoneError
 */
export async function countPlan(
  columns: SegmentColumns,
  exchange: Exchange,
  query: ReplayQuery,
  plan: PagePlan,
  runTask: RunTask,
): Promise<Counts | null> {
  return readPlan(columns, exchange, query, plan, (source, transfer) =>
    runTask('countPage', { ...source, query }, transfer),
  );
}

type Done<R> = Extract<R, { status: 'done' }>;

async function readPlan<R extends CountResult | RenderResult>(
  columns: SegmentColumns,
  exchange: Exchange,
  query: ReplayQuery,
  plan: PagePlan,
  task: (source: Omit<PageSource, 'query'>, transfer: ArrayBuffer[]) => Promise<R>,
): Promise<Done<R> | null> {
  let budget: number = PAGE_LIMITS.maxCells;
  for (;;) {
    if (exchange.aborted) return null;
    const head = headOfPlan(plan, query, budget);
    const { markets } = plan;
    const { selection, windowContinues, nextT } = head;
    const result = await columns.use(head.segmentIds, async (segments, transfer) => {
      if (exchange.aborted) return null;
      const { cancel } = exchange;
      return task({ segments, selection, markets, windowContinues, nextT, cancel }, transfer);
    });
    if (result === null) return null;
    switch (result.status) {
      case 'done':
        return result as Done<R>;
      case 'cancelled':
        return null;
      case 'more':
        if (head.selection.run.length === plan.snapshots.length) {
          throw new Error('a page needs more snapshots than its plan has');
        }
        budget = enlargedBudget(budget, result.rowCount);
    }
  }
}
