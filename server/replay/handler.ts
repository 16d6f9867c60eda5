/** GET /replay/:address: from the parameters to a rendered page. */
import type { ComputePool, RunTask } from '../../compute/pool.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { PoolBusyError } from '../../compute/scheduler.js';
import {
  SegmentGoneError,
  type DepthSource,
  type PagePlan,
  type TokenRecord,
} from '../../storage/contract.js';
import type { Handler, PreparedReply } from '../api/endpoint.js';
import type { Endpoints } from '../endpoints.js';
import type { Clock } from '../clock.js';
import type { Budget } from '../http/budget.js';
import { VARY } from '../api/replies.js';
import { replayBusy } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import {
  cacheHeaders,
  entityTags,
  namedTag,
  type EntityTags,
  type PageIdentity,
} from './caching.js';
import type { Fragments } from './fragments.js';
import { replayRequest, type ReplayRequest } from './parameters.js';
import { reprDigestHeaders } from './repr-digest.js';
import { negotiate, representationHeaders, type Representation } from './representation.js';
import type { SegmentColumns } from './segment-columns.js';
import { enlargedBudget, partOfPlan } from './selection.js';

/** Plans made for one page: segments may be replaced by compaction while they are about to be read. */
const MAX_PLANS = 3;
/** Requests that are being planned or answered from fragments: none of them waits for a thread. */
export const MAX_PAGES_IN_PREPARATION = 1024;

export interface ReplayServices {
  depth: DepthSource;
  /** The segments that pages are made of. */
  columns: SegmentColumns;
  pool: ComputePool;
  clock: Clock;
  /** Requests that are planned, or answered from fragments, at one time. */
  inPreparation: Budget;
  /** Where it is left out, the pool makes every page. */
  fragments?: Fragments;
  /** Names the store in entity tags: another store's segments may bear the same ids. */
  storeTag: string;
}

/** Makes the handler of GET /replay/:address. */
export function replayHandler(services: ReplayServices): Handler<Endpoints['getReplay']> {
  return async ({ exchange, key, token, query }) => {
    exchange.addHeader(...VARY);
    const nowS = services.clock.nowS();
    const request = replayRequest(token, query, nowS);
    const job = jobOf(services, exchange, request, negotiate(exchange), nowS);
    const { plan, reply } = await prepare(services, job);
    if (reply !== null) return reply;
    const render = (run: RunTask) => renderPage(services, job, plan, run);
    try {
      return await services.pool.schedule('page', key.id, render, exchange);
    } catch (error) {
      throw error instanceof PoolBusyError ? replayBusy() : error;
    }
  };
}

/** A page that is to be made. */
interface PageJob {
  exchange: Exchange;
  request: ReplayRequest;
  /** Whose snapshots it shows; null: nothing has named the token. */
  source: TokenRecord | null;
  page: PageIdentity;
  representation: Representation;
  nowS: number;
}

function jobOf(
  { depth }: ReplayServices,
  exchange: Exchange,
  request: ReplayRequest,
  representation: Representation,
  nowS: number,
): PageJob {
  const asked = depth.token(request.chain, request.address);
  const leg = asked && depth.mainchainLeg(asked);
  const page = pageIdentity(request, leg, representation);
  return { exchange, request, source: leg ?? asked, page, representation, nowS };
}

/** Plans the page, and answers what needs no thread: a client's own copy, fragments, HEAD. */
async function prepare(
  services: ReplayServices,
  job: PageJob,
): Promise<{ plan: PagePlan; reply: PreparedReply | null }> {
  if (!services.inPreparation.take(1)) throw replayBusy();
  try {
    const plan = await makePlan(services.depth, job);
    return { plan, reply: await replyWithoutPool(services, job, plan) };
  } finally {
    services.inPreparation.give(1);
  }
}

async function replyWithoutPool(
  services: ReplayServices,
  job: PageJob,
  plan: PagePlan,
): Promise<PreparedReply | null> {
  const { exchange, request, page, nowS } = job;
  const tags = tagsOf(services, job, plan);
  const named = tags && namedTag(exchange.header('if-none-match'), tags);
  if (named !== null) {
    return { status: 304, headers: cacheHeaders(request.toS, nowS, named), body: null };
  }
  const assembled = services.fragments?.page(plan, page);
  if (assembled) return fullReply(job, tags?.fragments, assembled);
  // Its length would take as much work as the page itself (RFC 9110, 9.3.2: it may be left out).
  return exchange.method === 'HEAD' ? pageReply(job, tags?.pool, null) : null;
}

/** Renders in the pool, and plans anew where compaction comes in between. */
async function renderPage(
  services: ReplayServices,
  job: PageJob,
  planned: PagePlan,
  run: RunTask,
): Promise<PreparedReply | null> {
  let plan = planned;
  for (let plans = 1; ; plans++) {
    try {
      const body = await renderPlan(services, job, plan, run);
      return body && (await fullReply(job, tagsOf(services, job, plan)?.pool, body));
    } catch (error) {
      if (!(error instanceof SegmentGoneError)) throw error;
      if (plans === MAX_PLANS) throw replayBusy();
      plan = await makePlan(services.depth, job);
    }
  }
}

/** A window that reaches now has no tags. */
function tagsOf(
  { storeTag }: ReplayServices,
  { request, page, nowS }: PageJob,
  plan: PagePlan,
): EntityTags | null {
  return request.toS < nowS ? entityTags(storeTag, page, plan) : null;
}

/** A page's reply with a digest of its body, where the client wants one. */
async function fullReply(
  job: PageJob,
  tag: string | undefined,
  body: Uint8Array,
): Promise<PreparedReply> {
  const reply = pageReply(job, tag, body);
  const wanted = job.exchange.header('want-repr-digest');
  if (wanted === '') return reply;
  return { ...reply, headers: [...reply.headers, ...(await reprDigestHeaders(wanted, body))] };
}

function pageReply(
  { request, representation, nowS }: PageJob,
  tag: string | undefined,
  body: Uint8Array | null,
): PreparedReply {
  const caching = cacheHeaders(request.toS, nowS, tag ?? null);
  return { status: 200, headers: [...representationHeaders(representation), ...caching], body };
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
  { source, request: { fromS, toS }, nowS }: PageJob,
): Promise<PagePlan> {
  if (source === null) return { segmentIds: [], snapshots: [], nextT: null, markets: [] };
  const { maxSnapshots } = PAGE_LIMITS;
  return depth.plan({ tokenId: source.tokenId, fromS, toS, nowS, maxSnapshots });
}

/**
 * The page's body, null where the client went before it was done. Reads as much of the plan as the
 * page is expected to need, and more while that is too little.
 * @throws SegmentGoneError
 */
async function renderPlan(
  { columns }: ReplayServices,
  { exchange, page }: PageJob,
  plan: PagePlan,
  run: RunTask,
): Promise<Uint8Array | null> {
  let budget: number = PAGE_LIMITS.maxCells;
  for (;;) {
    if (exchange.aborted) return null;
    const part = partOfPlan(plan, page.query, budget);
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
