/** GET /replay/:address/plan: how a window is paged. */
import Type from '../api/type.js';
import { newestGaps } from '../../compute/depth/coverage.js';
import { CHAINS } from '../../compute/market.js';
import { REPLAY_GROUPS, type ReplayQuery } from '../../compute/replay/query.js';
import type { RunTask } from '../../compute/pool.js';
import { PoolBusyError } from '../../compute/scheduler.js';
import type { DepthSource, TokenRecord } from '../../storage/contract.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import {
  chainKey,
  count,
  document,
  epochSeconds,
  nullable,
  tokenAddress,
  word,
} from '../api/schemas.js';
import { historyGap, MAX_GAPS } from '../depth/coverage.js';
import { resolvedToken, sourceOf } from '../depth/shown-token.js';
import { replayBusy } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { Turns } from '../../storage/turns.js';
import {
  countPlan,
  isDefaultView,
  makePlan,
  prepared,
  startOfPlan,
  withPlan,
} from './page-plan.js';
import { replayParameters, replayRequest } from './parameters.js';
import { window } from './replay.js';
import type { Services } from '../services.js';

const MAX_PAGES = 500;

export const getReplayPlan = defineEndpoint({
  operationId: 'getReplayPlan',
  method: 'GET',
  path: '/replay/:address/plan',
  tag: 'Depth',
  summary: 'Pages of a window of depth history',
  description:
    "How `/replay/:address` pages a window, so that its pages can be fetched in parallel: send a page's " +
    '`from` with `to` of `window` and the same other parameters to get exactly that page. A plan has up ' +
    `to ${MAX_PAGES} pages; send its \`next_from\` as \`from\` for the next ones. Data added or deleted ` +
    'in the meantime change their page and all later ones.',
  chain: { kind: 'none', at: { in: 'path', name: 'address' }, supported: CHAINS },
  query: replayParameters,
  response: document('ReplayPlan', {
    token: tokenAddress,
    resolved_token: resolvedToken,
    chain: chainKey,
    window: document('ReplayPlanWindow', window),
    group: word(REPLAY_GROUPS),
    page_count: count('Items of `pages`'),
    snapshot_count: count('Snapshots on all pages'),
    row_count: count('Cells on all pages'),
    pages: Type.Array(
      document('PlannedPage', {
        from: epochSeconds('`from` of the page'),
        snapshot_count: count('Snapshots on the page'),
        row_count: count('Cells on the page'),
        approx_bytes: count('Approximate bytes of the page as uncompressed JSON'),
      }),
      { maxItems: MAX_PAGES, description: 'Pages with snapshots, in order.' },
    ),
    gaps: Type.Array(historyGap, {
      maxItems: MAX_GAPS,
      description: 'Gaps that overlap the window, as in `/coverage/:address`, newest first.',
    }),
    next_from: nullable(Type.Integer(), '`from` of the next plan; null on the last one.'),
  }),
  errors: ['invalid_group', 'window_out_of_range', 'replay_busy'],
});

export function replayPlanHandler(services: Services): Handler<typeof getReplayPlan> {
  return async ({ exchange, key, token, query: parameters }) => {
    const nowS = services.clock.nowS();
    const request = replayRequest(token, parameters, nowS);
    const { address, chain, fromS, toS, stepS, clamped, query } = request;
    const { source, leg } = sourceOf(services.depth, { chain, address });
    const job = { exchange, keyId: key.id, source, query, toS, stepS, nowS };
    return prepared(services.inPreparation, async () => {
      const { pages, nextFrom } = await planPages(services, job, fromS);
      const sum = (of: 'snapshot_count' | 'row_count') =>
        pages.reduce((total, page) => total + page[of], 0);
      return {
        token: address,
        ...(leg === null ? {} : { resolved_token: leg.address }),
        chain: leg?.chain ?? chain,
        window: { from: fromS, to: toS, clamped },
        group: query.group,
        page_count: pages.length,
        snapshot_count: sum('snapshot_count'),
        row_count: sum('row_count'),
        pages,
        gaps: source === null ? [] : await gapsWithin(services.depth, source, { fromS, toS, nowS }),
        next_from: nextFrom,
      };
    }).catch((error: unknown) => {
      throw error instanceof PoolBusyError ? replayBusy() : error;
    });
  };
}

interface PlanJob {
  exchange: Exchange;
  keyId: string;
  source: TokenRecord | null;
  query: ReplayQuery;
  toS: number;
  stepS?: number;
  nowS: number;
}

/** What a page holds, and where the next one begins. */
interface PageCounts {
  snapshotCount: number;
  rowCount: number;
  nextFrom: number | null;
}

async function planPages(services: Services, job: PlanJob, fromS: number) {
  const turns = new Turns();
  const pages = [];
  let next: number | null = fromS;
  while (next !== null && pages.length < MAX_PAGES && !job.exchange.aborted) {
    const counts = await countFrom(services, job, next);
    if (counts === null || counts.snapshotCount === 0) break;
    pages.push({
      from: next,
      snapshot_count: counts.snapshotCount,
      row_count: counts.rowCount,
      approx_bytes: approximateBytes(counts),
    });
    next = counts.nextFrom;
    await turns.take();
  }
  return { pages, nextFrom: pages.length === MAX_PAGES ? next : null };
}

/** Counts the page that begins at `fromS`, in the pool if necessary; null: the client has disconnected. */
async function countFrom(
  { depth, blocks, pool }: Services,
  { exchange, keyId, query, ...job }: PlanJob,
  fromS: number,
): Promise<PageCounts | null> {
  const request = { ...job, fromS };
  return withPlan(depth, request, await makePlan(depth, request), async (plan) => {
    if (plan.snapshots.length === 0) return { snapshotCount: 0, rowCount: 0, nextFrom: null };
    if (isDefaultView(query) && query.group === 'market') {
      const { length, cells, nextT } = startOfPlan(plan, query);
      return { snapshotCount: length, rowCount: cells, nextFrom: nextT };
    }
    const count = (run: RunTask) => countPlan(blocks, exchange, query, plan, run);
    return pool.schedule('page', keyId, count, exchange);
  });
}

/** Fitted to pages of generated and of demo markets. */
const HEAD_BYTES = 2000;
const SNAPSHOT_BYTES = 130;
const CELL_BYTES = 15;

function approximateBytes({ snapshotCount, rowCount }: PageCounts): number {
  return HEAD_BYTES + SNAPSHOT_BYTES * snapshotCount + CELL_BYTES * rowCount;
}

async function gapsWithin(
  depth: DepthSource,
  { tokenId }: TokenRecord,
  { nowS, ...window }: { fromS: number; toS: number; nowS: number },
) {
  const turns = new Turns();
  const times = await depth.times(tokenId, nowS);
  const pause = () => turns.take();
  const { gaps } = await newestGaps(times, MAX_GAPS, { window, pause });
  // Encoding the reply takes another turn.
  await pause();
  return gaps;
}
