/**
 * The fragments of a segment: each of its snapshots, already compressed, as pages of one grouping in the
 * default band have it; and what of a page is compressed beside them.
 */
import zlib from 'node:zlib';
import { BrotliEncoder } from '../brotli/encoder.js';
import { DeflateEncoder, GZIP_HEAD, type FragmentEncoder } from '../deflate/encoder.js';

/** The groupings that fragments are made for. */
export type FragmentGroup = 'market' | 'all';
/** The content codings that fragments are made for. */
export const FRAGMENT_CODINGS = ['gzip', 'br'] as const;
export type FragmentCoding = (typeof FRAGMENT_CODINGS)[number];

/** Which of a segment's fragments. */
export interface FragmentForm {
  group: FragmentGroup;
  coding: FragmentCoding;
}

/** Compressed texts one after the other: number `i` is `offsets[i] <= at < offsets[i + 1]` of the bytes. */
export interface CompressedTexts {
  offsets: Uint32Array;
  bytes: Uint8Array;
}

/**
 * A segment's fragments; plain data and bytes, which cross threads. Every fragment stands for its text
 * with a comma before it. Where it stands alone the comma is a block of its own, so that a page can leave
 * out its first one.
 */
export interface SegmentFragments extends FragmentForm {
  /** Epoch seconds, one a snapshot. */
  t: Uint32Array;
  /** Cells of the snapshots before each, as served; one entry more than snapshots. */
  cellEnds: Uint32Array;
  /** Bytes of the texts before each snapshot, commas included, and their CRC-32; likewise. */
  textEnds: Uint32Array;
  crcs: Uint32Array;
  /** Each snapshot by itself: to be put after anything. */
  alone: CompressedTexts;
  /**
   * Each snapshot as it can follow the one before it in the segment, in either form of that one; empty
   * where it has no such form.
   */
  linked: CompressedTexts;
  /** Markets of each snapshot within the band, one entry more than snapshots; empty with all. */
  sumOffsets: Uint32Array;
  sumMarket: Uint16Array;
  /** Support + resistance of the market in the snapshot. */
  sumCents: Float64Array;
}

/** Memory that fragments take, but for what the objects around their columns do. */
export function bytesOfFragments({ alone, linked, ...columns }: SegmentFragments): number {
  const { t, cellEnds, textEnds, crcs, sumOffsets, sumMarket, sumCents } = columns;
  const numbers = [t, cellEnds, textEnds, crcs, sumOffsets, sumMarket, sumCents];
  const texts = [alone.offsets, alone.bytes, linked.offsets, linked.bytes];
  return [...numbers, ...texts].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** What one coding puts around and between fragments. Each block ends at a byte's end. */
interface CodingBlocks {
  newEncoder: () => FragmentEncoder;
  /** A block that holds a comma as it is. */
  comma: Uint8Array;
  /** The head of the stream and the text that a page begins with. */
  begin: (text: Uint8Array) => Uint8Array[];
  /** A text of at most 2^16 - 1 bytes, as it is, as the end of the stream; but for gzip's trailer. */
  end: (text: Uint8Array) => Uint8Array;
}

/** Snapshots look alike for a while: so many blocks of them may have the same codes. */
const BLOCKS_ALIKE = 8;
/** The text that a page begins with is compressed for every page: 18 us for 2.5 KB, which become 1 KB. */
const DEFLATE_BEGIN = { level: 1, finishFlush: zlib.constants.Z_SYNC_FLUSH };
/** A window of 2^18 bytes reaches back over the widest snapshots that are put together. */
const LGWIN = 18;
const BROTLI_BEGIN = {
  finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
  params: {
    [zlib.constants.BROTLI_PARAM_QUALITY]: 1,
    [zlib.constants.BROTLI_PARAM_LGWIN]: LGWIN,
  },
};
const LAST_BROTLI_BLOCK = 3;
const COMMA = Buffer.from(',');

/** RFC 1951, 1952 and 7932. */
export const CODING_BLOCKS: Readonly<Record<FragmentCoding, CodingBlocks>> = {
  gzip: {
    newEncoder: () => new DeflateEncoder(BLOCKS_ALIKE),
    comma: storedDeflate(COMMA, false),
    begin: (text) => [GZIP_HEAD, zlib.deflateRawSync(text, DEFLATE_BEGIN)],
    end: (text) => storedDeflate(text, true),
  },
  br: {
    newEncoder: () => new BrotliEncoder(LGWIN),
    comma: storedBrotli(COMMA),
    begin: (text) => [zlib.brotliCompressSync(text, BROTLI_BEGIN)],
    end: (text) => Uint8Array.of(...storedBrotli(text), LAST_BROTLI_BLOCK),
  },
};

function storedDeflate(text: Uint8Array, isLast: boolean): Uint8Array {
  const { length } = text;
  const head = [isLast ? 1 : 0, length & 255, length >> 8, ~length & 255, (~length >> 8) & 255];
  return Uint8Array.of(...head, ...text);
}

function storedBrotli(text: Uint8Array): Uint8Array {
  // ISLAST 0, MNIBBLES 0 for four, MLEN - 1, ISUNCOMPRESSED 1.
  const head = ((text.length - 1) << 3) | (1 << 19);
  return Uint8Array.of(head & 255, (head >> 8) & 255, head >> 16, ...text);
}
