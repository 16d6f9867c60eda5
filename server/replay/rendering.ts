/** Renders a plan in the pool, reading as many of its snapshots as the page needs. */
import type { RunTask } from '../../compute/pool.js';
import type { CountResult, PageSource, RenderResult } from '../../compute/replay/render.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import type { ReplayQuery } from '../../compute/replay/query.js';
import type { PagePlan } from '../../storage/contract.js';
import type { Exchange } from '../http/exchange.js';
import type { PageIdentity } from './caching.js';
import { enlargedBudget, readOfPlan } from './page-plan.js';
import type { SegmentColumns } from './segment-columns.js';

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
    const { segmentIds, ...read } = readOfPlan(plan, query, budget);
    const { markets } = plan;
    const result = await columns.use(segmentIds, async (segments, transfer) => {
      if (exchange.aborted) return null;
      const { cancel } = exchange;
      return task({ segments, ...read, markets, cancel }, transfer);
    });
    if (result === null) return null;
    switch (result.status) {
      case 'done':
        return result as Done<R>;
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
