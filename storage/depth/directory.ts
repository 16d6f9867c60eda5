/** Which snapshots of one token are stored, which of them a page shows, and which is the newest. */
import { type Tier, TIER_LENGTH_S, TIERS } from '../../compute/market.js';
import type { NewestSnapshots, PagePlan, PlannedSnapshot, SnapshotRef } from '../contract.js';

/** One stored segment's entry. */
export interface SegmentRef {
  segmentId: number;
  tier: Tier;
  cells: number;
  /** Epoch seconds, ascending; never empty. */
  times: Uint32Array;
  bandCells: Uint32Array;
}

/** What an entry with its two columns' views takes in memory, and each of its snapshots. */
export const ENTRY_BYTES = 320;
export const SNAPSHOT_BYTES = 8;

/** Bytes that a segment's entry takes in memory. */
export const entryBytes = (snapshots: number): number => ENTRY_BYTES + SNAPSHOT_BYTES * snapshots;

/** Segments of one tier, ascending and without overlap. */
export type TierDirectory = readonly SegmentRef[];

/** A token's directory: immutable, a commit replaces it. */
export type Directory = Readonly<Record<Tier, TierDirectory>>;

export const EMPTY_DIRECTORY: Directory = { raw: [], '15m': [], '1h': [] };

/** First `t` of a segment. */
export const firstT = (segment: SegmentRef): number => segment.times[0];
/** Last `t` of a segment. */
const lastT = (segment: SegmentRef): number => segment.times[segment.times.length - 1];

/** Index of the first segment that ends at or after `t`; the length where none does. */
export function firstSegmentFrom(segments: TierDirectory, t: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (lastT(segments[middle]) < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Segments that hold, or lie around, a moment of `first..last`: `[from, to)` in the list. */
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

/** Index of the first time at or after `t`. */
function firstRowFrom(times: Uint32Array, t: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
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
      this.row = firstRowFrom(segments[this.segment].times, fromS);
    }
  }

  /** `t` of the snapshot it stands at, Infinity past the last one. */
  get t(): number {
    return this.segment < this.segments.length
      ? this.segments[this.segment].times[this.row]
      : Infinity;
  }

  /** The snapshot it stands at. */
  get snapshot(): { ref: SegmentRef; row: number } {
    return { ref: this.segments[this.segment], row: this.row };
  }

  next(): void {
    if (++this.row < this.segments[this.segment].times.length) return;
    this.segment++;
    this.row = 0;
  }
}

/** `t` of the first snapshot at or after `t`, Infinity where there is none. */
function timeFrom(segments: TierDirectory, t: number): number {
  const index = firstSegmentFrom(segments, t);
  return index === segments.length
    ? Infinity
    : segments[index].times[firstRowFrom(segments[index].times, t)];
}

/**
 * The next visible snapshots with `fromS <= t < toS`, at most `maxSnapshots`. A snapshot later than
 * `nowS` is not visible; a coarse one is hidden where a finer visible one of the token lies in
 * `[t, t + its length)`, inside the window or not (docs/definitions.md#replay-tiers).
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
    // Finest first: of two tiers at one moment the finer comes up, and the coarser is then hidden.
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
      snapshots.push({ segment, row, t, tier: cursor.tier, bandCells: ref.bandCells[row] });
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
 * The newest snapshot at `nowS` and the newest that is at least `delayS` old by then: the greatest
 * `t`, of two tiers with the same one the finer (docs/definitions.md#current-price).
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
    const row = firstRowFrom(times, atS + 1) - 1;
    if (newest === null || times[row] > newest.t) newest = { segmentId, row, t: times[row], tier };
  }
  return newest;
}

/** The first time of a snapshot later than `atS`, Infinity where there is none. */
function timeAfter(directory: Directory, atS: number): number {
  return Math.min(...TIERS.map((tier) => timeFrom(directory[tier], atS + 1)));
}
