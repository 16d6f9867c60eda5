/** GET /depth-series/:address: depth within percents of the price over time. */
import Type from '../api/type.js';
import {
  namesOfSeries,
  SERIES_GROUPS,
  type SeriesEnvelope,
  type SeriesQuery,
  sumsOfQuery,
} from '../../compute/depth/series-document.js';
import { CHAINS } from '../../compute/market.js';
import type { RunTask } from '../../compute/pool.js';
import type { PagePlan } from '../../storage/contract.js';
import { Turns } from '../../storage/turns.js';
import { type Call, defineEndpoint, type Handler, type PreparedReply } from '../api/endpoint.js';
import { VARY } from '../api/replies.js';
import {
  chainKey,
  document,
  flag,
  nullable,
  number,
  positives,
  tokenAddress,
  usd,
  word,
} from '../api/schemas.js';
import { makePlan, type PageRequest, prepared, withPlan } from '../replay/page-plan.js';
import {
  filterParameters,
  filterWithNamedPerps,
  oldestServedS,
  STEP_NAMES,
  type Step,
  STEPS,
  windowOf,
  windowParameters,
} from '../replay/parameters.js';
import {
  fullReply,
  notModified,
  pageReply,
  replayGroup,
  type ReplyJob,
  window,
} from '../replay/replay.js';
import { entityTag } from '../replay/entity-tag.js';
import { ARROW_STREAM, negotiate } from '../replay/representation.js';
import { serviceScore } from '../tokens/token-fields.js';
import { scoresAt } from '../scores/score-history.js';
import {
  missingVenues,
  missingVenuesField,
  namedToken,
  resolvedToken,
  sourceOf,
} from './shown-token.js';
import { readSums } from './snapshot-sums.js';
import type { Services } from '../services.js';

/** Limits of one reply. */
const SERIES_LIMITS = {
  maxPoints: 2000,
  /** Amounts of either side: points times groups times percents. */
  maxAmounts: 200_000,
  maxSegments: 512,
} as const;
/** The most points with a default step. */
const DEFAULT_POINTS = 500;
const MAX_PERCENTS = 10;
const DEFAULT_PCT = [1, 2, 5, 10];

/** By percent and point; with `group`, by group first. */
const amounts = (description: string) =>
  Type.Union(
    [
      Type.Array(Type.Array(usd(description))),
      Type.Array(Type.Array(Type.Array(usd(description)))),
    ],
    {
      description: `${description}, USD: \`[pct][point]\`, with \`group\` \`[group][pct][point]\`.`,
    },
  );

export const getDepthSeries = defineEndpoint({
  operationId: 'getDepthSeries',
  method: 'GET',
  path: '/depth-series/:address',
  tag: 'Depth',
  summary: 'Depth near the price over time',
  description:
    'Support and resistance within some percent of the price, one point for each multiple of a step in the ' +
    'window, from the newest snapshot of that step. A step without a snapshot is left out. Perps count only if ' +
    '`types` or `venues` names them. ' +
    `A reply holds up to ${SERIES_LIMITS.maxPoints.toLocaleString('en-US')} points; to go on, send ` +
    '`next_from` as `from` with the same `to` and `step`, until `next_from` is null.',
  chain: { kind: 'none', at: { in: 'path', name: 'address' }, supported: CHAINS },
  query: Type.Object({
    ...windowParameters,
    step: Type.Optional(
      word(STEP_NAMES, {
        description: `Time between points. Default: the smallest that gives at most ${DEFAULT_POINTS} points.`,
      }),
    ),
    pct: positives(
      MAX_PERCENTS,
      `Percents of the price. Default: ${DEFAULT_PCT.join(',')}.`,
      DEFAULT_PCT,
      100,
    ),
    group: Type.Optional(
      word(SERIES_GROUPS, { description: 'How to group the markets. Default: all in one.' }),
    ),
    score: flag("Adds `score`: the token's score at the time of each point."),
    ...filterParameters,
  }),
  response: document('DepthSeries', {
    token: tokenAddress,
    chain: chainKey,
    resolved_token: resolvedToken,
    window: document('ReplayPlanWindow', window),
    step: word(STEP_NAMES),
    venues_not_found: missingVenuesField,
    pct: Type.Array(number('Percent of the price')),
    groups: Type.Optional(
      Type.Array(replayGroup, {
        description: 'Groups with depth in the reply. Absent without `group`.',
      }),
    ),
    t: Type.Array(Type.Integer(), {
      description: 'Points: multiples of the step, Unix epoch seconds.',
    }),
    snapshot_t: Type.Array(Type.Integer(), {
      description: 'Time of the snapshot of each point, Unix epoch seconds.',
    }),
    price_usd: Type.Array(usd('Price of the snapshot')),
    score: Type.Optional(
      Type.Array(serviceScore, {
        description:
          'With `score=true`: what `/score/:address?at=` returns at `t`, null if no score.',
      }),
    ),
    support_usd: amounts('Support within the percent below the price'),
    resistance_usd: amounts('Resistance within the percent above the price'),
    next_from: nullable(Type.Integer(), '`from` of the next reply; null on the last one.'),
  }),
  smaller: 'leave out `group`, or choose a shorter window, a longer `step`, or fewer `pct`',
  errors: ['window_out_of_range', 'replay_busy'],
  prepares: [ARROW_STREAM],
});

type SeriesCall = Call<typeof getDepthSeries>;

interface SeriesJob extends ReplyJob {
  plan: PageRequest;
  turns: Turns;
  stepS: number;
  /** As requested. */
  address: string;
  withScore: boolean;
  query: SeriesQuery;
  envelope: SeriesEnvelope;
}

export function depthSeriesHandler(services: Services): Handler<typeof getDepthSeries> {
  return async (call) => {
    const { exchange, key } = call;
    const job = seriesJob(services, call);
    exchange.addHeader(...VARY);
    const plan = await prepared(services.inPreparation, () =>
      makePlan(services.depth, job.plan, job.turns),
    );
    Object.assign(job.envelope, missingVenues(job.query, plan.markets));
    // The tag covers the scores, so they are looked up first.
    const tag = job.withScore ? null : await tagOf(job, plan, null);
    const early = job.withScore ? null : replyWithoutBody(job, tag);
    if (early !== null) return early;
    await job.turns.take();
    const render = (run: RunTask) => renderSeries(services, job, { plan, tag }, run);
    return services.pool.schedule('page', key.id, render, exchange);
  };
}

/** 304, or the reply to HEAD; null: the body is wanted. */
function replyWithoutBody(job: SeriesJob, tag: string | null): PreparedReply | null {
  const unchanged = notModified(job, tag);
  if (unchanged !== null) return unchanged;
  return job.exchange.method === 'HEAD' ? pageReply(job, tag, null) : null;
}

function seriesJob(
  { depth, clock }: Services,
  { exchange, token, query: parameters }: SeriesCall,
): SeriesJob {
  const nowS = clock.nowS();
  const request = windowOf(parameters, nowS);
  const { fromS, toS, clamped } = request;
  const filter = filterWithNamedPerps(parameters);
  const step = parameters.step ?? defaultStep(fromS, toS);
  const stepS = STEPS[step];
  const { source, leg } = sourceOf(depth, token);
  // The first point's snapshot may be older than the window, but not older than the history that is served.
  const firstS = Math.ceil(fromS / stepS) * stepS;
  const lastS = Math.ceil(toS / stepS) * stepS - stepS;
  return {
    exchange,
    request,
    representation: negotiate(exchange),
    nowS,
    stepS,
    address: token.address,
    withScore: parameters.score ?? false,
    turns: new Turns(),
    plan: {
      source,
      fromS: Math.max(firstS - stepS + 1, oldestServedS(nowS)),
      toS: lastS + 1,
      stepS,
      nowS,
      maxSnapshots: SERIES_LIMITS.maxPoints,
    },
    query: {
      ...filter,
      group: parameters.group ?? null,
      pct: parameters.pct ?? DEFAULT_PCT,
    },
    envelope: {
      ...namedToken(token, leg),
      window: { from: fromS, to: toS, clamped },
      step,
    },
  };
}

function defaultStep(fromS: number, toS: number): Step {
  const points = (stepS: number) => Math.ceil(toS / stepS) - Math.ceil(fromS / stepS);
  return STEP_NAMES.find((step) => points(STEPS[step]) <= DEFAULT_POINTS) ?? '1d';
}

/** The reply's tag; null for a window that reaches now. */
async function tagOf(
  { request, nowS, query, envelope, representation }: SeriesJob,
  plan: PagePlan,
  score: Score,
): Promise<string | null> {
  if (request.toS >= nowS) return null;
  const requested = score === null ? query : { ...query, score };
  return entityTag({ ...representation, query: requested, envelope }, plan);
}

/** By point; null: not requested. */
type Score = (number | null)[] | null;

/** Renders in the pool; null if the client has disconnected. */
function renderSeries(
  services: Services,
  job: SeriesJob,
  first: { plan: PagePlan; tag: string | null },
  run: RunTask,
): Promise<PreparedReply | null> {
  const { exchange, nowS, stepS, query, envelope, representation } = job;
  return withPlan(services.depth, job.plan, first.plan, async (plan) => {
    const { sums, groups } = sumsOfQuery(plan.markets, query);
    const length = pointsOfReply(plan, sums.groupCount * query.pct.length);
    const snapshots = plan.snapshots.slice(0, length);
    const pointOf = (t: number) => Math.ceil(t / stepS);
    const nextT = length < plan.snapshots.length ? plan.snapshots[length].t : plan.nextT;
    const nextFrom = nextT === null ? null : pointOf(nextT) * stepS;
    const point = snapshots.map((snapshot) => pointOf(snapshot.t));
    const t = point.map((number) => number * stepS);
    // The last point may lie ahead of the clock, and so may stored snapshots.
    const times = t.map((time) => Math.min(time, nowS));
    const score = job.withScore
      ? await scoresAt(services, job.address, times, stepS, run, exchange)
      : null;
    if (exchange.aborted) return null;
    const isTagged = plan === first.plan && !job.withScore;
    const tag = isTagged ? first.tag : await tagOf(job, plan, score);
    await job.turns.take();
    const early = job.withScore ? replyWithoutBody(job, tag) : null;
    if (early !== null) return early;
    const summed = snapshots.map(({ segment, row, t }, i) => ({
      point: point[i],
      segmentId: plan.segmentIds[segment],
      row,
      t,
    }));
    const key = JSON.stringify([job.plan.source?.tokenId, stepS, query, plan.markets.length]);
    const numbers = await readSums(services, { key, stepS, sums }, summed, run, exchange);
    if (numbers === null) return null;
    const { format, encoding } = representation;
    const snapshotT = snapshots.map((snapshot) => snapshot.t);
    const { groupCount } = sums;
    const named = namesOfSeries(groups, numbers, sums);
    exchange.checkNames(named.bytes);
    const points = { t, snapshotT, numbers, score };
    const { body } = await run(
      'encodeSeries',
      { ...points, groups: named.groups, groupCount, query, envelope, nextFrom, format, encoding },
      [numbers.buffer],
    );
    return fullReply(job, tag, { body, nextFrom });
  });
}

/** How many of the plan's snapshots fit into a reply. */
function pointsOfReply({ snapshots }: PagePlan, amountsOfPoint: number): number {
  const { maxAmounts, maxSegments } = SERIES_LIMITS;
  const most = Math.max(1, Math.floor(maxAmounts / Math.max(1, amountsOfPoint)));
  const segments = new Set<number>();
  for (const [i, { segment }] of snapshots.slice(0, most).entries()) {
    segments.add(segment);
    if (segments.size > maxSegments) return i;
  }
  return Math.min(most, snapshots.length);
}
