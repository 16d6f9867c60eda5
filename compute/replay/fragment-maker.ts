/** The pool's task that makes fragments of segments. */
import zlib from 'node:zlib';
import { ByteMatcher } from '../deflate/byte-matches.js';
import type { FragmentEncoder } from '../deflate/encoder.js';
import { DEFAULT_BAND } from '../ladder.js';
import { TIERS } from '../market.js';
import type { SnapshotRun } from '../segment/run.js';
import { decodeSegment } from '../segment/segment.js';
import {
  appendGroups,
  appendMarkets,
  emptyCells,
  emptyRanges,
  findRanges,
  groupScratch,
  type MarketRanges,
  type ServedCells,
} from './cells.js';
import {
  CODING_BLOCKS,
  type CompressedTexts,
  type FragmentForm,
  type FragmentGroup,
  type SegmentFragments,
} from './fragments.js';
import {
  type AmountRange,
  emptyMarks,
  type SnapshotColumns,
  type SnapshotMarks,
  type TextFollower,
  writeSnapshots,
} from './json.js';
import { PageMatcher, SeenAmounts, takeAmounts } from './matches.js';

/** Plain data and bytes: it crosses a thread boundary. */
export interface FragmentsInput extends FragmentForm {
  /** An LZ4 block that encodeSegment made. */
  segment: Uint8Array;
  /** Markets of the segment's token. */
  marketCount: number;
}

/**
 * Makes the fragments of a segment; no column of them shares memory with anything else.
 * @throws Error where the segment is damaged, RangeError where it names a market beyond the token's
 */
export function makeFragments({
  segment,
  group,
  coding,
  marketCount,
}: FragmentsInput): SegmentFragments {
  const compressor = compressors[coding];
  const run = decodeSegment(segment);
  const { text, textEnds, ...columns } = writeRun(run, group, marketCount, compressor);
  const crcs = crcsOf(text, textEnds);
  const { comma } = CODING_BLOCKS[coding];
  return { group, coding, ...columns, textEnds, crcs, ...compressor.texts(comma) };
}

/** Sums of the text before each of the ends. */
function crcsOf(text: Uint8Array, ends: Uint32Array): Uint32Array {
  const crcs = new Uint32Array(ends.length);
  for (let s = 1; s < ends.length; s++) {
    crcs[s] = zlib.crc32(text.subarray(ends[s - 1], ends[s]), crcs[s - 1]);
  }
  return crcs;
}

/**
 * Writes every snapshot of a run as JSON, a comma before each, in the default band and without a filter.
 *
 * @param marketCount the token's markets, of which none is named beyond
 * @param follower is told of the text as it is written; it lasts until the next one is
 * @throws RangeError where a cell names one
 */
function writeRun(
  run: SnapshotRun,
  group: FragmentGroup,
  marketCount: number,
  follower: TextFollower,
) {
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
    t: Uint32Array.from(run.t),
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
function appender(group: FragmentGroup, marketCount: number): Append {
  const slot = new Int32Array(marketCount);
  if (group === 'market') {
    for (let m = 0; m < marketCount; m++) slot[m] = m;
    return (cells, run, ranges) => appendMarkets(cells, run, ranges, slot);
  }
  const scratch = groupScratch(1, marketCount);
  return (cells, run, ranges) => appendGroups(cells, run, ranges, slot, scratch);
}

/** No amounts: of a snapshot that nothing stands before. */
const NO_AMOUNTS: AmountRange = emptyMarks().support;

/**
 * Follows the writing of a segment's snapshots and compresses each twice: `alone` repeats only what
 * stands in the snapshot itself, `linked`, with the comma before it, what stands in the one before it, too.
 */
class SnapshotCompressor implements TextFollower {
  private readonly linkedEncoder: FragmentEncoder;
  private readonly linked: PageMatcher;
  private readonly aloneEncoder: FragmentEncoder;
  private readonly bytes = new ByteMatcher();
  private readonly seen = new SeenAmounts();
  private text: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  private marks = emptyMarks();
  /** Where the snapshot before the next one begins. */
  private lastStart = 0;
  private linkedEnds: number[] = [];
  private aloneEnds: number[] = [];

  constructor(newEncoder: () => FragmentEncoder) {
    this.linkedEncoder = newEncoder();
    this.linked = new PageMatcher(this.linkedEncoder, false);
    this.aloneEncoder = newEncoder();
  }

  begin(text: Uint8Array<ArrayBuffer>): void {
    this.text = text;
    this.linked.begin(text, 0);
    this.aloneEncoder.begin(text);
    this.bytes.clear();
    this.seen.clear();
    this.lastStart = 0;
    this.linkedEnds = [];
    this.aloneEnds = [];
  }

  marksFor(from: number, to: number): SnapshotMarks {
    this.marks = this.linked.marksFor(from, to);
    return this.marks;
  }

  follow(columns: SnapshotColumns, s: number): void {
    const { start } = this.marks;
    this.takeAlone(columns);
    this.takeLinked(columns, s);
    this.lastStart = start;
  }

  /**
   * The snapshots since begin(). The linked form is left out where it is no shorter: of a text longer
   * than the coding's window too little is in reach.
   */
  texts(comma: Uint8Array): Record<'alone' | 'linked', CompressedTexts> {
    const alone = partsOf(this.aloneEncoder, this.aloneEnds).map((part) => [comma, part]);
    const linked = partsOf(this.linkedEncoder, this.linkedEnds).map((part, s) =>
      part.length < comma.length + alone[s][1].length ? [part] : [],
    );
    return { alone: gathered(alone), linked: gathered(linked) };
  }

  private takeAlone({ supportCents, resistanceCents }: SnapshotColumns): void {
    const encoder = this.aloneEncoder;
    const text = this.text;
    const seen = this.seen;
    const { start, supportKey, support, resistance, end } = this.marks;
    encoder.skip(start);
    this.bytes.floor = seen.floor = start;
    this.bytes.take(encoder, text, start, supportKey);
    takeAmounts(encoder, text, supportCents, support, NO_AMOUNTS, null, seen, end);
    takeAmounts(encoder, text, resistanceCents, resistance, NO_AMOUNTS, null, seen, end);
    this.aloneEnds.push(encoder.endFragment(end));
  }

  private takeLinked(columns: SnapshotColumns, s: number): void {
    const encoder = this.linkedEncoder;
    const { start, end } = this.marks;
    // The comma as it is: with what stands before it, the last snapshot's would be in no page.
    if (s > 0) encoder.plain(start);
    this.linked.reachBackTo(this.lastStart);
    this.linked.follow(columns, s);
    if (s === 0) encoder.skip(end);
    this.linkedEnds.push(s === 0 ? 0 : encoder.endFragment(end));
  }
}

/** What this thread compresses snapshots with: used again for the next segment. */
const compressors = {
  gzip: new SnapshotCompressor(CODING_BLOCKS.gzip.newEncoder),
  br: new SnapshotCompressor(CODING_BLOCKS.br.newEncoder),
};

function partsOf(encoder: FragmentEncoder, ends: readonly number[]): Uint8Array[] {
  const written = encoder.written();
  return ends.map((end, s) => written.subarray(s === 0 ? 0 : ends[s - 1], end));
}

/** Texts put together, each from its parts. */
export function gathered(texts: readonly (readonly Uint8Array[])[]): CompressedTexts {
  const offsets = new Uint32Array(texts.length + 1);
  texts.forEach((parts, i) => {
    offsets[i + 1] = parts.reduce((end, { length }) => end + length, offsets[i]);
  });
  const bytes = new Uint8Array(offsets[texts.length]);
  let at = 0;
  for (const part of texts.flat()) {
    bytes.set(part, at);
    at += part.length;
  }
  return { offsets, bytes };
}
