/** Encodes, decodes and joins the segments of a page. */
import { joinRuns } from '../../compute/segment/merge.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { decodeSegment, encodeSegment, sliceRun, splitRun } from '../../compute/segment/segment.js';
import { benchCase, type BenchCase } from '../case.js';
import type { PageShape, TokenHistory } from '../data/pages.js';
import { digestOf, digestOfRun, digestOfRuns } from '../digest.js';

/** Snapshots of the small runs that compaction joins. */
const SMALL_RUN_SNAPSHOTS = 6;

export function segmentCases(shape: PageShape, { run, markets }: TokenHistory): BenchCase[] {
  const pieces = splitRun(run);
  const blocks = pieces.map(encodeSegment);
  const cells = run.bin.length;
  const bytes = bytesOf(blocks);
  const small = smallRuns(run).map((part) => ({ run: part, markets }));
  const halves = [0, 1].map((half) => ({ run: halfOfMarkets(run, half), markets }));
  const work = { cells };
  return [
    benchCase({
      name: `segments ${shape.name}/encode`,
      run: () => pieces.map(encodeSegment),
      digest: digestOf,
      work,
      extra: () => ({ segments: blocks.length, blockBytesPerCell: bytes / cells }),
      counters: (encoded) => ({ segments: encoded.length, blockBytes: bytesOf(encoded) }),
    }),
    benchCase({
      name: `segments ${shape.name}/decode`,
      run: () => blocks.map(decodeSegment),
      digest: digestOfRuns,
      work,
      extra: () => ({ segments: blocks.length }),
      counters: (runs) => ({ cellsDecoded: cellsOf(runs) }),
    }),
    benchCase({
      name: `segments ${shape.name}/joinRuns replace`,
      run: () => joinRuns(small, 'replace').run,
      digest: digestOfRun,
      work,
      extra: () => ({ runs: small.length }),
    }),
    benchCase({
      name: `segments ${shape.name}/joinRuns merge`,
      run: () => joinRuns(halves, 'merge').run,
      digest: digestOfRun,
      work,
      extra: () => ({ runs: halves.length }),
    }),
  ];
}

const bytesOf = (blocks: readonly Uint8Array[]): number =>
  blocks.reduce((sum, block) => sum + block.length, 0);
const cellsOf = (runs: readonly SnapshotRun[]): number =>
  runs.reduce((sum, run) => sum + run.bin.length, 0);

function smallRuns(run: SnapshotRun): SnapshotRun[] {
  const parts: SnapshotRun[] = [];
  for (let first = 0; first < run.t.length; first += SMALL_RUN_SNAPSHOTS) {
    parts.push(sliceRun(run, first, Math.min(run.t.length, first + SMALL_RUN_SNAPSHOTS)));
  }
  return parts;
}

/** The snapshots with only every other market, as one of two collectors sends them. */
function halfOfMarkets(run: SnapshotRun, half: number): SnapshotRun {
  const keeps = (_: unknown, i: number): boolean => run.market[i] % 2 === half;
  const cellOffsets = new Int32Array(run.cellOffsets.length);
  for (let s = 0; s < run.t.length; s++) {
    const own = run.market.subarray(run.cellOffsets[s], run.cellOffsets[s + 1]);
    cellOffsets[s + 1] = cellOffsets[s] + own.filter((m) => m % 2 === half).length;
  }
  return {
    ...run,
    cellOffsets,
    market: run.market.filter(keeps),
    bin: run.bin.filter(keeps),
    supportCents: run.supportCents.filter(keeps),
    resistanceCents: run.resistanceCents.filter(keeps),
  };
}
