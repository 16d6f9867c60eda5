/** Which stored blocks have to be written anew when snapshots come and others have aged. */
import { isFullBlock } from '../../compute/holders/rewrite.js';
import type { HolderBlockRef } from './holder-blocks.js';

/** Changes in the blocks that are rewritten at once: at 12 bytes each, 48 MiB. */
const MAX_REWRITE_CHANGES = 4 * 1024 * 1024;

/** Stored blocks `from <= i < to`, in whose place the snapshots at `times` are put. */
export interface PlannedRewrite {
  from: number;
  to: number;
  /** Ascending: those that stay of the stored ones, and those that are added. */
  times: number[];
  adds: boolean;
  /** Whether anything that is stored is left out. */
  drops: boolean;
}

/** A stored block, or the place between two of them, and what is to stand there. */
interface Part extends PlannedRewrite {
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
  const rewrites: Part[] = [];
  let current: Part | null = null;
  for (const part of partsOf(refs, added, kept)) {
    if (!part.adds && !part.drops) {
      current = null;
      continue;
    }
    if (current !== null && current.changes + part.changes <= MAX_REWRITE_CHANGES) {
      append(current, part);
    } else {
      current = { ...part };
      rewrites.push(current);
    }
  }
  joinToBlocksBefore(refs, rewrites);
  return rewrites;
}

function* partsOf(
  refs: readonly HolderBlockRef[],
  added: readonly number[],
  kept: ReadonlySet<number>,
): Generator<Part> {
  let a = 0;
  const addedBefore = (t: number): number[] => {
    const first = a;
    while (a < added.length && added[a] < t) a++;
    return added.slice(first, a);
  };
  const between = (at: number, times: number[]): Part[] =>
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

function append(into: Part, part: Part): void {
  into.to = part.to;
  into.times.push(...part.times);
  into.adds ||= part.adds;
  into.drops ||= part.drops;
  into.changes += part.changes;
}

function isFull({ times, changes, firstChanges }: HolderBlockRef): boolean {
  return isFullBlock({ snapshots: times.length, changes, firstChanges });
}

/** Both lists' times, ascending, each once. */
function merged(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}
