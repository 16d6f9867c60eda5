/** Joins the small segments that live ingest leaves into segments of the usual size. */
import { TIERS } from '../../compute/market/market.js';
import { MAX_SEGMENT_CELLS, MAX_SEGMENT_SNAPSHOTS } from '../../compute/segment/split.js';
import type { Directory, SegmentRef, TierDirectory } from '../catalog/directory.js';

/** Neighbouring small segments that are worth joining. */
export const COMPACT_SEGMENTS = 8;
/** Segments joined at once, so that one join never takes long. */
const MAX_JOINED = 64;

/** A run of neighbouring small segments: `from <= i < to` of its tier. */
export interface SmallRun {
  tier: SegmentRef['tier'];
  from: number;
  to: number;
}

/** The first run of small neighbours in a directory that is worth joining, or null. */
export function findSmallRun(directory: Directory): SmallRun | null {
  for (const tier of TIERS) {
    const run = smallRunOf(directory[tier]);
    if (run !== null) return { tier, ...run };
  }
  return null;
}

function smallRunOf(segments: TierDirectory): { from: number; to: number } | null {
  let from = 0;
  for (let i = 0; i <= segments.length; i++) {
    if (i < segments.length && isSmall(segments[i]) && i - from < MAX_JOINED) continue;
    if (i - from >= COMPACT_SEGMENTS) return { from, to: i };
    from = i < segments.length && isSmall(segments[i]) ? i : i + 1;
  }
  return null;
}

function isSmall(segment: SegmentRef): boolean {
  return (
    segment.cells <= MAX_SEGMENT_CELLS / 2 && segment.times.length <= MAX_SEGMENT_SNAPSHOTS / 2
  );
}
