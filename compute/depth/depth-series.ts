/** Sums of the snapshots behind the points of a series, one list of numbers per snapshot (docs/definitions.md#depth-series). */
import { BIN_COUNT, binsOfBand, MIN_BIN } from '../ladder.js';
import {
  decodeSampleRun,
  decodeRun,
  type StopIfCancelled,
  untilCancelled,
} from '../replay/render.js';
import { SCORE_BINS, scoreLadder, type ScoreLadder } from '../scores/score.js';
import { firstFrom } from '../search.js';
import type { RunColumns } from '../segment/run.js';
import type { StoredBlock } from '../segment/segment.js';

/** Depth within percents of the price. */
export interface DepthWithin {
  kind: 'within';
  /** By market: the group to which its cells count, -1 if they do not count. */
  slot: Int32Array;
  groupCount: number;
  /** Percents of the price, each in (0, 100]. */
  pct: readonly number[];
}

interface LadderOfScore {
  kind: 'score';
  /** By market: 1 if it counts, otherwise 0. */
  mask: Uint8Array;
}

/**
 * What to sum for each snapshot. Its numbers: the price in USD; then cents of support, then cents of resistance, by
 * group and percent, or by the score's bins.
 */
export type SnapshotSums = DepthWithin | LadderOfScore;

/** How many numbers there are per snapshot. */
export function widthOfSums(sums: SnapshotSums): number {
  return 1 + 2 * (sums.kind === 'score' ? SCORE_BINS : sums.groupCount * sums.pct.length);
}

/** The ladder of the snapshot whose numbers start at `at`. */
export function ladderOfSums(numbers: Float64Array, at: number): ScoreLadder {
  const middle = at + 1 + SCORE_BINS;
  return {
    supportCents: numbers.subarray(at + 1, middle),
    resistanceCents: numbers.subarray(middle, middle + SCORE_BINS),
  };
}

/** Plain data that can cross threads. */
export interface SumsInput {
  segments: readonly (Uint8Array | { sample: StoredBlock })[];
  /** The snapshots: index of the segment, row in the segment, and time. */
  selection: { run: readonly number[]; row: readonly number[]; t: readonly number[] };
  sums: SnapshotSums;
  /** In shared memory: the task ends once element 0 is not 0. */
  cancel?: Int32Array;
}

type SumsResult = { status: 'done'; numbers: Float64Array<ArrayBuffer> } | { status: 'cancelled' };

/**
 * The numbers of some snapshots in sequence: a task of the pool. It decodes one segment at a time. If a segment's
 * sample lacks a snapshot, that snapshot's numbers begin with NaN.
 * @throws Error if a segment is damaged
 */
export function sumSnapshots(input: SumsInput): SumsResult {
  return untilCancelled(input, (stopIfCancelled): SumsResult => {
    return { status: 'done', numbers: numbersOf(input, stopIfCancelled) };
  });
}

function numbersOf(
  { segments, selection, sums }: SumsInput,
  stopIfCancelled: StopIfCancelled,
): Float64Array<ArrayBuffer> {
  const width = widthOfSums(sums);
  const count = selection.row.length;
  const numbers = new Float64Array(count * width);
  const add = sums.kind === 'score' ? addScoreLadder(sums) : addDepthWithin(sums);
  const ofSegment = segments.map((): number[] => []);
  for (let i = 0; i < count; i++) ofSegment[selection.run[i]].push(i);
  segments.forEach((segment, s) => {
    stopIfCancelled();
    const isSample = 'sample' in segment;
    const run = isSample ? decodeSampleRun(segment.sample) : decodeRun(segment);
    for (const i of ofSegment[s]) {
      const row = isSample ? rowOfTime(run, selection.t[i]) : selection.row[i];
      numbers[i * width] = run?.priceUsd[row] ?? NaN;
      if (run !== null && row >= 0) add(run, row, numbers, i * width + 1);
    }
  });
  return numbers;
}

/** The row of the snapshot at exactly this time; -1 if there is none. */
function rowOfTime(run: RunColumns | null, t: number): number {
  if (run === null) return -1;
  const row = firstFrom(run.t, t);
  return run.t[row] === t ? row : -1;
}

/** Writes the cents of a snapshot from index `at` on. */
type AddSnapshot = (run: RunColumns, row: number, numbers: Float64Array, at: number) => void;

function addScoreLadder({ mask }: LadderOfScore): AddSnapshot {
  return (run, row, numbers, at) => {
    const [from, to] = [run.cellOffsets[row], run.cellOffsets[row + 1]];
    const cells = {
      market: run.market.subarray(from, to),
      bin: run.bin.subarray(from, to),
      supportCents: run.supportCents.subarray(from, to),
      resistanceCents: run.resistanceCents.subarray(from, to),
    };
    const { supportCents, resistanceCents } = scoreLadder(cells, mask);
    numbers.set(supportCents, at);
    numbers.set(resistanceCents, at + supportCents.length);
  };
}

/** Sums in doubles are exact: a snapshot's total is below 2^53 cents (MAX_SNAPSHOT_CENTS). */
function addDepthWithin({ slot, groupCount, pct }: DepthWithin): AddSnapshot {
  const ascending = pct.map((_, p) => p).sort((a, b) => pct[a] - pct[b]);
  const { support, resistance } = narrowestOfBins(ascending.map((p) => pct[p]));
  const width = pct.length + 1;
  // By group: depth within each percent but not within a narrower one; the last item is beyond all percents.
  const ownSupport = new Float64Array(groupCount * width);
  const ownResistance = new Float64Array(groupCount * width);
  return (run, row, numbers, at) => {
    ownSupport.fill(0);
    ownResistance.fill(0);
    const end = run.cellOffsets[row + 1];
    for (let i = run.cellOffsets[row]; i < end; i++) {
      const group = slot[run.market[i]];
      if (group < 0) continue;
      const b = run.bin[i] - MIN_BIN;
      ownSupport[group * width + support[b]] += run.supportCents[i];
      ownResistance[group * width + resistance[b]] += run.resistanceCents[i];
    }
    const resistanceAt = at + groupCount * pct.length;
    for (let group = 0; group < groupCount; group++) {
      let [supportCents, resistanceCents] = [0, 0];
      ascending.forEach((p, rank) => {
        supportCents += ownSupport[group * width + rank];
        resistanceCents += ownResistance[group * width + rank];
        numbers[at + group * pct.length + p] = supportCents;
        numbers[resistanceAt + group * pct.length + p] = resistanceCents;
      });
    }
  };
}

/** By bin: index of the narrowest percent that contains its support, and its resistance. */
function narrowestOfBins(ascendingPct: readonly number[]) {
  const support = new Uint8Array(BIN_COUNT).fill(ascendingPct.length);
  const resistance = new Uint8Array(BIN_COUNT).fill(ascendingPct.length);
  for (let rank = ascendingPct.length - 1; rank >= 0; rank--) {
    const { first, last } = binsOfBand(-ascendingPct[rank], ascendingPct[rank]);
    support.fill(rank, Math.max(0, first - MIN_BIN));
    resistance.fill(rank, 0, Math.max(0, last - MIN_BIN + 1));
  }
  return { support, resistance };
}
