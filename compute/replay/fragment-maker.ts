/** Makes the fragments of a segment: a task of the pool. */
import zlib from 'node:zlib';
import { DeflateEncoder } from '../deflate/encoder.js';
import { Matcher } from './matcher.js';
import { textBytes } from './page-memory.js';
import { writeSnapshot } from './page-writer.js';
import { DEFAULT_BAND } from '../ladder.js';
import { TIERS } from '../market.js';
import type { SnapshotRun } from '../segment/run.js';
import { decodeSegment, digestsOf } from '../segment/segment.js';
import { cellAppender, emptyCells, emptyRanges, findRanges } from './cells.js';
import {
  COMMA_BLOCK,
  type CompressedTexts,
  type FragmentGroup,
  type SegmentFragments,
} from './fragments.js';
import { beginSnapshotTexts, type SnapshotColumns } from './json.js';

/** Plain data and bytes that can cross threads. */
export interface FragmentsInput {
  group: FragmentGroup;
  /** An LZ4 block that encodeSegment made. */
  segment: Uint8Array;
  /** Number of the token's markets. */
  marketCount: number;
}

/**
 * Makes the fragments of a segment. Their columns share memory with nothing else.
 * @throws Error if the segment is damaged, RangeError if it names a market that the token does not have
 */
export function makeFragments({ segment, group, marketCount }: FragmentsInput): SegmentFragments {
  const run = decodeSegment(segment);
  const { columns, ...sums } = served(run, group, marketCount);
  const textEnds = compressor.compress(columns);
  const crcs = crcsOf(textBytes(textEnds[run.t.length]), textEnds);
  const t = Uint32Array.from(run.t);
  const digests = digestsOf(run);
  return { group, t, ...sums, digests, textEnds, crcs, ...compressor.texts() };
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
 * A run's cells in the default band, unfiltered, and the sums of its markets.
 * @throws RangeError if a cell names a market that the token does not have
 */
function served(run: SnapshotRun, group: FragmentGroup, marketCount: number) {
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
  return {
    columns,
    cellEnds,
    sumOffsets,
    sumMarket: Uint16Array.from(sumMarket),
    sumCents: Float64Array.from(sumCents),
  };
}

const linkedMatcher = new Matcher(0);
const aloneMatcher = new Matcher(1);
const COMMA_BYTES = 1;

/**
 * Compresses each of a segment's snapshots twice while it is written: `alone` repeats only text of the snapshot
 * itself; `linked`, which includes the comma before it, also text of the previous snapshot.
 */
class SnapshotCompressor {
  private readonly linked = new DeflateEncoder(0);
  private readonly alone = new DeflateEncoder(1);
  private linkedEnds: number[] = [];
  private aloneEnds: number[] = [];

  /** @returns where the text before each snapshot ends, its comma not included; one more entry than snapshots */
  compress(columns: SnapshotColumns): Uint32Array {
    beginSnapshotTexts(columns, 2);
    for (const part of [linkedMatcher, aloneMatcher, this.linked, this.alone]) part.begin();
    this.linkedEnds = [];
    this.aloneEnds = [];
    const ends = new Uint32Array(columns.t.length + 1);
    for (let s = 0; s < columns.t.length; s++) {
      ends[s + 1] = writeSnapshot(s, true);
      this.addAlone(ends[s] + COMMA_BYTES, ends[s + 1]);
      this.addLinked(s, ends);
    }
    return ends;
  }

  /**
   * The compressed snapshots. A linked form that is not shorter is left out: snapshots longer than deflate's window
   * have too little text in reach.
   */
  texts(): Record<'alone' | 'linked', CompressedTexts> {
    const alone = fragmentsOf(this.alone, this.aloneEnds).map((text) => [COMMA_BLOCK, text]);
    const linked = fragmentsOf(this.linked, this.linkedEnds).map((text, s) =>
      text.length < COMMA_BLOCK.length + alone[s][1].length ? [text] : [],
    );
    return { alone: gathered(alone), linked: gathered(linked) };
  }

  private addAlone(start: number, end: number): void {
    aloneMatcher.limit(start, start);
    this.alone.skip(start);
    this.alone.take(aloneMatcher.ofSnapshotAlone());
    this.aloneEnds.push(this.alone.endFragment(end));
  }

  private addLinked(s: number, ends: Uint32Array): void {
    const end = ends[s + 1];
    // A match would repeat the previous snapshot's comma, which is missing if that snapshot begins a page.
    const start = ends[s] + COMMA_BYTES;
    linkedMatcher.limit(start, s === 0 ? start : ends[s - 1] + COMMA_BYTES);
    const matches = linkedMatcher.ofSnapshot();
    // The first has no previous snapshot: its matches are only remembered.
    if (s === 0) this.linked.skip(end);
    else this.linked.take(matches);
    this.linkedEnds.push(s === 0 ? 0 : this.linked.endFragment(end));
  }
}

/** This thread's compressor, reused for every segment. */
const compressor = new SnapshotCompressor();

function fragmentsOf(encoder: DeflateEncoder, ends: readonly number[]): Uint8Array[] {
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
