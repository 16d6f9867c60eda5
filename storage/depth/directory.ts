/** A token's directory: which snapshots are stored, which of them pages show, and which is the newest. */
import { type Tier, TIER_LENGTH_S, TIERS } from '../../compute/market.js';
import { firstFrom, firstIndex } from '../../compute/search.js';
import type { NewestSnapshots, PagePlan, PlannedSnapshot, SnapshotRef } from '../contract.js';

/** The entry of one stored segment. */
export interface SegmentRef {
  segmentId: number;
  tier: Tier;
  cells: number;
  /** Epoch seconds, ascending; never empty. */
  times: Uint32Array;
  bandCells: Uint32Array;
  /** A digest of each snapshot's content. */
  digests: Uint32Array;
  /** Whether its block is in an object of the archive. */
  isArchived: boolean;
}

/** One snapshot of a directory. */
export interface Place {
  ref: SegmentRef;
  row: number;
}

/** Memory for an entry with the views of its columns, and for each of its snapshots. */
export const ENTRY_BYTES = 320;
export const SNAPSHOT_BYTES = 12;

export const entryBytes = (snapshots: number): number => ENTRY_BYTES + SNAPSHOT_BYTES * snapshots;

/** Segments of one tier, ascending and without overlap. */
export type TierDirectory = readonly SegmentRef[];

/** Immutable: a commit replaces the whole directory. */
export type Directory = Readonly<Record<Tier, TierDirectory>>;

/** A record with a value for each tier. */
export const byTier = <T>(of: (tier: Tier) => T): Record<Tier, T> => ({
  raw: of('raw'),
  '15m': of('15m'),
  '1h': of('1h'),
});

export const EMPTY_DIRECTORY: Directory = byTier(() => []);

export const firstT = (segment: SegmentRef): number => segment.times[0];
export const lastT = (segment: SegmentRef): number => segment.times[segment.times.length - 1];

/** Time of the last stored snapshot of any tier; -1 if there is none. */
export const lastTime = (directory: Directory): number =>
  Math.max(...TIERS.map((tier) => directory[tier].at(-1)).map((ref) => (ref ? lastT(ref) : -1)));

/** The times of segments that do not overlap, ascending. */
export function joinedTimes(parts: readonly Uint32Array[]): Uint32Array {
  const times = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of [...parts].sort((a, b) => a[0] - b[0])) {
    times.set(part, at);
    at += part.length;
  }
  return times;
}

/** The times up to `nowS`, by segment. */
export function visibleTimes(directory: Directory, nowS: number): Record<Tier, Uint32Array[]> {
  return byTier((tier) => {
    const segments = directory[tier];
    const end = firstSegmentFrom(segments, nowS + 1);
    const parts = segments.slice(0, end).map(({ times }) => times);
    if (end < segments.length && firstT(segments[end]) <= nowS) {
      const { times } = segments[end];
      parts.push(times.subarray(0, firstFrom(times, nowS + 1)));
    }
    return parts;
  });
}

/** Index of the first segment that ends at or after `t`; the length if none does. */
export function firstSegmentFrom(segments: TierDirectory, t: number): number {
  return firstIndex(0, segments.length, (i) => lastT(segments[i]) >= t);
}

/** The snapshot at `t`, or null if there is none. */
export function rowAt(segments: TierDirectory, t: number): Place | null {
  const index = firstSegmentFrom(segments, t);
  if (index === segments.length) return null;
  const ref = segments[index];
  const row = firstFrom(ref.times, t);
  return ref.times[row] === t ? { ref, row } : null;
}

/** Describes in words what a directory contains. */
export function coverageText(directory: Directory): string {
  const times = TIERS.flatMap((tier) => directory[tier].map((ref) => ref.times));
  const snapshots = times.reduce((sum, { length }) => sum + length, 0);
  if (snapshots === 0) return 'it has none at all';
  const firstS = times.reduce((first, own) => Math.min(first, own[0]), Infinity);
  const lastS = times.reduce((last, own) => Math.max(last, own[own.length - 1]), 0);
  const text = (t: number): string => new Date(t * 1000).toISOString();
  return `it has ${snapshots} snapshots from ${text(firstS)} to ${text(lastS)}`;
}

/** Segments whose span overlaps `first..last`: `[from, to)` in the list. */
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

/** Walks over the snapshots of one tier, forward in time. */
class Cursor {
  /** `t` of the current snapshot, Infinity past the last one. */
  t: number;
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
    this.t = this.segment < segments.length ? segments[this.segment].times[this.row] : Infinity;
  }

  get snapshot(): Place {
    return { ref: this.segments[this.segment], row: this.row };
  }

  next(): void {
    const { times } = this.segments[this.segment];
    if (++this.row < times.length) {
      this.t = times[this.row];
      return;
    }
    this.segment++;
    this.row = 0;
    this.t = this.segment < this.segments.length ? this.segments[this.segment].times[0] : Infinity;
  }
}

/** Time of the first snapshot at or after `t`, Infinity if there is none. */
function timeFrom(segments: TierDirectory, t: number): number {
  const index = firstSegmentFrom(segments, t);
  return index === segments.length
    ? Infinity
    : segments[index].times[firstFrom(segments[index].times, t)];
}

/** The window of a plan: `fromS <= t < toS`; a snapshot later than `nowS` is not visible. */
interface VisibleWindow {
  fromS: number;
  toS: number;
  nowS: number;
}

/**
 * The next visible snapshots in the window, at most `maxSnapshots`; with `stepS` only the newest of each step
 * (docs/definitions.md#steps).
 */
export function planSnapshots(
  directory: Directory,
  { stepS, maxSnapshots, ...window }: VisibleWindow & { stepS?: number; maxSnapshots: number },
): Omit<PagePlan, 'markets'> {
  const places =
    stepS === undefined
      ? visibleSnapshots(directory, window)
      : newestOfSteps(directory, window, stepS);
  return planOf(places, maxSnapshots);
}

function planOf(places: Iterable<Place>, maxSnapshots: number): Omit<PagePlan, 'markets'> {
  const segmentIds: number[] = [];
  const indexes = new Map<number, number>();
  const snapshots: PlannedSnapshot[] = [];
  let last: SegmentRef | null = null;
  let segment = 0;
  for (const { ref, row } of places) {
    const t = ref.times[row];
    if (snapshots.length === maxSnapshots) return { segmentIds, snapshots, nextT: t };
    if (ref !== last) {
      last = ref;
      segment = indexes.get(ref.segmentId) ?? segmentIds.push(ref.segmentId) - 1;
      indexes.set(ref.segmentId, segment);
    }
    const { tier, bandCells, digests } = ref;
    snapshots.push({ segment, row, t, tier, bandCells: bandCells[row], digest: digests[row] });
  }
  return { segmentIds, snapshots, nextT: null };
}

/** The shown snapshots at the given times. */
export function planSnapshotsAt(
  directory: Directory,
  times: Iterable<number>,
): Omit<PagePlan, 'markets'> {
  return planOf(snapshotsAt(directory, times), Infinity);
}

function* snapshotsAt(directory: Directory, times: Iterable<number>): Generator<Place> {
  for (const t of times) {
    yield* visibleSnapshots(directory, { fromS: t, toS: t + 1, nowS: Infinity });
  }
}

/**
 * A coarse snapshot is hidden by a finer visible one in `[t, t + its length)`, inside the window or not
 * (docs/definitions.md#replay-tiers).
 */
export function* visibleSnapshots(
  directory: Directory,
  { fromS, toS, nowS }: VisibleWindow,
): Generator<Place> {
  const end = Math.min(toS, nowS + 1);
  const cursors = TIERS.map((tier) => new Cursor(tier, directory[tier], fromS));
  for (;;) {
    // Finest first: at equal times the finer tier comes first, and then hides the coarser one.
    let cursor = cursors[0];
    for (const other of cursors) if (other.t < cursor.t) cursor = other;
    if (cursor.t >= end) return;
    if (timeOfHiding(directory, cursor.tier, cursor.t, nowS) === null) yield cursor.snapshot;
    cursor.next();
  }
}

/**
 * The newest visible snapshot of each interval `(k * stepS - stepS, k * stepS]`. Each interval takes a few binary
 * searches, however many snapshots it contains.
 */
function* newestOfSteps(
  directory: Directory,
  { fromS, toS, nowS }: VisibleWindow,
  stepS: number,
): Generator<Place> {
  const end = Math.min(toS, nowS + 1);
  for (let t = firstVisible(directory, fromS, nowS); t < end;) {
    const last = Math.min(Math.ceil(t / stepS) * stepS, end - 1);
    const newest = newestVisible(directory, last, nowS);
    if (newest !== null) yield newest;
    t = firstVisible(directory, last + 1, nowS);
  }
}

/** Time of the first visible snapshot at or after `fromS`, Infinity if there is none. */
function firstVisible(directory: Directory, fromS: number, nowS: number): number {
  for (let from = fromS; ;) {
    const times = TIERS.map((tier) => timeFrom(directory[tier], from));
    const t = Math.min(...times);
    if (t > nowS) return Infinity;
    const hidingT = timeOfHiding(directory, TIERS[times.indexOf(t)], t, nowS);
    if (hidingT === null) return t;
    // The hiding snapshot also hides every snapshot in between.
    from = hidingT;
  }
}

/** The newest visible snapshot at or before `lastS`, or null. */
function newestVisible(directory: Directory, lastS: number, nowS: number): Place | null {
  let newest: Place | null = null;
  let newestT = -Infinity;
  // Finest first: a coarser snapshot counts only if it is later.
  for (const tier of TIERS) {
    let place = lastBy(directory[tier], lastS);
    while (place !== null && place.ref.times[place.row] > newestT) {
      const t = place.ref.times[place.row];
      const hidingT = timeOfHiding(directory, tier, t, nowS);
      if (hidingT === null) [newest, newestT] = [place, t];
      // The hiding snapshot also hides every snapshot less than a tier's length before it.
      else place = lastBy(directory[tier], hidingT - TIER_LENGTH_S[tier]);
    }
  }
  return newest;
}

/** Time of the first finer snapshot that hides one of `tier` at `t`; null if there is none. */
function timeOfHiding(directory: Directory, tier: Tier, t: number, nowS: number): number | null {
  let first = Infinity;
  for (const finer of TIERS) {
    if (finer === tier) break;
    first = Math.min(first, timeFrom(directory[finer], t));
  }
  return first < t + TIER_LENGTH_S[tier] && first <= nowS ? first : null;
}

/** The last snapshot at or before `atS`, or null. */
function lastBy(segments: TierDirectory, atS: number): Place | null {
  let index = firstSegmentFrom(segments, atS + 1);
  if (index === segments.length || firstT(segments[index]) > atS) index--;
  if (index < 0) return null;
  const ref = segments[index];
  return { ref, row: firstFrom(ref.times, atS + 1) - 1 };
}

/**
 * The newest snapshot at `nowS`, and the newest one that is at least `delayS` old by then: greatest `t`,
 * at equal times the finer tier (docs/definitions.md#current-price).
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

/** The newest snapshot at or before `atS` that pages show at `nowS`; null if there is none. */
export function newestShownAt(directory: Directory, atS: number, nowS: number): SnapshotRef | null {
  const place = newestVisible(directory, Math.min(atS, nowS), nowS);
  return place && snapshotRef(place);
}

/** The newest snapshot by `atS`, otherwise the first one after it; null if the directory is empty. */
export function snapshotNear(directory: Directory, atS: number): SnapshotRef | null {
  return newestBy(directory, atS) ?? newestBy(directory, timeAfter(directory, atS));
}

function newestBy(directory: Directory, atS: number): SnapshotRef | null {
  let newest: SnapshotRef | null = null;
  // Finest first: a coarser snapshot replaces it only if it is later.
  for (const tier of TIERS) {
    const place = lastBy(directory[tier], atS);
    if (place === null) continue;
    const found = snapshotRef(place);
    if (newest === null || found.t > newest.t) newest = found;
  }
  return newest;
}

const snapshotRef = ({ ref: { segmentId, times, tier }, row }: Place): SnapshotRef => ({
  segmentId,
  row,
  t: times[row],
  tier,
});

/** Time of the first snapshot after `atS`, Infinity if there is none. */
export function timeAfter(directory: Directory, atS: number): number {
  return Math.min(...TIERS.map((tier) => timeFrom(directory[tier], atS + 1)));
}
