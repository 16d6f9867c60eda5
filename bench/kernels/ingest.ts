/** What an ingest rests on: market states onto the ladder, and the segments that store them. */
import { binSnapshotLines, binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { joinRuns } from '../../compute/segment/merge.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { decodeSegment, encodeSegment, sliceRun, splitRun } from '../../compute/segment/segment.js';
import { benchCase, type BenchCase } from '../case.js';
import { BODY_KINDS, LEVELS_OF_BODY, bodyLines, bodyRows } from '../data/bodies.js';
import { type PageShape, tokenHistory } from '../data/pages.js';
import { digestOf, digestOfBatch, digestOfRun, digestOfRuns } from '../digest.js';

/** Snapshots that one operation bins. */
const SNAPSHOTS = 32;
const OPTIONS = { firstLine: 1, mode: 'replace' } as const;
/** Snapshots of the small runs that compaction joins. */
const SMALL_RUN_SNAPSHOTS = 6;

export function binningCases(): BenchCase[] {
  const bytes = bodyLines(SNAPSHOTS);
  return [
    ...BODY_KINDS.map((kind) => {
      const rows = bodyRows(kind, SNAPSHOTS);
      return benchCase({
        name: `binning/${kind}`,
        run: () => binSnapshotRows(rows, OPTIONS),
        digest: digestOfBatch,
        work: { snapshots: SNAPSHOTS, levels: SNAPSHOTS * LEVELS_OF_BODY[kind] },
      });
    }),
    benchCase({
      name: 'binning/lines of all kinds',
      run: () => binSnapshotLines({ bytes, ...OPTIONS }),
      digest: digestOfBatch,
      work: { snapshots: SNAPSHOTS },
      inputBytes: bytes.length,
    }),
  ];
}

export function segmentCases(shape: PageShape): BenchCase[] {
  const { run, markets } = tokenHistory(shape, shape.snapshots, 0);
  const pieces = splitRun(run);
  const blocks = pieces.map(encodeSegment);
  const blockBytes = blocks.reduce((sum, { length }) => sum + length, 0);
  const small = smallRuns(run).map((part) => ({ run: part, markets }));
  const work = { cells: run.bin.length };
  const prefix = `segments ${shape.name}`;
  return [
    benchCase({
      name: `${prefix}/encode`,
      run: () => pieces.map(encodeSegment),
      digest: digestOf,
      work,
      extra: () => ({ blockBytesPerCell: blockBytes / run.bin.length }),
    }),
    benchCase({
      name: `${prefix}/decode`,
      run: () => blocks.map(decodeSegment),
      digest: digestOfRuns,
      work,
    }),
    benchCase({
      name: `${prefix}/join small runs`,
      run: () => joinRuns(small, 'replace').run,
      digest: digestOfRun,
      work,
    }),
  ];
}

function smallRuns(run: SnapshotRun): SnapshotRun[] {
  const parts: SnapshotRun[] = [];
  for (let first = 0; first < run.t.length; first += SMALL_RUN_SNAPSHOTS) {
    parts.push(sliceRun(run, first, Math.min(run.t.length, first + SMALL_RUN_SNAPSHOTS)));
  }
  return parts;
}
