/** The snapshots of a segment as text and as sums, the way the kernel of replay serves them. */
import { DEFAULT_BAND } from '../ladder.js';
import { TIERS } from '../market.js';
import {
  appendGroups,
  appendMarkets,
  emptyCells,
  emptyRanges,
  findRanges,
  groupScratch,
  type MarketRanges,
  type ServedCells,
} from '../replay/cells.js';
import { type TextFollower, writeSnapshots } from '../replay/json.js';
import type { SnapshotRun } from '../segment/run.js';
import type { PackContent, PackGroup } from './pack.js';

export interface SnapshotTexts extends Pick<
  PackContent,
  't' | 'cellEnds' | 'sumOffsets' | 'sumMarket' | 'sumCents'
> {
  /** The snapshots' JSON, each with a comma before it, one after the other. */
  text: Uint8Array;
  /** Bytes of the texts before each snapshot, commas included; one entry more than snapshots. */
  textEnds: Uint32Array;
}

/**
 * Encodes every snapshot of a run in the default band, without a filter.
 *
 * @param marketCount the token's markets, of which none is named beyond
 * @param follower is told of the text as it is written; it lasts until the next one is
 * @throws RangeError where a cell names one
 */
export function textsOfRun(
  run: SnapshotRun,
  group: PackGroup,
  marketCount: number,
  follower: TextFollower,
): SnapshotTexts {
  const snapshots = run.t.length;
  const ranges = emptyRanges(marketCount);
  const cells = emptyCells(run.bin.length);
  const cellEnds = new Uint32Array(snapshots + 1);
  const sumOffsets = new Uint32Array(snapshots + 1);
  const sumMarket: number[] = [];
  const sumCents: number[] = [];
  const append = appender(group, marketCount);
  for (let s = 0; s < snapshots; s++) {
    findRanges(run, s, DEFAULT_BAND, ranges);
    append(cells, run, ranges);
    cellEnds[s + 1] = cells.length;
    // A page with group=all says nothing of its markets.
    for (let r = 0; group === 'market' && r < ranges.count; r++) {
      sumMarket.push(ranges.market[r]);
      sumCents.push(ranges.cents[r]);
    }
    sumOffsets[s + 1] = sumMarket.length;
  }
  const columns = {
    query: { group },
    t: run.t,
    tier: new Uint8Array(snapshots).fill(TIERS.indexOf(run.tier)),
    priceUsd: run.priceUsd,
    cellOffsets: Int32Array.from(cellEnds),
    index: group === 'all' ? null : cells.index.subarray(0, cells.length),
    bin: cells.bin.subarray(0, cells.length),
    supportCents: cells.supportCents.subarray(0, cells.length),
    resistanceCents: cells.resistanceCents.subarray(0, cells.length),
  };
  const { bytes, offsets } = writeSnapshots(columns, follower);
  return {
    t: run.t,
    cellEnds,
    sumOffsets,
    sumMarket: Uint16Array.from(sumMarket),
    sumCents: Float64Array.from(sumCents),
    text: bytes,
    textEnds: offsets,
  };
}

type Append = (cells: ServedCells, run: SnapshotRun, ranges: MarketRanges) => void;

/** Every market is kept: its slot is its own number, or the one of all. */
function appender(group: PackGroup, marketCount: number): Append {
  const slot = new Int32Array(marketCount);
  if (group === 'market') {
    for (let m = 0; m < marketCount; m++) slot[m] = m;
    return (cells, run, ranges) => appendMarkets(cells, run, ranges, slot);
  }
  const scratch = groupScratch(1, marketCount);
  return (cells, run, ranges) => appendGroups(cells, run, ranges, slot, scratch);
}
