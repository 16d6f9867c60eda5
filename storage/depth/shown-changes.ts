/** Which of a token's shown snapshots a commit changes. */
import { TIER_LENGTH_S, TIERS } from '../../compute/market.js';
import type { Turns } from '../turns.js';
import {
  type Directory,
  firstT,
  lastT,
  lastTime,
  type Place,
  type SegmentRef,
  visibleSnapshots,
} from './directory.js';

/** How a commit changes a token's shown snapshots, except for those after all earlier ones. */
interface ShownChanges {
  /** Times at which a different snapshot, or none, is shown now; ascending. */
  times: number[];
  /** Time of the last stored snapshot if the commit moved it back (-1: none is left); otherwise null. */
  lastT: number | null;
}

/**
 * Compares the shown snapshots of two directories (docs/definitions.md#replay-tiers) by time, tier and digest. Future
 * snapshots count as shown.
 * @param turns of the caller, who compares many tokens
 */
export async function shownChanges(
  before: Directory,
  after: Directory,
  turns: Turns,
): Promise<ShownChanges> {
  await turns.take();
  const times: number[] = [];
  const [lastBefore, lastAfter] = [lastTime(before), lastTime(after)];
  const span = changedSpan(before, after);
  const movedBackTo = lastAfter < lastBefore ? lastAfter : null;
  if (span === null) return { times, lastT: movedBackTo };
  const window = { ...span, nowS: Infinity };
  const [olds, news] = [visibleSnapshots(before, window), visibleSnapshots(after, window)];
  let [old, now] = [olds.next(), news.next()];
  while (old.done !== true || now.done !== true) {
    const oldT = old.done === true ? Infinity : timeOf(old.value);
    const nowT = now.done === true ? Infinity : timeOf(now.value);
    const t = Math.min(oldT, nowT);
    if (t > lastBefore) break;
    if (oldT !== nowT || !isSame(old.value as Place, now.value as Place)) times.push(t);
    if (oldT === t) old = olds.next();
    if (nowT === t) now = news.next();
    await turns.take();
  }
  return { times, lastT: movedBackTo };
}

/** The window outside which both directories show the same; null if they have the same segments. */
function changedSpan(before: Directory, after: Directory): { fromS: number; toS: number } | null {
  let fromS = Infinity;
  let toS = -Infinity;
  const add = (ref: SegmentRef): void => {
    fromS = Math.min(fromS, firstT(ref));
    toS = Math.max(toS, lastT(ref) + 1);
  };
  for (const tier of TIERS) {
    const old = new Set(before[tier]);
    const kept = new Set(after[tier]);
    for (const ref of after[tier]) if (!old.has(ref)) add(ref);
    for (const ref of before[tier]) if (!kept.has(ref)) add(ref);
  }
  if (fromS > toS) return null;
  // A snapshot hides coarser ones up to their length before it.
  return { fromS: fromS - Math.max(...TIERS.map((tier) => TIER_LENGTH_S[tier])), toS };
}

const timeOf = ({ ref, row }: Place): number => ref.times[row];

const isSame = (a: Place, b: Place): boolean =>
  a.ref === b.ref || (a.ref.tier === b.ref.tier && a.ref.digests[a.row] === b.ref.digests[b.row]);
