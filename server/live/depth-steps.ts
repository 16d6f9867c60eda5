/** The next message of a depth subscription: deletions, then revisions, then new snapshots (docs/live.md#order). */
import { firstFrom } from '../../compute/search.js';
import { HOUR_S } from '../../compute/time.js';
import type { DepthView, PagePlan, RevisedTimes } from '../../storage/contract.js';
import { Turns } from '../../storage/turns.js';
import { oldestServedS } from '../replay/parameters.js';
import type { Progress } from './cursor.js';

/** Snapshots that are older than this are history, also if they are revised or come late. */
const HISTORY_AFTER_S = HOUR_S;
/** Snapshots of one step: as many as a page may hold. */
const MAX_SNAPSHOTS = 288;
/** Deleted times of one message. */
const MAX_DELETED = 10_000;

/** The next message of a subscription, and the subscription's progress after it. */
export type Step =
  /** `after(n)` is the progress after the first n snapshots of the plan; `isOld`: they cost as history does. */
  | {
      type: 'snapshots' | 'revised';
      plan: PagePlan;
      isOld: boolean;
      after: (count: number) => Progress;
    }
  | { type: 'deleted'; times: number[]; after: Progress }
  /** Revisions since the subscription's position are forgotten, or it is a position of another history. */
  | { type: 'forgotten'; after: Progress }
  /** The cursor comes from another node of the cluster, and includes commits that this store does not have yet. */
  | { type: 'behind' }
  /** The subscription is up to date; `nextT`: when another snapshot becomes visible without a commit, or null. */
  | { type: 'none'; after: Progress; nextT: number | null };

/** A step with an update as its message. */
export type UpdateStep = Exclude<Step, { type: 'none' | 'behind' | 'forgotten' }>;

/**
 * The next step of a subscription: first revisions, by commits since its position, of snapshots that the client has;
 * then snapshots that it does not have. Neither are older than the history that is served. A step costs as much as its
 * message, however many snapshots are revised.
 */
export async function nextStep(progress: Progress, view: DepthView, nowS: number): Promise<Step> {
  const { history, position, pending, fromS } = progress;
  if (history !== view.history) return forgotten(progress, view);
  if (view.position < (pending?.upTo ?? position)) return { type: 'behind' };
  const oldestS = oldestServedS(nowS);
  const upTo = pending?.upTo ?? view.position;
  let { nextFromS } = progress;
  if (view.lastRevision > position) {
    const firstS = Math.max(fromS, oldestS, (pending?.doneT ?? -1) + 1);
    const request = { after: position, upTo, fromS: firstS, toS: nextFromS };
    const revised = await view.revised(request);
    if (revised === null) return forgotten(progress, view);
    if (revised.lastT !== null) {
      nextFromS = Math.max(fromS, Math.min(nextFromS, revised.lastT + 1));
    }
    const now: Progress = { history, position: upTo, nextFromS, fromS, pending: null };
    if (revised.first < revised.end) {
      return revisionStep(revised, view, progress, now, nowS);
    }
    // More commits arrived while the subscription caught up with earlier ones.
    if (view.lastRevision > upTo) return nextStep(now, view, nowS);
  }
  const now: Progress = { history, position: view.position, nextFromS, fromS, pending: null };
  const window = { fromS: Math.max(nextFromS, oldestS), nowS, maxSnapshots: MAX_SNAPSHOTS };
  const plan = view.plan(window);
  if (plan.snapshots.length === 0) return { type: 'none', after: now, nextT: view.nextT(nowS) };
  const after = (count: number): Progress => ({
    ...now,
    nextFromS: plan.snapshots[count - 1].t + 1,
  });
  return { type: 'snapshots', plan, isOld: isOld(plan.snapshots[0].t, nowS), after };
}

/** The subscription continues with new snapshots. */
function forgotten({ fromS, nextFromS }: Progress, { history, position }: DepthView): Step {
  return { type: 'forgotten', after: { history, position, nextFromS, fromS, pending: null } };
}

/**
 * The step for the first revised times. Deletions come first, with those between revised snapshots: a prune deletes many
 * raw snapshots between the coarser ones that stay. Where nothing is deleted, steps end at the same times for all
 * subscriptions, which then share them.
 * @param now the progress after all revisions up to the step's
 */
async function revisionStep(
  { times, first, end, nextS }: RevisedTimes,
  view: DepthView,
  progress: Progress,
  now: Progress,
  nowS: number,
): Promise<Step> {
  const lastT = nextS === Infinity ? times[end - 1] : Infinity;
  const toldT = progress.pending?.deletedT ?? -1;
  const after = (doneT: number, deletedT: number): Progress => {
    if (doneT === lastT) return now;
    const pending = { upTo: now.position, doneT, deletedT: Math.max(doneT, deletedT) };
    return { ...progress, pending };
  };
  const chunkAt = (at: number, most: number) => {
    const stop = Math.min(most, at - (at % MAX_SNAPSHOTS) + MAX_SNAPSHOTS);
    const some = times.subarray(at, stop);
    // The snapshots that are shown after the last one that is left will be new ones.
    const plan = view.planAt(some.subarray(0, firstFrom(some, now.nextFromS)));
    return { stop, some, plan, shown: plan.snapshots.map(({ t }) => t) };
  };
  const turns = new Turns();
  const isTold = times[first] <= toldT;
  const most = isTold ? firstFrom(times, toldT + 1, first, end) : end;
  let chunk = chunkAt(first, most);
  if (!isTold && chunk.shown.length < chunk.some.length) {
    const deleted: number[] = [];
    let firstShown = Infinity;
    let { stop } = chunk;
    for (;;) {
      const { some, shown } = chunk;
      const isShown = new Set(shown);
      for (const t of some) if (!isShown.has(t)) deleted.push(t);
      if (firstShown === Infinity && shown.length > 0) [firstShown] = shown;
      ({ stop } = chunk);
      if (stop === most || deleted.length + MAX_SNAPSHOTS > MAX_DELETED) break;
      await turns.take();
      chunk = chunkAt(stop, most);
      if (chunk.shown.length === chunk.some.length) break;
    }
    const deletedT = times[stop - 1];
    const doneT = Math.min(deletedT, firstShown - 1);
    return { type: 'deleted', times: deleted, after: after(doneT, deletedT) };
  }
  // What is left between deletions that were told.
  const { shown } = chunk;
  let { plan, stop } = chunk;
  while (isTold && stop < most) {
    await turns.take();
    chunk = chunkAt(stop, most);
    if (shown.length + chunk.shown.length > MAX_SNAPSHOTS) break;
    shown.push(...chunk.shown);
    ({ stop } = chunk);
  }
  const doneT = times[stop - 1];
  // Later commits have changed all of it once more.
  if (shown.length === 0) return nextStep(after(doneT, toldT), view, nowS);
  if (shown.length > plan.snapshots.length) plan = view.planAt(shown);
  return {
    type: 'revised',
    plan,
    isOld: isOld(shown[0], nowS),
    after: (count) => after(count === shown.length ? doneT : shown[count - 1], toldT),
  };
}

const isOld = (t: number, nowS: number): boolean => t < nowS - HISTORY_AFTER_S;
