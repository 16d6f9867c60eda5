/** Which stored blocks are written anew when snapshots are added and others have aged. */
import { isFullBlock } from '../../compute/holders/rewrite.js';
import type { HolderBlockRef } from './holder-blocks.js';

/** Changes in the blocks that are rewritten at once: at 12 bytes each, 48 MiB. */
const MAX_REWRITE_CHANGES = 4 * 1024 * 1024;

/** Stored blocks `from <= i < to`, which the snapshots at `times` replace. */
export interface PlannedRewrite {
  from: number;
  to: number;
  /** Ascending: those that stay of the stored ones, and those that are added. */
  times: number[];
  adds: boolean;
  /** Whether anything that is stored is left out. */
  drops: boolean;
}

/** A stored block, or the gap between two of them, and what is to stand there. */
interface Candidate extends PlannedRewrite {
  changes: number;
}

/**
 * Plans the rewrites, ascending and apart from one another.
 * @param refs the token's blocks, ascending
 * @param added times of snapshots to be put in, ascending; all of them are kept
 * @param kept times that stay, of the added and the stored ones
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
  // The first block takes what comes before it, so that older ones coming last to first fill it.
  const takesLead = refs.length > 0 && !isFull(refs[0]);
  if (!takesLead) yield* between(0, lead);
  for (const [i, ref] of refs.entries()) {
    const last = ref.times[ref.times.length - 1];
    const inside = addedBefore(last + 1);
    const after = addedBefore(i + 1 < refs.length ? refs[i + 1].times[0] : Infinity);
    const before = i === 0 && takesLead ? lead : [];
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

/** A rewrite joins the block before it that has room, so that what thinning leaves comes together. */
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

/** Both lists' times, ascending, each once. */
function merged(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}
