/** Decides which stored blocks to rewrite when snapshots are added and old ones thinned. */
import { isFullBlock } from '../../compute/holders/rewrite.js';
import type { HolderBlockRef } from './holder-blocks.js';

/** Changes in blocks rewritten at once: at 12 bytes each, 48 MiB. */
const MAX_REWRITE_CHANGES = 4 * 1024 * 1024;

/** Stored blocks `from <= i < to`, to be replaced by blocks of the snapshots at `times`. */
export interface PlannedRewrite {
  from: number;
  to: number;
  /** Ascending: the remaining stored snapshots and the added ones. */
  times: number[];
  adds: boolean;
  /** Whether it drops a stored snapshot. */
  drops: boolean;
}

/** The new content of one stored block, or of the gap between two. */
interface Candidate extends PlannedRewrite {
  changes: number;
}

/**
 * Plans the rewrites, ascending and without overlap.
 * @param refs the token's blocks, ascending
 * @param added times of the added snapshots, ascending; all are in `kept`
 * @param kept times of the added and stored snapshots that stay
 */
export function planRewrites(
  refs: readonly HolderBlockRef[],
  added: readonly number[],
  kept: ReadonlySet<number>,
): PlannedRewrite[] {
  const rewrites: Candidate[] = [];
  let current: Candidate | null = null;
  for (const candidate of candidatesOf(refs, added, kept)) {
    if (!candidate.adds && !candidate.drops) {
      current = null;
      continue;
    }
    if (current !== null && current.changes + candidate.changes <= MAX_REWRITE_CHANGES) {
      append(current, candidate);
    } else {
      current = { ...candidate };
      rewrites.push(current);
    }
  }
  joinToBlocksBefore(refs, rewrites);
  return rewrites;
}

function* candidatesOf(
  refs: readonly HolderBlockRef[],
  added: readonly number[],
  kept: ReadonlySet<number>,
): Generator<Candidate> {
  let a = 0;
  const addedBefore = (t: number): number[] => {
    const first = a;
    while (a < added.length && added[a] < t) a++;
    return added.slice(first, a);
  };
  const between = (at: number, times: number[]): Candidate[] =>
    times.length === 0 ? [] : [{ from: at, to: at, times, adds: true, drops: false, changes: 0 }];
  const lead = addedBefore(refs.length === 0 ? Infinity : refs[0].times[0]);
  // The first block takes earlier snapshots, so that a backfill from new to old fills it.
  const firstTakesLead = refs.length > 0 && !isFull(refs[0]);
  if (!firstTakesLead) yield* between(0, lead);
  for (const [i, ref] of refs.entries()) {
    const last = ref.times[ref.times.length - 1];
    const inside = addedBefore(last + 1);
    const after = addedBefore(i + 1 < refs.length ? refs[i + 1].times[0] : Infinity);
    const before = i === 0 && firstTakesLead ? lead : [];
    const full = isFull(ref);
    const mine = [...before, ...inside, ...(full ? [] : after)];
    const stay = [...ref.times].filter((t) => kept.has(t));
    yield {
      from: i,
      to: i + 1,
      times: merged(stay, mine),
      adds: mine.length > 0,
      drops: stay.length < ref.times.length,
      changes: stay.length === 0 ? 0 : ref.changes,
    };
    if (full) yield* between(i + 1, after);
  }
}

/** Joins a rewrite with the block before it if that one is not full: this merges thinned blocks. */
function joinToBlocksBefore(refs: readonly HolderBlockRef[], rewrites: PlannedRewrite[]): void {
  for (const [i, rewrite] of rewrites.entries()) {
    const { from, times } = rewrite;
    const isFree = from > 0 && (i === 0 || rewrites[i - 1].to < from);
    if (times.length === 0 || !isFree || isFull(refs[from - 1])) continue;
    rewrite.from--;
    rewrite.times = [...refs[from - 1].times, ...times];
  }
}

function append(into: Candidate, candidate: Candidate): void {
  into.to = candidate.to;
  into.times.push(...candidate.times);
  into.adds ||= candidate.adds;
  into.drops ||= candidate.drops;
  into.changes += candidate.changes;
}

function isFull({ times, changes, firstChanges }: HolderBlockRef): boolean {
  return isFullBlock({ snapshots: times.length, changes, firstChanges });
}

/** The times of both lists, ascending, without duplicates. */
function merged(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}
