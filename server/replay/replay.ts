import Type from '../api/type.js';
import { CHAINS, EXCHANGE_TYPES, MARKET_TYPES, TIERS } from '../../compute/market.js';
import type { RunTask } from '../../compute/pool.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { REPLAY_GROUPS } from '../../compute/replay/query.js';
import type { PagePlan, TokenRecord } from '../../storage/contract.js';
import { defineEndpoint, type Handler, type PreparedReply } from '../api/endpoint.js';
import { VARY } from '../api/replies.js';
import {
  chainKey,
  count,
  document,
  epochSeconds,
  nullable,
  number,
  tokenAddress,
  usd,
  word,
} from '../api/schemas.js';
import { resolvedToken, sourceOf } from '../depth/shown-token.js';
import type { Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { namesTag } from '../http/negotiation.js';
import {
  checkKnownNames,
  type MadePage,
  makePlan,
  type PageRequest,
  prepared,
  renderPlan,
  withPlan,
} from './page-plan.js';
import { replayParameters, replayRequest, type ReplayRequest } from './parameters.js';
import { cacheHeaders, entityTag, type PageIdentity } from './entity-tag.js';
import { keepPage, type KeptPage, keyOfPage } from './kept-pages.js';
import {
  ARROW_STREAM,
  negotiate,
  permittedEncodings,
  reprDigestHeaders,
  type Representation,
  representationHeaders,
} from './representation.js';
import type { Services } from '../services.js';

const marketType = word(MARKET_TYPES, { description: 'Type of market.' });
export const replayGroup = document('ReplayGroup', {
  key: Type.String(),
  label: Type.String(),
  type: marketType,
});
export const replayMarket = document('ReplayMarket', {
  source: Type.String(),
  exchange_type: word(EXCHANGE_TYPES),
  address: nullable(Type.String(), 'Address of the pool or order book; null if it has none.'),
  pair: nullable(Type.String(), 'Null if the market has none.'),
});
const keys = nullable(Type.Array(Type.String()), 'As sent, venues as keys; null if not sent.');
const indexes = (of: string) =>
  Type.Optional(
    Type.Array(Type.Integer({ minimum: 0 }), {
      description: `Index into \`${of}\`, one per cell.`,
    }),
  );

/** Fields of `window`, in a page and in a plan. */
export const window = {
  from: epochSeconds('Start, after clamping to the last 365 days'),
  to: epochSeconds('End'),
  clamped: Type.Boolean(),
};

const facets = document(
  'ReplayFacets',
  {
    frames: count('Snapshots on the page'),
    types: Type.Array(
      document('TypeFacet', { key: marketType, label: Type.String(), usd: usd('Mean depth') }),
    ),
    venues: Type.Array(
      document('VenueFacet', {
        key: Type.String(),
        label: Type.String(),
        type: marketType,
        usd: usd('Mean depth'),
      }),
    ),
  },
  {
    description:
      'Mean depth of the snapshots on the page by type and by venue, within the band and before any ' +
      'filter. Absent with `group=all` and no filter.',
  },
);

/** A snapshot, on a page and in a live message. */
export const replaySnapshot = document('ReplaySnapshot', {
  t: epochSeconds('Time'),
  tier: word(TIERS, { description: 'Density at which snapshots of this age are kept.' }),
  price_usd: usd('Price'),
  market_idx: indexes('markets'),
  group_idx: indexes('groups'),
  bin: Type.Array(Type.Integer(), { description: 'Bins: price = price_usd * 1.01^bin.' }),
  support_usd: Type.Array(Type.Number({ minimum: 0 }), {
    description: 'Support, USD, exact to the cent.',
  }),
  resistance_usd: Type.Array(Type.Number({ minimum: 0 }), {
    description: 'Resistance, USD, exact to the cent.',
  }),
});

export const getReplay = defineEndpoint({
  operationId: 'getReplay',
  method: 'GET',
  path: '/replay/:address',
  tag: 'Depth',
  summary: 'Depth history of one token',
  description:
    'Support and resistance by market and price bin, snapshot by snapshot, in columns: cell i of a ' +
    'snapshot is item i of each of its arrays. A page holds up to ' +
    `${PAGE_LIMITS.maxCells.toLocaleString('en-US')} cells and ${PAGE_LIMITS.maxSnapshots} snapshots; ` +
    'to get the next one, send `next_from` as `from` with the same `to`, until `next_from` is null.',
  chain: { kind: 'none', at: { in: 'path', name: 'address' }, supported: CHAINS },
  query: replayParameters,
  response: document('ReplayPage', {
    token: tokenAddress,
    resolved_token: resolvedToken,
    chain: chainKey,
    window: document('ReplayWindow', {
      ...window,
      served_from: nullable(
        Type.Integer(),
        'Time of the first snapshot; null if the page is empty.',
      ),
      served_to: nullable(Type.Integer(), 'Time of the last snapshot; null if the page is empty.'),
    }),
    next_from: nullable(Type.Integer(), '`from` of the next page; null on the last page.'),
    group: word(REPLAY_GROUPS),
    filter: document('ReplayFilter', {
      types: keys,
      venues: keys,
      exclude_types: keys,
      exclude_venues: keys,
      venues_not_found: Type.Array(Type.String()),
    }),
    markets_mode: word(['split', 'aggregate']),
    min_pct: number('Lower end of the band, percent'),
    max_pct: number('Upper end of the band, percent'),
    bin_ratio: number('Ratio of the prices of neighbouring bins'),
    snapshot_count: count('Snapshots on the page'),
    row_count: count('Cells on the page'),
    markets: Type.Array(replayMarket, { description: 'Empty with `group=all`.' }),
    groups: Type.Array(replayGroup, {
      description: 'Empty unless `group` is `venue` or `type`.',
    }),
    facets: Type.Optional(facets),
    snapshots: Type.Array(replaySnapshot),
  }),
  smaller:
    'choose venues with few markets (`venues`, `types`), or send `group=all` without a filter, which names no market',
  errors: ['invalid_group', 'window_out_of_range', 'replay_busy'],
  prepares: [ARROW_STREAM],
});

/** Requests being planned or answered from fragments at one time; none of them waits for a thread. */
export const MAX_PAGES_IN_PREPARATION = 1024;

/** Makes the handler of GET /replay/:address. */
export function replayHandler(services: Services): Handler<typeof getReplay> {
  return async ({ exchange, key, token, query }) => {
    const nowS = services.clock.nowS();
    const request = replayRequest(token, query, nowS);
    const job = jobOf(services, exchange, request, negotiate(exchange), nowS);
    exchange.addHeader(...VARY);
    const kept = await keptReply(services, job);
    if (kept !== null) return answered(services, kept);
    const { plan, reply } = await prepare(services, job);
    if (reply !== null) return answered(services, reply);
    checkKnownNames(exchange, job.page.query, plan);
    const render = (run: RunTask) => renderPage(services, job, plan, run);
    const made = await services.pool.schedule('page', key.id, render, exchange);
    if (made !== null) services.onAnswered?.('pool');
    return made;
  };
}

/** Counts a reply that no thread has made. */
function answered({ onAnswered }: Services, reply: PreparedReply): PreparedReply {
  if (reply.status === 304) onAnswered?.('not_modified');
  else if (reply.body !== null) onAnswered?.('fragments');
  return reply;
}

/** A request, and the page that it asks for. */
interface PageJob {
  exchange: Exchange;
  request: ReplayRequest;
  /** The token whose snapshots the page shows; null if the token is unknown. */
  source: TokenRecord | null;
  page: PageIdentity;
  representation: Representation;
  nowS: number;
}

function jobOf(
  { depth }: Services,
  exchange: Exchange,
  request: ReplayRequest,
  representation: Representation,
  nowS: number,
): PageJob {
  const { source, leg } = sourceOf(depth, request);
  const page = pageIdentity(request, leg, representation);
  return { exchange, request, source, page, representation, nowS };
}

function planRequest({ source, request: { fromS, toS, stepS }, nowS }: PageJob): PageRequest {
  return { source, fromS, toS, stepS, nowS };
}

/** The reply with a kept page; null if none is kept, or if the client names another tag, which may be good as well. */
async function keptReply(
  { depth, fragments, keptPages, inPreparation }: Services,
  job: PageJob,
): Promise<PreparedReply | null> {
  const key = keyOfPage(depth, job);
  const page = key === null ? undefined : (keptPages.get(key) as KeptPage | undefined);
  if (page === undefined) return null;
  fragments?.store.touch(page.keys);
  if (job.exchange.header('if-none-match') !== '') return notModified(job, page.tag);
  // A digest that the client wants takes a copy of the page.
  const full = await prepared(inPreparation, () => fullReply(job, page.tag, page));
  return { ...full, isShared: true };
}

/** Plans the page, and replies at once if that needs no thread: 304, fragments, HEAD. */
function prepare(
  services: Services,
  job: PageJob,
): Promise<{ plan: PagePlan; reply: PreparedReply | null }> {
  return prepared(services.inPreparation, async () => {
    const key = keyOfPage(services.depth, job);
    const plan = await makePlan(services.depth, planRequest(job));
    return { plan, reply: await replyWithoutPool(services, job, plan, key) };
  });
}

async function replyWithoutPool(
  services: Services,
  job: PageJob,
  plan: PagePlan,
  key: string | null,
): Promise<PreparedReply | null> {
  const { exchange, request } = job;
  if (exchange.header('if-none-match') !== '') {
    for (const encoding of new Set([job.page.encoding, ...permittedEncodings(exchange)])) {
      const tag = await tagOf({ ...job, page: { ...job.page, encoding } }, plan);
      const unchanged = notModified(job, tag);
      if (unchanged !== null) return unchanged;
    }
  }
  // Fragments cover whole segments, and do not pay if pages use only a few snapshots of each.
  const fragments = request.stepS === undefined ? services.fragments : undefined;
  const assembled = await fragments?.page(plan, job.page);
  if (assembled) {
    const tag = await tagOf(job, plan);
    const reply = await fullReply(job, tag, assembled);
    // A commit in the meantime may or may not be in the plan.
    if (key === null || tag === null || keyOfPage(services.depth, job) !== key) return reply;
    keepPage(services.keptPages, key, { tag, ...assembled });
    return { ...reply, isShared: true };
  }
  // HEAD without Content-Length, which would take as much work as the page (RFC 9110, 9.3.2 allows it).
  return exchange.method === 'HEAD' ? pageReply(job, await tagOf(job, plan), null) : null;
}

/** Renders in the pool; null if the client has disconnected. */
function renderPage(
  { depth, blocks }: Services,
  job: PageJob,
  planned: PagePlan,
  run: RunTask,
): Promise<PreparedReply | null> {
  return withPlan(depth, planRequest(job), planned, async (plan) => {
    const made = await renderPlan(blocks, job.exchange, job.page, plan, run);
    return made && fullReply(job, await tagOf(job, plan), made);
  });
}

/** The page's tag; null for a window that reaches now. */
async function tagOf({ request, page, nowS }: PageJob, plan: PagePlan): Promise<string | null> {
  return request.toS < nowS ? entityTag(page, plan) : null;
}

/** The data that determine a reply's headers. */
export type ReplyJob = Pick<PageJob, 'exchange' | 'representation' | 'nowS'> & {
  request: Pick<ReplayRequest, 'toS' | 'moves'>;
};

/** 304 if the client names the tag of the reply that it would get; else null. */
export function notModified(
  { exchange, request, nowS }: ReplyJob,
  tag: string | null,
): PreparedReply | null {
  if (tag === null || !namesTag(exchange.header('if-none-match'), tag)) return null;
  return { status: 304, headers: cacheHeaders(request, nowS, tag), body: null };
}

/** A page's reply, with the start of the next page, and a digest of its body if the client wants one. */
export async function fullReply(
  job: ReplyJob,
  tag: string | null,
  { body, nextFrom }: MadePage,
): Promise<PreparedReply> {
  const { headers, ...reply } = pageReply(job, tag, body);
  const next: Headers = nextFrom === null ? [] : [['X-Next-From', String(nextFrom)]];
  const wanted = job.exchange.header('want-repr-digest');
  const digest = wanted === '' ? [] : await reprDigestHeaders(wanted, body);
  return { ...reply, headers: [...headers, ...next, ...digest] };
}

/** A page's reply; without a body for HEAD. */
export function pageReply(
  { request, representation, nowS }: ReplyJob,
  tag: string | null,
  body: Uint8Array | null,
): PreparedReply {
  const caching = cacheHeaders(request, nowS, tag);
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
