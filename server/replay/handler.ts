/** GET /replay/:address: from the parameters to a rendered page. */
import { QueueFullError, type ComputePool } from '../../compute/pool.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import {
  SegmentGoneError,
  type DepthSource,
  type PagePlan,
  type TokenRecord,
} from '../../storage/seams.js';
import type { Handler, PreparedReply } from '../api/endpoint.js';
import type { Endpoints } from '../api/table.js';
import type { Clock } from '../clock.js';
import type { Budget } from '../http/budget.js';
import { VARY } from '../api/forms.js';
import { replayBusy } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import {
  cacheHeaders,
  entityTags,
  namedTag,
  type PageIdentity,
  type PageMaking,
} from './caching.js';
import type { Fragments } from './fragments/fragments.js';
import { replayRequest, type ReplayRequest } from './parameters.js';
import { negotiate, representationHeaders, type Representation } from './representation.js';
import { enlargedBudget, partOfPlan } from './selection.js';

/** Plans made for one page: segments may be replaced by compaction while they are about to be read. */
const MAX_PLANS = 3;

export interface ReplayServices {
  depth: DepthSource;
  pool: ComputePool;
  clock: Clock;
  /** Pages that are worked on at one time, from the plan to the finished body. */
  pagesInWork: Budget;
  /** Where it is left out, the pool makes every page. */
  fragments?: Fragments;
  /** Names the store in entity tags: another store's segments may bear the same ids. */
  storeTag: string;
}

/** Makes the handler of GET /replay/:address. */
export function replayHandler(services: ReplayServices): Handler<Endpoints['getReplay']> {
  return async ({ exchange, token, query }) => {
    exchange.addHeader(...VARY);
    const nowS = services.clock.nowS();
    const request = replayRequest(token, query, nowS);
    const representation = negotiate(exchange);
    if (!services.pagesInWork.take(1)) throw replayBusy();
    try {
      return await preparePage(services, exchange, request, representation, nowS);
    } catch (error) {
      throw error instanceof QueueFullError ? replayBusy() : error;
    } finally {
      services.pagesInWork.give(1);
    }
  };
}

/** Plans and renders, anew where compaction comes in between. */
async function preparePage(
  services: ReplayServices,
  exchange: Exchange,
  request: ReplayRequest,
  representation: Representation,
  nowS: number,
): Promise<PreparedReply | null> {
  const { depth, storeTag } = services;
  const asked = depth.token(request.chain, request.address);
  const leg = asked && depth.mainchainLeg(asked);
  const page = pageIdentity(request, leg, representation);
  for (let plans = 0; plans < MAX_PLANS; plans++) {
    const plan = await makePlan(depth, leg ?? asked, request, nowS);
    const tags = request.toS < nowS ? entityTags(storeTag, page, plan) : null;
    const named = tags && namedTag(exchange.header('if-none-match'), tags);
    if (named !== null) {
      return { status: 304, headers: cacheHeaders(request.toS, nowS, named), body: null };
    }
    try {
      const made = await makePage(services, exchange, plan, page);
      if (made === null) return null;
      const caching = cacheHeaders(request.toS, nowS, tags && tags[made.making]);
      const headers = [...representationHeaders(representation), ...caching];
      return { status: 200, headers, body: made.body };
    } catch (error) {
      if (!(error instanceof SegmentGoneError)) throw error;
    }
  }
  throw replayBusy();
}

/** The page's body; null where the client went before it was done. */
async function makePage(
  services: ReplayServices,
  exchange: Exchange,
  plan: PagePlan,
  page: PageIdentity,
): Promise<{ body: Uint8Array; making: PageMaking } | null> {
  const assembled = await services.fragments?.page(plan, page);
  if (assembled) return { body: assembled, making: 'fragments' };
  const rendered = await renderPlan(services, exchange, plan, page);
  return rendered && { body: rendered, making: 'pool' };
}

function pageIdentity(
  request: ReplayRequest,
  leg: TokenRecord | null,
  { format, encoding }: Representation,
): PageIdentity {
  return {
    query: request.query,
    envelope: {
      token: request.address,
      resolvedToken: leg?.address ?? null,
      chain: leg?.chain ?? request.chain,
      window: { from: request.fromS, to: request.toS, clamped: request.clamped },
    },
    format,
    encoding,
  };
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

/**
 * The page's body, null where the client went before it was done. Reads as much of the plan as the
 * page is expected to need, and more while that is too little.
 * @throws SegmentGoneError, QueueFullError
 */
async function renderPlan(
  { depth, pool }: ReplayServices,
  exchange: Exchange,
  plan: PagePlan,
  page: PageIdentity,
): Promise<Uint8Array | null> {
  let budget: number = PAGE_LIMITS.maxCells;
  for (;;) {
    if (exchange.aborted) return null;
    const part = partOfPlan(plan, page.query, budget);
    const segments = await depth.readSegments(part.segmentIds);
    if (exchange.aborted) return null;
    const { markets } = plan;
    const { selection, windowContinues, nextT } = part;
    const read = { segments, selection, markets, windowContinues, nextT };
    const buffers = segments.map((segment) => segment.buffer as ArrayBuffer);
    const result = await pool.run(
      'renderPage',
      { ...page, ...read, cancel: exchange.cancel },
      buffers,
    );
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
