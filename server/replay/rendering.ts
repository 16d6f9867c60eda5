/** From a plan to a rendered page: how many of its snapshots are read, and the pool's task. */
import type { RunTask } from '../../compute/pool.js';
import type { Exchange } from '../http/exchange.js';
import type { PageIdentity } from './caching.js';
import type { SegmentColumns } from './segment-columns.js';
import { PAGE_LIMITS, type Selection } from '../../compute/replay/page.js';
import type { ReplayQuery } from '../../compute/replay/query.js';
import { MARKET_TYPES } from '../../compute/market.js';
import type { PagePlan, PlannedSnapshot } from '../../storage/contract.js';

/** A plan's first snapshots, the segments that hold them, and what comes after. */
export interface PlanHead {
  /** Ids of the segments to read; `selection.run` indexes them. */
  segmentIds: number[];
  selection: Selection;
  /** Whether visible snapshots of the window come after the part. */
  windowContinues: boolean;
  /** `t` of the first of them. */
  nextT: number | null;
}

/**
 * The plan's snapshots up to the one with which their cells are expected to exceed `maxCells`. With
 * the default band, group=market and no filter the expectation is exact, and the part holds just
 * what the page needs. Otherwise a page may turn out to need more: enlargedBudget.
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

/** Cells that a snapshot has at most under the query, as far as its grouping bounds them. */
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
  plan.snapshots.slice(0, length).forEach(({ segment, row }: PlannedSnapshot, s) => {
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
 * The budget of expected cells for the next attempt, after one of `budget` gave only `rowCount`
 * cells as served: at least twice as many, in proportion where filter and grouping keep few.
 */
export function enlargedBudget(budget: number, rowCount: number): number {
  return budget * Math.max(2, PAGE_LIMITS.maxCells / rowCount);
}

/**
 * The page's body, null where the client went before it was done. Reads as much of the plan as the
 * page is expected to need, and more while that is too little.
 * @throws SegmentGoneError
 */
export async function renderPlan(
  columns: SegmentColumns,
  exchange: Exchange,
  page: PageIdentity,
  plan: PagePlan,
  run: RunTask,
): Promise<Uint8Array | null> {
  let budget: number = PAGE_LIMITS.maxCells;
  for (;;) {
    if (exchange.aborted) return null;
    const part = headOfPlan(plan, page.query, budget);
    const { markets } = plan;
    const { selection, windowContinues, nextT } = part;
    const result = await columns.use(part.segmentIds, async (segments, transfer) => {
      if (exchange.aborted) return null;
      const read = { segments, selection, markets, windowContinues, nextT };
      return run('renderPage', { ...page, ...read, cancel: exchange.cancel }, transfer);
    });
    if (result === null) return null;
    switch (result.status) {
      case 'done':
        return result.body;
      case 'cancelled':
        return null;
      case 'more':
        if (part.selection.run.length === plan.snapshots.length) {
          throw new Error('a page needs more snapshots than were planned for it');
        }
        budget = enlargedBudget(budget, result.rowCount);
    }
  }
}
