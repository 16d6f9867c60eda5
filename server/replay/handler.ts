/** GET /replay/:address: from the parameters to a rendered page. */
import { QueueFullError, type ComputePool } from '../../compute/pool.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import type { RenderInput, RenderResult } from '../../compute/replay/task.js';
import {
  SegmentGoneError,
  type DepthSource,
  type PagePlan,
  type TokenRecord,
} from '../../storage/seams.js';
import type { CallContext } from '../auth.js';
import type { Clock } from '../clock.js';
import type { Budget } from '../http/budget.js';
import { replayBusy } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { parseReplayRequest, type ReplayRequest } from './parameters.js';
import { negotiate, representationHeaders, type Representation } from './representation.js';
import { enlargedBudget, partOfPlan, type PlanPart } from './selection.js';

/** Plans made for one page: segments may be replaced by compaction while they are about to be read. */
const MAX_PLANS = 3;

export interface ReplayServices {
  depth: DepthSource;
  pool: ComputePool;
  clock: Clock;
  /** Pages that are worked on at one time, from the plan to the finished body. */
  pagesInWork: Budget;
}

type Page = Extract<RenderResult, { status: 'done' }>;

/** Makes the handler of GET /replay/:address. */
export function replayHandler(services: ReplayServices): (context: CallContext) => Promise<void> {
  return async ({ exchange, params }) => {
    exchange.addHeader('Vary', 'Accept, Accept-Encoding');
    const nowS = services.clock.nowS();
    const request = parseReplayRequest(params.address, exchange.query, nowS);
    const representation = negotiate(exchange);
    if (!services.pagesInWork.take(1)) throw replayBusy();
    try {
      const page = await makePage(services, exchange, request, representation, nowS);
      if (page) exchange.reply(200, representationHeaders(representation), page.body);
    } catch (error) {
      throw error instanceof QueueFullError ? replayBusy() : error;
    } finally {
      services.pagesInWork.give(1);
    }
  };
}

/** The page; null where the client went before it was done. */
async function makePage(
  services: ReplayServices,
  exchange: Exchange,
  request: ReplayRequest,
  representation: Representation,
  nowS: number,
): Promise<Page | null> {
  const asked = services.depth.token(request.chain, request.address);
  const leg = asked && services.depth.mainchainLeg(asked);
  const base = {
    query: request.query,
    envelope: {
      token: request.address,
      resolvedToken: leg?.address ?? null,
      chain: leg?.chain ?? request.chain,
      window: { from: request.fromS, to: request.toS, clamped: request.clamped },
    },
    format: representation.format,
    encoding: representation.encoding,
    cancel: exchange.cancel,
  };
  for (let plans = 0; plans < MAX_PLANS; plans++) {
    const plan = await makePlan(services.depth, leg ?? asked, request, nowS);
    try {
      return await renderPlan(services, exchange, plan, base);
    } catch (error) {
      if (!(error instanceof SegmentGoneError)) throw error;
    }
  }
  throw replayBusy();
}

/** A token that nothing has named has no snapshots, as one without any in the window. */
async function makePlan(
  depth: DepthSource,
  token: TokenRecord | null,
  { fromS, toS }: ReplayRequest,
  nowS: number,
): Promise<PagePlan> {
  if (token === null) return { segmentIds: [], snapshots: [], nextT: null, markets: [] };
  const { maxSnapshots } = PAGE_LIMITS;
  return depth.plan({ tokenId: token.tokenId, fromS, toS, nowS, maxSnapshots });
}

type PageInput = Pick<RenderInput, 'query' | 'envelope' | 'format' | 'encoding' | 'cancel'>;

/**
 * Reads as much of the plan as the page is expected to need, and more while that is too little.
 * @throws SegmentGoneError, QueueFullError
 */
async function renderPlan(
  { depth, pool }: ReplayServices,
  exchange: Exchange,
  plan: PagePlan,
  base: PageInput,
): Promise<Page | null> {
  let budget: number = PAGE_LIMITS.maxCells;
  for (;;) {
    if (exchange.aborted) return null;
    const part = partOfPlan(plan, base.query, budget);
    const segments = await depth.readSegments(part.segmentIds);
    if (exchange.aborted) return null;
    const result = await render(pool, plan, part, segments, base);
    switch (result.status) {
      case 'done':
        return result;
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

function render(
  pool: ComputePool,
  { markets }: PagePlan,
  { selection, windowContinues, nextT }: PlanPart,
  segments: Uint8Array[],
  base: PageInput,
): Promise<RenderResult> {
  const input = { ...base, segments, selection, markets, windowContinues, nextT };
  const buffers = segments.map((segment) => segment.buffer as ArrayBuffer);
  return pool.run('renderPage', input, buffers);
}
