import { describe, expect, it } from 'vitest';
import { MAX_SEGMENT_CELLS, MAX_SEGMENT_SNAPSHOTS } from '../../compute/segment/segment.js';
import { EMPTY_DIRECTORY, type SegmentRef } from '../../storage/depth/directory.js';
import { findSmallSegments } from '../../storage/depth/compaction.js';
import { segmentRef } from '../support/runs.js';

/** Segments of this many snapshots each, all equally wide. */
function refsOf(snapshots: readonly number[], width: number): SegmentRef[] {
  let t = 0;
  return snapshots.map((count, i) =>
    segmentRef(
      i,
      Array.from({ length: count }, () => ++t),
      { cells: count * width },
    ),
  );
}

/** What joining makes of `count` snapshots: splitRun cuts as greedily. */
function cut(count: number, width: number): number[] {
  const most = Math.max(1, Math.min(MAX_SEGMENT_SNAPSHOTS, Math.floor(MAX_SEGMENT_CELLS / width)));
  const pieces: number[] = [];
  for (let left = count; left > 0; left -= most) pieces.push(Math.min(left, most));
  return pieces;
}

/** Single snapshots arrive one by one and are joined after each. */
function collect(commits: number, width: number) {
  let segments: number[] = [];
  let written = 0;
  let most = 0;
  for (let i = 0; i < commits; i++) {
    segments = [...segments, 1];
    for (;;) {
      const run = findSmallSegments({ ...EMPTY_DIRECTORY, raw: refsOf(segments, width) });
      if (run === null) break;
      const joined = segments.slice(run.from, run.to).reduce((sum, count) => sum + count, 0);
      const pieces = cut(joined, width);
      // Otherwise it would join the same ones forever.
      expect(pieces.length).toBeLessThan(run.to - run.from);
      segments.splice(run.from, run.to - run.from, ...pieces);
      written += joined;
    }
    const full = cut(i + 1, width).length;
    most = Math.max(most, segments.length - full);
  }
  return { segments, rewrites: written / commits, most };
}

describe('A collector that commits single snapshots', () => {
  for (const width of [2, 40, 347, 1200, 5000, 8000]) {
    it(`has each of ${width} cells rewritten only a few times, and keeps few small segments`, () => {
      const { segments, rewrites, most } = collect(1000, width);
      expect(segments.reduce((sum, count) => sum + count, 0)).toBe(1000);
      expect(rewrites).toBeLessThan(3.2);
      expect(most).toBeLessThan(24);
    });
  }

  it('keeps snapshots as they are if each fills half a segment', () => {
    expect(collect(50, 9000)).toMatchObject({ rewrites: 0, segments: new Array(50).fill(1) });
  });
});
