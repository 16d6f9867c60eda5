/**
 * The fragments of a segment: each of its snapshots, compressed in advance as pages of one grouping in the
 * default band show it. A page is assembled from fragments; only its head is encoded per page.
 */
import zlib from 'node:zlib';
import { GZIP_HEAD, GZIP_TRAILER_BYTES } from '../deflate/gzip.js';
import type { Market } from '../market.js';
import { pageHead, type PageSummary, type ReplayEnvelope } from './page.js';
import { encodeHead, PAGE_TAIL } from './page-text.js';
import { facetsOfMarkets, factsOfMarkets, type ReplayQuery } from './query.js';

/** The groupings with fragments. */
export const FRAGMENT_GROUPS = ['market', 'all'] as const;
export type FragmentGroup = (typeof FRAGMENT_GROUPS)[number];

/** Compressed texts, concatenated: text `i` has the bytes `offsets[i] <= at < offsets[i + 1]`. */
export interface CompressedTexts {
  offsets: Uint32Array;
  bytes: Uint8Array;
}

/**
 * A segment's fragments: plain data and bytes that can cross threads. Every fragment's text begins with a comma.
 * In the form that stands alone the comma has a separate block, which a page leaves out of its first fragment.
 */
export interface SegmentFragments {
  group: FragmentGroup;
  /** Epoch seconds, one per snapshot. */
  t: Uint32Array;
  /** A digest of each snapshot, as in the segment's entry. */
  digests: Uint32Array;
  /** How many cells all snapshots before each snapshot serve; one more entry than snapshots. */
  cellEnds: Uint32Array;
  /** Length in bytes and CRC-32 of the text before each snapshot, commas included; one more entry than snapshots. */
  textEnds: Uint32Array;
  crcs: Uint32Array;
  /** Each snapshot in a form that can follow anything. */
  alone: CompressedTexts;
  /** Each snapshot in a form that can follow only the one before it in the segment; empty if it has no such form. */
  linked: CompressedTexts;
  /** Snapshot `s` has the sums `sumOffsets[s] <= i < sumOffsets[s + 1]`; with group=all it has none. */
  sumOffsets: Uint32Array;
  sumMarket: Uint16Array;
  /** Support + resistance of the market in the snapshot, within the band. */
  sumCents: Float64Array;
}

/** Bytes of the fragments' columns. */
export function bytesOfFragments({ alone, linked, ...columns }: SegmentFragments): number {
  const { t, digests, cellEnds, textEnds, crcs, sumOffsets, sumMarket, sumCents } = columns;
  const numbers = [t, digests, cellEnds, textEnds, crcs, sumOffsets, sumMarket, sumCents];
  const texts = [alone.offsets, alone.bytes, linked.offsets, linked.bytes];
  return [...numbers, ...texts].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/**
 * A head is stored if it has at most this share of the page: compressing it takes an eighth of the event loop's
 * time for a full page, and saves less than a fiftieth of the page's bytes.
 */
const STORED_HEAD_SHARE = 1 / 32;
const MAX_STORED_BYTES = 65_535;
const DEFLATE_HEAD = { level: 1, finishFlush: zlib.constants.Z_SYNC_FLUSH };
/** A stored comma (RFC 1951). Every block ends on a byte boundary. */
export const COMMA_BLOCK = storedBlock(Buffer.from(','), false);

function storedBlock(text: Uint8Array, isLast: boolean): Uint8Array {
  return Uint8Array.of(...storedHead(text.length, isLast), ...text);
}

function storedHead(length: number, isLast: boolean): Uint8Array {
  const complement = length ^ 0xffff;
  return Uint8Array.of(
    isLast ? 1 : 0,
    ...[length & 255, length >> 8],
    ...[complement & 255, complement >> 8],
  );
}

/** Consecutive snapshots of a segment on a page: `first <= s < end`. */
export interface FragmentSpan {
  fragments: SegmentFragments;
  first: number;
  end: number;
}

/** A page that can be served from fragments: default band, no filter, group=market or all. */
export interface FragmentPage {
  /** In serving order, none empty; all of one grouping. */
  spans: readonly FragmentSpan[];
  /** The token's markets in order of first arrival. */
  markets: readonly Market[];
  query: ReplayQuery;
  envelope: ReplayEnvelope;
  /** `t` of the first snapshot not served; null if the window ends with the page. */
  nextFrom: number | null;
}

const TAIL = Buffer.from(PAGE_TAIL);
const TAIL_CRC = zlib.crc32(TAIL);
/** Ends the stream, except for gzip's trailer. */
const TAIL_BLOCK = storedBlock(TAIL, true);

/**
 * A page's body as gzip. Decompressed, it is byte for byte what renderPage() makes of the same page.
 *
 * @returns null if a market's sum is too large to be exact
 */
export function assemblePage(page: FragmentPage): Uint8Array | null {
  const summary = summaryOf(page);
  if (summary === null) return null;
  const head = encodeHead(pageHead(summary, page.envelope));
  const { spans } = page;
  const snapshots: Uint8Array[] = [];
  for (const span of spans) addSpan(span, snapshots);
  const mostStored = Math.min(STORED_HEAD_SHARE * bytesOf(snapshots), MAX_STORED_BYTES);
  // The page's first snapshot has no comma before it.
  snapshots[0] = snapshots[0].subarray(COMMA_BLOCK.length);
  return concatenated([
    GZIP_HEAD,
    ...(head.length <= mostStored
      ? [storedHead(head.length, false), head]
      : [zlib.deflateRawSync(head, DEFLATE_HEAD)]),
    ...snapshots,
    TAIL_BLOCK,
    gzipTrailer(head, spans),
  ]);
}

/** How many cells the spans serve. */
export function cellsOf(spans: readonly FragmentSpan[]): number {
  let cells = 0;
  for (const { fragments, first, end } of spans) {
    cells += fragments.cellEnds[end] - fragments.cellEnds[first];
  }
  return cells;
}

function summaryOf({ spans, markets, query, nextFrom }: FragmentPage): PageSummary | null {
  const t = timesOf(spans);
  const page = {
    query,
    t,
    snapshotCount: t.length,
    rowCount: cellsOf(spans),
    nextFrom,
    markets: [],
    groups: [],
    facets: null,
    venuesNotFound: [],
  };
  if (query.group === 'all') return page;
  const { marketCents, lastMarket } = sumMarkets(spans, markets.length);
  if (!marketCents.every(Number.isSafeInteger)) return null;
  const facts = factsOfMarkets(markets);
  const facets = facetsOfMarkets(facts, facts.venues, marketCents, t.length);
  return { ...page, markets: markets.slice(0, lastMarket + 1), facets };
}

function timesOf(spans: readonly FragmentSpan[]): Uint32Array {
  const t = new Uint32Array(spans.reduce((sum, { first, end }) => sum + end - first, 0));
  let at = 0;
  for (const { fragments, first, end } of spans) {
    t.set(fragments.t.subarray(first, end), at);
    at += end - first;
  }
  return t;
}

/** Support + resistance by market, in cents, and the last market with any. */
interface MarketSums {
  marketCents: Float64Array;
  lastMarket: number;
}

function sumMarkets(spans: readonly FragmentSpan[], marketCount: number): MarketSums {
  const sums = { marketCents: new Float64Array(marketCount), lastMarket: -1 };
  for (const { fragments, first, end } of spans) {
    if (first > 0 || end < fragments.t.length) addSums(sums, fragments, first, end);
    else {
      const { marketCents, lastMarket } = sumsOfSegment(fragments, marketCount);
      for (let m = 0; m <= lastMarket; m++) sums.marketCents[m] += marketCents[m];
      if (lastMarket > sums.lastMarket) sums.lastMarket = lastMarket;
    }
  }
  return sums;
}

function addSums(
  sums: MarketSums,
  { sumOffsets, sumMarket, sumCents }: SegmentFragments,
  first: number,
  end: number,
): void {
  const { marketCents } = sums;
  const last = sumOffsets[end];
  for (let i = sumOffsets[first]; i < last; i++) {
    const market = sumMarket[i];
    marketCents[market] += sumCents[i];
    if (market > sums.lastMarket) sums.lastMarket = market;
  }
}

/** Most of a page's segments are on it whole. */
const sumsOfSegments = new WeakMap<SegmentFragments, MarketSums>();

function sumsOfSegment(fragments: SegmentFragments, marketCount: number): MarketSums {
  let sums = sumsOfSegments.get(fragments);
  if (sums === undefined) {
    sums = { marketCents: new Float64Array(marketCount), lastMarket: -1 };
    addSums(sums, fragments, 0, fragments.t.length);
    sumsOfSegments.set(fragments, sums);
  }
  return sums;
}

/** Adds the first snapshot in the form that stands alone, and later ones linked if possible. */
function addSpan({ fragments, first, end }: FragmentSpan, parts: Uint8Array[]): void {
  const { alone, linked } = fragments;
  for (let s = first; s < end;) {
    parts.push(alone.bytes.subarray(alone.offsets[s], alone.offsets[s + 1]));
    const from = ++s;
    while (s < end && linked.offsets[s] < linked.offsets[s + 1]) s++;
    if (s > from) parts.push(linked.bytes.subarray(linked.offsets[from], linked.offsets[s]));
  }
}

/** CRC-32 and length of the page's text, combined from those of its parts. */
function gzipTrailer(head: Uint8Array, spans: readonly FragmentSpan[]): Uint8Array {
  let bytes = head.length;
  let crc = zlib.crc32(head);
  spans.forEach(({ fragments, first, end }, i) => {
    let before = fragments.crcs[first];
    let spanBytes = fragments.textEnds[end] - fragments.textEnds[first];
    if (i === 0) {
      // The page's first comma is left out, so it is counted as text before the span.
      before = zlib.crc32(',', before);
      spanBytes--;
    }
    crc = crcWithEnd(crc, fragments.crcs[end], before, spanBytes);
    bytes += spanBytes;
  });
  const trailer = new DataView(new ArrayBuffer(GZIP_TRAILER_BYTES));
  trailer.setUint32(0, joinedCrc(crc, TAIL_CRC, TAIL.length), true);
  trailer.setUint32(4, bytes + TAIL.length, true);
  return new Uint8Array(trailer.buffer);
}

function bytesOf(parts: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  return bytes;
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(bytesOf(parts));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Gzip's CRC-32 polynomial over GF(2), bit-reflected (RFC 1952, 8). CRCs combine as in zlib's crc32_combine. */
const POLYNOMIAL = 0xedb8_8320;
/** x^0 and x^1: the highest bit is the lowest power. */
const ONE = 1 << 31;
const X = 1 << 30;

function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = ONE; a !== 0; bit >>>= 1) {
    if (a & bit) {
      product ^= b;
      a &= ~bit;
    }
    b = b & 1 ? (b >>> 1) ^ POLYNOMIAL : b >>> 1;
  }
  return product;
}

/** x^(8 * d * 256^k) at `256 * k + d`: the factor of a CRC that d * 256^k bytes follow. */
const POWERS = powers();

function powers(): Int32Array {
  const table = new Int32Array(4 * 256);
  let step = X;
  for (let k = 0; k < 3; k++) step = multiply(step, step);
  for (let k = 0; k < 4; k++) {
    table[256 * k] = ONE;
    for (let d = 1; d < 256; d++) table[256 * k + d] = multiply(step, table[256 * k + d - 1]);
    step = multiply(step, table[256 * k + 255]);
  }
  return table;
}

/** The factor of a text's CRC when `bytes` bytes follow it, below 2^32. */
function powerOf(bytes: number): number {
  let power = POWERS[bytes & 255];
  if (bytes > 0xff) power = multiply(POWERS[256 + ((bytes >>> 8) & 255)], power);
  if (bytes > 0xffff) power = multiply(POWERS[512 + ((bytes >>> 16) & 255)], power);
  if (bytes > 0xff_ffff) power = multiply(POWERS[768 + (bytes >>> 24)], power);
  return power;
}

/** The CRC of two texts, one after the other. */
export function joinedCrc(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOf(secondBytes), first) ^ second) >>> 0;
}

/**
 * The CRC of a text followed by the end of another text.
 * @param whole CRC of the whole other text
 * @param before CRC of the other text before that end
 */
export function crcWithEnd(first: number, whole: number, before: number, endBytes: number): number {
  return joinedCrc(first ^ before, whole, endBytes);
}
