/** The next message of a depth subscription: revisions, then deletions, then new snapshots (docs/live.md#order). */
import type { DepthRevision, DepthView, PagePlan } from '../../storage/contract.js';
import type { Progress } from './cursor.js';

/** Snapshots of one step: as many as a page may hold. */
const MAX_SNAPSHOTS = 288;
/** Deleted times of one message. */
const MAX_DELETED = 10_000;

/** The next message of a subscription, and the subscription's progress after it. */
export type Step =
  /** `after(n)` is the progress after the first n snapshots of the plan. */
  | { type: 'snapshots' | 'revised'; plan: PagePlan; after: (count: number) => Progress }
  | { type: 'deleted'; times: number[]; after: Progress }
  /** The cursor comes from another node of the cluster, and includes commits that this store does not have yet. */
  | { type: 'behind' }
  /** The subscription is up to date; `nextT`: when another snapshot becomes visible without a commit, or null. */
  | { type: 'none'; after: Progress; nextT: number | null };

/** A step with a message. */
export type UpdateStep = Exclude<Step, { type: 'none' | 'behind' }>;

/**
 * The next step of a subscription: first revisions, by commits since its position, of snapshots that the client has;
 * then snapshots that it does not have.
 */
export async function nextStep(progress: Progress, view: DepthView, nowS: number): Promise<Step> {
  const { position, pending } = progress;
  if (view.position < (pending?.upTo ?? position)) return { type: 'behind' };
  const upTo = pending?.upTo ?? view.position;
  const isRevised = view.lastRevision > position;
  const revisions = isRevised ? await view.revisionsAfter(position) : [];
  const own = revisions.filter((revision) => revision.position <= upTo);
  const revised = revisedBy(own, progress);
  const changed = changedTimes(revised, revisions.slice(own.length), view);
  const doneT = pending?.doneT ?? -1;
  const rest = changed.filter(({ t }) => t > doneT);
  const { fromS } = progress;
  const now: Progress = { position: upTo, nextFromS: revised.nextFromS, fromS, pending: null };
  if (rest.length > 0) {
    const lastT = rest[rest.length - 1].t;
    const after = (t: number): Progress =>
      t === lastT ? now : { ...progress, pending: { upTo, doneT: t } };
    return revisionStep(rest, view, after);
  }
  // More commits arrived while the subscription caught up with earlier ones.
  if (view.lastRevision > upTo) return nextStep(now, view, nowS);
  now.position = view.position;
  const plan = view.plan({ fromS: now.nextFromS, nowS, maxSnapshots: MAX_SNAPSHOTS });
  if (plan.snapshots.length === 0) return { type: 'none', after: now, nextT: view.nextT(nowS) };
  const after = (count: number): Progress => ({
    ...now,
    nextFromS: plan.snapshots[count - 1].t + 1,
  });
  return { type: 'snapshots', plan, after };
}

interface Revised {
  /** Times of the snapshots that the client has, and that were revised or deleted. */
  times: Set<number>;
  /** Where new snapshots continue: earlier than before if the last ones were deleted. */
  nextFromS: number;
}

function revisedBy(revisions: readonly DepthRevision[], { fromS, nextFromS }: Progress): Revised {
  const times = new Set<number>();
  for (const { times: changed, lastT } of revisions) {
    for (const t of changed) if (t >= fromS && t < nextFromS) times.add(t);
    if (lastT !== null) nextFromS = Math.max(fromS, Math.min(nextFromS, lastT + 1));
  }
  return { times, nextFromS };
}

/** The time of a revised or deleted snapshot. */
interface ChangedTime {
  t: number;
  isDeleted: boolean;
}

/**
 * @param later revisions whose own messages will cover the times that they change
 * @returns ascending
 */
function changedTimes(
  { times, nextFromS }: Revised,
  later: readonly DepthRevision[],
  view: DepthView,
): ChangedTime[] {
  if (times.size === 0) return [];
  const changedLater = new Set(later.flatMap((revision) => [...revision.times]));
  const kept = [...times].filter((t) => t >= nextFromS || !changedLater.has(t));
  const missing = new Set(view.planAt(kept).missing);
  return kept
    .sort((a, b) => a - b)
    .map((t) => ({ t, isDeleted: t >= nextFromS || missing.has(t) }));
}

/** The step for the first times that are all deleted, or all revised. */
function revisionStep(
  rest: readonly ChangedTime[],
  view: DepthView,
  after: (t: number) => Progress,
): Step {
  const [{ isDeleted }] = rest;
  const other = rest.findIndex((one) => one.isDeleted !== isDeleted);
  const same = rest.slice(0, other < 0 ? rest.length : other).map(({ t }) => t);
  if (isDeleted) {
    const times = same.slice(0, MAX_DELETED);
    return { type: 'deleted', times, after: after(times[times.length - 1]) };
  }
  const { plan } = view.planAt(same.slice(0, MAX_SNAPSHOTS));
  return { type: 'revised', plan, after: (count) => after(plan.snapshots[count - 1].t) };
}
