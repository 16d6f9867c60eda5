/** Joins the small segments that live ingest leaves into segments of the usual size. */
import { TIERS } from '../../compute/market.js';
import { MAX_SEGMENT_CELLS, MAX_SEGMENT_SNAPSHOTS } from '../../compute/segment/segment.js';
import type { Directory, SegmentRef, TierDirectory } from './directory.js';

/** This many tiny neighbours are joined even if they do not fill a segment. */
export const COMPACT_SEGMENTS = 8;
/** Segments joined at once: bounds the time of one join. */
const MAX_JOINED = 64;
/**
 * Segments up to these shares of a full one are tiny; the smallest are joined first. Each join writes
 * its segments again, and the file keeps the old copy until DuckDB reuses its space: in two stages a
 * collector's single snapshot is rewritten once, or twice if it is very small.
 */
const TINY_SHARES = [1 / 128, 1 / 16];
/** Segments up to this share of a full one are small. */
const SMALL_SHARE = 1 / 2;
/** SQL condition for tiny segments. */
export const IS_TINY = `cells <= ${TINY_SHARES[1] * MAX_SEGMENT_CELLS}
  AND octet_length(times) <= ${TINY_SHARES[1] * MAX_SEGMENT_SNAPSHOTS * Uint32Array.BYTES_PER_ELEMENT}`;

/** Neighbouring small segments: `from <= i < to` of their tier. */
interface SmallSegments {
  tier: SegmentRef['tier'];
  from: number;
  to: number;
}

/**
 * The first neighbours in a directory that are worth joining, or null.
 * @param damaged ids of segments that cannot be joined
 */
export function findSmallSegments(
  directory: Directory,
  damaged: ReadonlySet<number> = new Set(),
): SmallSegments | null {
  // What is archived stays so: joining it would bring it back.
  const shareOf = (ref: SegmentRef): number =>
    ref.isArchived || damaged.has(ref.segmentId) ? 1 : fullness(ref);
  for (const tier of TIERS) {
    const found = filling(directory[tier], shareOf) ?? tiny(directory[tier], shareOf);
    if (found !== null) return { tier, ...found };
  }
  return null;
}

/** Small neighbours that together fill a segment. */
function filling(segments: TierDirectory, shareOf: ShareOf): { from: number; to: number } | null {
  let from = 0;
  let filled = 0;
  for (let i = 0; i < segments.length; i++) {
    const share = shareOf(segments[i]);
    if (share > SMALL_SHARE) {
      from = i + 1;
      filled = 0;
      continue;
    }
    filled += share;
    if (filled >= 1) return { from, to: i + 1 };
    if (i + 1 - from === MAX_JOINED) filled -= shareOf(segments[from++]);
  }
  return null;
}

/** At least COMPACT_SEGMENTS tiny neighbours. */
function tiny(segments: TierDirectory, shareOf: ShareOf): { from: number; to: number } | null {
  for (const most of TINY_SHARES) {
    for (let from = 0, i = 0; i <= segments.length; i++) {
      const fits = i < segments.length && shareOf(segments[i]) <= most && i - from < MAX_JOINED;
      if (fits) continue;
      if (i - from >= COMPACT_SEGMENTS) return { from, to: i };
      from = i < segments.length && shareOf(segments[i]) <= most ? i : i + 1;
    }
  }
  return null;
}

type ShareOf = (ref: SegmentRef) => number;

/** How full a segment is. */
function fullness({ cells, times }: SegmentRef): number {
  return Math.max(cells / MAX_SEGMENT_CELLS, times.length / MAX_SEGMENT_SNAPSHOTS);
}
