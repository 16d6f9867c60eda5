/** A page from fragments: what it says of itself is worked out, its snapshots are only put together. */
import zlib from 'node:zlib';
import { GZIP_TRAILER_BYTES } from '../deflate/encoder.js';
import type { Market } from '../market.js';
import { slotsOfMarkets } from './cells.js';
import type { PageSummary, ReplayEnvelope } from './envelope.js';
import { CODING_BLOCKS, type SegmentFragments } from './fragments.js';
import { encodeHead, PAGE_TAIL } from './json.js';
import { facetsOfMarkets } from './page.js';
import type { ReplayQuery } from './query.js';

/** Neighbouring snapshots of one segment that follow one another on a page: `first <= s < end`. */
export interface FragmentSpan {
  fragments: SegmentFragments;
  first: number;
  end: number;
}

/** A page that fragments can serve: default band, no filter, group=market or all. */
export interface FragmentPage {
  /** In serving order, none of them empty; all fragments in one form. */
  spans: readonly FragmentSpan[];
  /** The token's markets in order of first arrival. */
  markets: readonly Market[];
  query: ReplayQuery;
  envelope: ReplayEnvelope;
  /** `t` of the first snapshot not served; null where the window ends with the page. */
  nextFrom: number | null;
}

const TAIL = Buffer.from(PAGE_TAIL);
const TAIL_CRC = zlib.crc32(TAIL);
const TAIL_BLOCKS = { gzip: CODING_BLOCKS.gzip.end(TAIL), br: CODING_BLOCKS.br.end(TAIL) };

/**
 * A page's compressed body: unpacked it is byte for byte what renderPage makes of the same page.
 *
 * @returns null where the page's sums are beyond what adds up exactly in every order
 */
export function assemblePage(page: FragmentPage): Uint8Array | null {
  const summary = summaryOf(page);
  if (summary === null) return null;
  const head = encodeHead(summary, page.envelope);
  const { spans } = page;
  const { coding } = spans[0].fragments;
  const { begin, comma } = CODING_BLOCKS[coding];
  const parts = begin(head);
  const first = parts.length;
  for (const span of spans) addSpan(span, parts);
  // Before the page's first snapshot there is no comma.
  parts[first] = parts[first].subarray(comma.length);
  parts.push(TAIL_BLOCKS[coding]);
  if (coding === 'gzip') parts.push(gzipTrailer(head, spans));
  return concatenated(parts);
}

/** Cells of the spans as served. */
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
  const { venueKeys } = slotsOfMarkets(markets, query);
  const facets = facetsOfMarkets(markets, venueKeys, marketCents, t.length);
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

function sumMarkets(spans: readonly FragmentSpan[], marketCount: number) {
  const marketCents = new Float64Array(marketCount);
  let lastMarket = -1;
  for (const { fragments, first, end } of spans) {
    const { sumOffsets, sumMarket, sumCents } = fragments;
    const last = sumOffsets[end];
    for (let i = sumOffsets[first]; i < last; i++) {
      const market = sumMarket[i];
      marketCents[market] += sumCents[i];
      if (market > lastMarket) lastMarket = market;
    }
  }
  return { marketCents, lastMarket };
}

/** The first snapshot alone, and those after it linked where they can be. */
function addSpan({ fragments, first, end }: FragmentSpan, parts: Uint8Array[]): void {
  const { alone, linked } = fragments;
  for (let s = first; s < end;) {
    parts.push(alone.bytes.subarray(alone.offsets[s], alone.offsets[s + 1]));
    const from = ++s;
    while (s < end && linked.offsets[s] < linked.offsets[s + 1]) s++;
    if (s > from) parts.push(linked.bytes.subarray(linked.offsets[from], linked.offsets[s]));
  }
}

/** CRC-32 and length of the page's text. */
function gzipTrailer(head: Uint8Array, spans: readonly FragmentSpan[]): Uint8Array {
  let bytes = head.length;
  let crc = zlib.crc32(head);
  spans.forEach(({ fragments, first, end }, i) => {
    let before = fragments.crcs[first];
    let spanBytes = fragments.textEnds[end] - fragments.textEnds[first];
    if (i === 0) {
      // The page's first comma is left out: it counts to what stands before.
      before = zlib.crc32(',', before);
      spanBytes--;
    }
    crc = crcWithEnd(crc, fragments.crcs[end], before, spanBytes);
    bytes += spanBytes;
  });
  const trailer = new DataView(new ArrayBuffer(GZIP_TRAILER_BYTES));
  trailer.setUint32(0, crcOfBoth(crc, TAIL_CRC, TAIL.length), true);
  trailer.setUint32(4, bytes + TAIL.length, true);
  return new Uint8Array(trailer.buffer);
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// CRC-32 of texts put together from parts, from the parts' own sums: polynomials over GF(2) modulo the
// one of gzip (RFC 1952, 8), bit-reflected, as in zlib's crc32_combine.

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

/** x^(8 * d * 256^k) at `256 * k + d`: what a sum is multiplied by where so many bytes follow. */
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

/** What the sum of a text is multiplied by where `bytes` bytes follow it, below 2^32. */
function powerOf(bytes: number): number {
  let power = POWERS[bytes & 255];
  if (bytes > 0xff) power = multiply(POWERS[256 + ((bytes >>> 8) & 255)], power);
  if (bytes > 0xffff) power = multiply(POWERS[512 + ((bytes >>> 16) & 255)], power);
  if (bytes > 0xff_ffff) power = multiply(POWERS[768 + (bytes >>> 24)], power);
  return power;
}

/** The sum of two texts, one after the other. */
export function crcOfBoth(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOf(secondBytes), first) ^ second) >>> 0;
}

/**
 * The sum of a text followed by another's end, of which the sum of the whole and the sum of what
 * stands before that end are known.
 */
export function crcWithEnd(first: number, whole: number, before: number, endBytes: number): number {
  return crcOfBoth(first ^ before, whole, endBytes);
}
