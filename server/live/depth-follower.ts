/** The next message of a depth subscription: revisions, then deletions, then new snapshots (docs/live.md#order). */
import type { DepthRevision, DepthView, PagePlan } from '../../storage/contract.js';
import type { Standing } from './cursor.js';

/** Snapshots, or times, of one step: as many as a page may hold. */
const MAX_SNAPSHOTS = 288;
/** Deleted times of one message. */
const MAX_DELETED = 10_000;

/** The next message of a subscription, and where it stands once that is sent. */
export type Step =
  /** At most the plan's snapshots: `after(n)` is where it stands after the first n of them. */
  | { type: 'snapshots' | 'revised'; plan: PagePlan; after: (count: number) => Standing }
  | { type: 'deleted'; times: number[]; after: Standing }
  /** The client has heard of commits, from another node of a cluster, that this store has yet to make. */
  | { type: 'behind' }
  /** The subscription is up to date; `nextT`: when another snapshot becomes visible without a commit, or null. */
  | { type: 'none'; after: Standing; nextT: number | null };

/** A step that has something to tell. */
export type Telling = Exclude<Step, { type: 'none' | 'behind' }>;

/**
 * The next step of a subscription: first what the commits since its position have revised of the snapshots that it
 * has, then the snapshots that it does not have.
 */
export async function nextStep(standing: Standing, view: DepthView, nowS: number): Promise<Step> {
  const { position: toldUpTo, pending } = standing;
  if (view.position < (pending?.upTo ?? toldUpTo)) return { type: 'behind' };
  const upTo = pending?.upTo ?? view.position;
  const isRevised = view.lastRevision > standing.position;
  const revisions = isRevised ? await view.revisionsAfter(standing.position) : [];
  const own = revisions.filter(({ position }) => position <= upTo);
  const revised = revisedBy(own, standing);
  const toTell = timesToTell(revised, revisions.slice(own.length), view);
  const doneT = standing.pending?.doneT ?? -1;
  const rest = toTell.filter(({ t }) => t > doneT);
  if (rest.length > 0) {
    const after = (t: number): Standing => ({ ...standing, pending: { upTo, doneT: t } });
    return revisionStep(rest, view, after);
  }
  const { fromS } = standing;
  const now: Standing = { position: upTo, nextFromS: revised.nextFromS, fromS, pending: null };
  // More commits arrived while the subscription caught up with earlier ones.
  if (view.lastRevision > upTo) return nextStep(now, view, nowS);
  now.position = view.position;
  const plan = view.plan({ fromS: now.nextFromS, nowS, maxSnapshots: MAX_SNAPSHOTS });
  if (plan.snapshots.length === 0) return { type: 'none', after: now, nextT: view.nextT(nowS) };
  const after = (count: number): Standing => ({
    ...now,
    nextFromS: plan.snapshots[count - 1].t + 1,
  });
  return { type: 'snapshots', plan, after };
}

interface Revised {
  /** Times of the snapshots that the client has, and that were revised or deleted. */
  times: Set<number>;
  /** Where new snapshots go on: earlier than before if the last ones were deleted. */
  nextFromS: number;
}

function revisedBy(revisions: readonly DepthRevision[], { fromS, nextFromS }: Standing): Revised {
  const times = new Set<number>();
  for (const { times: changed, lastT } of revisions) {
    for (const t of changed) if (t >= fromS && t < nextFromS) times.add(t);
    if (lastT !== null) nextFromS = Math.max(fromS, Math.min(nextFromS, lastT + 1));
  }
  return { times, nextFromS };
}

/** A time to tell of, ascending. */
interface Told {
  t: number;
  isDeleted: boolean;
}

/** @param later revisions that come after these: their own messages cover what they change */
function timesToTell(
  { times, nextFromS }: Revised,
  later: readonly DepthRevision[],
  view: DepthView,
): Told[] {
  if (times.size === 0) return [];
  const changedLater = new Set(later.flatMap((revision) => [...revision.times]));
  const kept = [...times].filter((t) => t >= nextFromS || !changedLater.has(t));
  const missing = new Set(view.planAt(kept).missing);
  return kept
    .sort((a, b) => a - b)
    .map((t) => ({ t, isDeleted: t >= nextFromS || missing.has(t) }));
}

/** Tells of the first ones of a kind. */
function revisionStep(
  rest: readonly Told[],
  view: DepthView,
  after: (t: number) => Standing,
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
