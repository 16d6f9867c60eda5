/** A token's directory: which snapshots are stored, which a page shows, and which is the newest. */
import { type Tier, TIER_LENGTH_S, TIERS } from '../../compute/market.js';
import { firstFrom, firstIndex } from '../../compute/search.js';
import type { NewestSnapshots, PagePlan, PlannedSnapshot, SnapshotRef } from '../contract.js';

/** One stored segment's entry. */
export interface SegmentRef {
  segmentId: number;
  tier: Tier;
  cells: number;
  /** Epoch seconds, ascending; never empty. */
  times: Uint32Array;
  bandCells: Uint32Array;
  /** What each snapshot holds, summed up. */
  digests: Uint32Array;
}

/** Memory of an entry with the views of its columns, and of each of its snapshots. */
export const ENTRY_BYTES = 320;
export const SNAPSHOT_BYTES = 12;

export const entryBytes = (snapshots: number): number => ENTRY_BYTES + SNAPSHOT_BYTES * snapshots;

/** Segments of one tier, ascending and without overlap. */
export type TierDirectory = readonly SegmentRef[];

/** Immutable: a commit replaces it. */
export type Directory = Readonly<Record<Tier, TierDirectory>>;

export const EMPTY_DIRECTORY: Directory = { raw: [], '15m': [], '1h': [] };

export const firstT = (segment: SegmentRef): number => segment.times[0];
export const lastT = (segment: SegmentRef): number => segment.times[segment.times.length - 1];

/** Index of the first segment that ends at or after `t`; the length if none does. */
export function firstSegmentFrom(segments: TierDirectory, t: number): number {
  return firstIndex(0, segments.length, (i) => lastT(segments[i]) >= t);
}

/** The snapshot at `t`, or null if there is none. */
export function rowAt(segments: TierDirectory, t: number): { ref: SegmentRef; row: number } | null {
  const index = firstSegmentFrom(segments, t);
  if (index === segments.length) return null;
  const ref = segments[index];
  const row = firstFrom(ref.times, t);
  return ref.times[row] === t ? { ref, row } : null;
}

/** What a directory holds, in words. */
export function coverageText(directory: Directory): string {
  const times = TIERS.flatMap((tier) => directory[tier].map((ref) => ref.times));
  const snapshots = times.reduce((sum, { length }) => sum + length, 0);
  if (snapshots === 0) return 'it has none at all';
  const firstS = times.reduce((first, own) => Math.min(first, own[0]), Infinity);
  const lastS = times.reduce((last, own) => Math.max(last, own[own.length - 1]), 0);
  const text = (t: number): string => new Date(t * 1000).toISOString();
  return `it has ${snapshots} snapshots from ${text(firstS)} to ${text(lastS)}`;
}

/** Segments whose span touches `first..last`: `[from, to)` in the list. */
export function overlapping(
  segments: TierDirectory,
  first: number,
  last: number,
): { from: number; to: number } {
  const from = firstSegmentFrom(segments, first);
  let to = from;
  while (to < segments.length && firstT(segments[to]) <= last) to++;
  return { from, to };
}

/** Walks the snapshots of one tier upward in time. */
class Cursor {
  private segment: number;
  private row = 0;

  constructor(
    readonly tier: Tier,
    private readonly segments: TierDirectory,
    fromS: number,
  ) {
    this.segment = firstSegmentFrom(segments, fromS);
    if (this.segment < segments.length) {
      this.row = firstFrom(segments[this.segment].times, fromS);
    }
  }

  /** `t` of the current snapshot, Infinity past the last one. */
  get t(): number {
    return this.segment < this.segments.length
      ? this.segments[this.segment].times[this.row]
      : Infinity;
  }

  get snapshot(): { ref: SegmentRef; row: number } {
    return { ref: this.segments[this.segment], row: this.row };
  }

  next(): void {
    if (++this.row < this.segments[this.segment].times.length) return;
    this.segment++;
    this.row = 0;
  }
}

/** Time of the first snapshot at or after `t`, Infinity if there is none. */
function timeFrom(segments: TierDirectory, t: number): number {
  const index = firstSegmentFrom(segments, t);
  return index === segments.length
    ? Infinity
    : segments[index].times[firstFrom(segments[index].times, t)];
}

/**
 * The next visible snapshots with `fromS <= t < toS`, at most `maxSnapshots`. A snapshot later than
 * `nowS` is not visible; a coarse one is hidden behind a finer visible one in `[t, t + its length)`,
 * inside the window or not (docs/definitions.md#replay-tiers).
 */
export function planSnapshots(
  directory: Directory,
  window: { fromS: number; toS: number; nowS: number; maxSnapshots: number },
): Omit<PagePlan, 'markets'> {
  const end = Math.min(window.toS, window.nowS + 1);
  const cursors = TIERS.map((tier) => new Cursor(tier, directory[tier], window.fromS));
  const segmentIds: number[] = [];
  const indexes = new Map<number, number>();
  const snapshots: PlannedSnapshot[] = [];
  for (;;) {
    // Finest first: at the same time the finer tier comes first, and then hides the coarser.
    let cursor = cursors[0];
    for (const other of cursors) if (other.t < cursor.t) cursor = other;
    const t = cursor.t;
    if (t >= end) return { segmentIds, snapshots, nextT: null };
    if (!isHidden(directory, cursor.tier, t, window.nowS)) {
      if (snapshots.length === window.maxSnapshots) return { segmentIds, snapshots, nextT: t };
      const { ref, row } = cursor.snapshot;
      let segment = indexes.get(ref.segmentId);
      if (segment === undefined) {
        segment = segmentIds.push(ref.segmentId) - 1;
        indexes.set(ref.segmentId, segment);
      }
      const [bandCells, digest] = [ref.bandCells[row], ref.digests[row]];
      snapshots.push({ segment, row, t, tier: cursor.tier, bandCells, digest });
    }
    cursor.next();
  }
}

function isHidden(directory: Directory, tier: Tier, t: number, nowS: number): boolean {
  const end = t + TIER_LENGTH_S[tier];
  for (const finer of TIERS.slice(0, TIERS.indexOf(tier))) {
    const found = timeFrom(directory[finer], t);
    if (found < end && found <= nowS) return true;
  }
  return false;
}

/**
 * The newest snapshot at `nowS`, and the newest that is at least `delayS` old by then: the greatest
 * `t`; at the same time the finer tier (docs/definitions.md#current-price).
 */
export function newestSnapshots(
  directory: Directory,
  nowS: number,
  delayS: number,
): NewestSnapshots {
  const next = Math.min(timeAfter(directory, nowS), timeAfter(directory, nowS - delayS) + delayS);
  return {
    newest: newestBy(directory, nowS),
    delayed: newestBy(directory, nowS - delayS),
    nextChangeS: next === Infinity ? null : next,
  };
}

function newestBy(directory: Directory, atS: number): SnapshotRef | null {
  let newest: SnapshotRef | null = null;
  // Finest first: a coarser one replaces it only if it is later.
  for (const tier of TIERS) {
    const segments = directory[tier];
    let index = firstSegmentFrom(segments, atS + 1);
    if (index === segments.length || firstT(segments[index]) > atS) index--;
    if (index < 0) continue;
    const { segmentId, times } = segments[index];
    const row = firstFrom(times, atS + 1) - 1;
    if (newest === null || times[row] > newest.t) newest = { segmentId, row, t: times[row], tier };
  }
  return newest;
}

/** Time of the first snapshot after `atS`, Infinity if there is none. */
function timeAfter(directory: Directory, atS: number): number {
  return Math.min(...TIERS.map((tier) => timeFrom(directory[tier], atS + 1)));
}
