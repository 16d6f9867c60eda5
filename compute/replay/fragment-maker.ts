/** Makes the fragments of a segment: a task of the pool. */
import zlib from 'node:zlib';
import { ByteMatcher } from '../deflate/byte-matches.js';
import type { FragmentEncoder } from '../deflate/encoder.js';
import { DEFAULT_BAND } from '../ladder.js';
import { TIERS } from '../market.js';
import type { SnapshotRun } from '../segment/run.js';
import { decodeSegment, digestsOf } from '../segment/segment.js';
import { cellAppender, emptyCells, emptyRanges, findRanges } from './cells.js';
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
  type TextListener,
  writeSnapshots,
} from './json.js';
import { PageMatcher, SeenAmounts, takeAmounts } from './matches.js';

/** Plain data and bytes that can cross threads. */
export interface FragmentsInput extends FragmentForm {
  /** An LZ4 block that encodeSegment made. */
  segment: Uint8Array;
  /** Number of the token's markets. */
  marketCount: number;
}

/**
 * Makes the fragments of a segment. Their columns share memory with nothing else.
 * @throws Error if the segment is damaged, RangeError if it names a market that the token does not have
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
  const digests = digestsOf(run);
  return { group, coding, ...columns, digests, textEnds, crcs, ...compressor.texts(comma) };
}

/** CRC-32 of the text before each end. */
function crcsOf(text: Uint8Array, ends: Uint32Array): Uint32Array {
  const crcs = new Uint32Array(ends.length);
  for (let s = 1; s < ends.length; s++) {
    crcs[s] = zlib.crc32(text.subarray(ends[s - 1], ends[s]), crcs[s - 1]);
  }
  return crcs;
}

/**
 * Writes every snapshot of a run as JSON, a comma before each, in the default band and unfiltered. The text is
 * valid until the next one is written.
 *
 * @throws RangeError if a cell names a market that the token does not have
 */
function writeRun(
  run: SnapshotRun,
  group: FragmentGroup,
  marketCount: number,
  follower: TextListener,
) {
  const snapshots = run.t.length;
  const ranges = emptyRanges(marketCount);
  const cells = emptyCells(run.bin.length);
  const cellEnds = new Uint32Array(snapshots + 1);
  const sumOffsets = new Uint32Array(snapshots + 1);
  const sumMarket: number[] = [];
  const sumCents: number[] = [];
  // No filter: with group=market a market's slot is its number.
  const slot = Int32Array.from({ length: marketCount }, (_, m) => (group === 'market' ? m : 0));
  const append = cellAppender(group, slot, 1);
  for (let s = 0; s < snapshots; s++) {
    findRanges(run, s, DEFAULT_BAND, ranges);
    append(cells, run, ranges);
    cellEnds[s + 1] = cells.length;
    // A page with group=all does not list its markets.
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

/** The previous amounts for the form that stands alone: it repeats none. */
const NO_AMOUNTS: AmountRange = emptyMarks().support;

/**
 * Compresses each of a segment's snapshots twice while it is written: `alone` repeats only text of the snapshot
 * itself; `linked`, which includes the comma before it, also text of the snapshot before it.
 */
class SnapshotCompressor implements TextListener {
  private readonly linkedEncoder: FragmentEncoder;
  private readonly linked: PageMatcher;
  private readonly aloneEncoder: FragmentEncoder;
  private readonly bytes = new ByteMatcher();
  private readonly seen = new SeenAmounts();
  private text: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  private marks = emptyMarks();
  /** Where the previous snapshot begins. */
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
   * The compressed snapshots since begin(). A linked form that is not shorter is left out: snapshots longer than the
   * coding's window have too little text in reach.
   */
  texts(comma: Uint8Array): Record<'alone' | 'linked', CompressedTexts> {
    const alone = fragmentsOf(this.aloneEncoder, this.aloneEnds).map((text) => [comma, text]);
    const linked = fragmentsOf(this.linkedEncoder, this.linkedEnds).map((text, s) =>
      text.length < comma.length + alone[s][1].length ? [text] : [],
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
    // A match would repeat the previous snapshot's comma, which is missing if that snapshot begins a page.
    if (s > 0) encoder.plain(start);
    this.linked.setFloor(this.lastStart);
    this.linked.follow(columns, s);
    if (s === 0) encoder.skip(end);
    this.linkedEnds.push(s === 0 ? 0 : encoder.endFragment(end));
  }
}

/** This thread's compressors, reused for every segment. */
const compressors = {
  gzip: new SnapshotCompressor(CODING_BLOCKS.gzip.newEncoder),
  br: new SnapshotCompressor(CODING_BLOCKS.br.newEncoder),
};

function fragmentsOf(encoder: FragmentEncoder, ends: readonly number[]): Uint8Array[] {
  const written = encoder.written();
  return ends.map((end, s) => written.subarray(s === 0 ? 0 : ends[s - 1], end));
}

/** Concatenates each text's parts, and the texts. */
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
