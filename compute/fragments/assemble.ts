/** A page from packs: what it says of itself is worked out, its snapshots are only put together. */
import zlib from 'node:zlib';
import { GZIP_HEAD, GZIP_TRAILER_BYTES } from '../deflate/encoder.js';
import type { Market } from '../market.js';
import { slotsOfMarkets } from '../replay/cells.js';
import type { PageSummary, ReplayEnvelope } from '../replay/envelope.js';
import { encodeHead, PAGE_TAIL } from '../replay/json.js';
import { facetsOfMarkets } from '../replay/page.js';
import type { ReplayQuery } from '../replay/query.js';
import { BROTLI_COMMA, brotliEnvelope, lastBrotliBlocks } from './brotli.js';
import { crcOfBoth, crcWithEnd } from './crc.js';
import { DEFLATE_COMMA, deflateEnvelope, lastDeflateBlock } from './deflate.js';
import type { Pack, PackCoding } from './pack.js';

/** Neighbouring snapshots of one segment that follow one another on a page: `first <= s < end`. */
export interface PackStretch {
  pack: Pack;
  first: number;
  end: number;
}

/** A page that packs can serve: default band, no filter, group=market or all. */
export interface FragmentPage {
  /** In serving order, none of them empty; all packs in one form. */
  stretches: readonly PackStretch[];
  /** The token's markets in order of first arrival. */
  markets: readonly Market[];
  query: ReplayQuery;
  envelope: ReplayEnvelope;
  /** `t` of the first snapshot not served; null where the window ends with the page. */
  nextFrom: number | null;
}

const TAIL = Buffer.from(PAGE_TAIL);
const TAIL_CRC = zlib.crc32(TAIL);
const LAST_DEFLATE_BLOCK = lastDeflateBlock(TAIL);
const LAST_BROTLI_BLOCKS = lastBrotliBlocks(TAIL);
const COMMA_BYTES = { gzip: DEFLATE_COMMA.length, br: BROTLI_COMMA.length };

/**
 * A page's compressed body: unpacked it is byte for byte what renderPage makes of the same page.
 *
 * @returns null where the page's sums are beyond what adds up exactly in every order
 */
export function assemblePage(page: FragmentPage): Uint8Array | null {
  const summary = summaryOf(page);
  if (summary === null) return null;
  const head = encodeHead(summary, page.envelope);
  const { stretches } = page;
  switch (stretches[0].pack.coding) {
    case 'gzip':
      return concatenated([
        GZIP_HEAD,
        deflateEnvelope(head),
        ...piecesOf(stretches, 'gzip'),
        LAST_DEFLATE_BLOCK,
        gzipTrailer(head, stretches),
      ]);
    case 'br':
      return concatenated([brotliEnvelope(head), ...piecesOf(stretches, 'br'), LAST_BROTLI_BLOCKS]);
  }
}

/** Cells of the stretches as served. */
export function cellsOf(stretches: readonly PackStretch[]): number {
  let cells = 0;
  for (const { pack, first, end } of stretches) cells += pack.cellEnds[end] - pack.cellEnds[first];
  return cells;
}

function summaryOf({ stretches, markets, query, nextFrom }: FragmentPage): PageSummary | null {
  const t = timesOf(stretches);
  const page = {
    query,
    t,
    snapshotCount: t.length,
    rowCount: cellsOf(stretches),
    nextFrom,
    markets: [],
    groups: [],
    facets: null,
    venuesNotFound: [],
  };
  if (query.group === 'all') return page;
  const { marketCents, lastMarket } = sumMarkets(stretches, markets.length);
  if (!marketCents.every(Number.isSafeInteger)) return null;
  const { venueKeys } = slotsOfMarkets(markets, query);
  const facets = facetsOfMarkets(markets, venueKeys, marketCents, t.length);
  return { ...page, markets: markets.slice(0, lastMarket + 1), facets };
}

function timesOf(stretches: readonly PackStretch[]): Uint32Array {
  const t = new Uint32Array(stretches.reduce((sum, { first, end }) => sum + end - first, 0));
  let at = 0;
  for (const { pack, first, end } of stretches) {
    t.set(pack.t.subarray(first, end), at);
    at += end - first;
  }
  return t;
}

function sumMarkets(stretches: readonly PackStretch[], marketCount: number) {
  const marketCents = new Float64Array(marketCount);
  let lastMarket = -1;
  for (const { pack, first, end } of stretches) {
    const { sumMarket, sumCents } = pack;
    const last = pack.sumOffsets[end];
    for (let i = pack.sumOffsets[first]; i < last; i++) {
      const market = sumMarket[i];
      marketCents[market] += sumCents[i];
      if (market > lastMarket) lastMarket = market;
    }
  }
  return { marketCents, lastMarket };
}

/** The stretches' pieces in order; the page's first one without its comma. */
function piecesOf(stretches: readonly PackStretch[], coding: PackCoding): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (const stretch of stretches) addPieces(stretch, pieces);
  pieces[0] = pieces[0].subarray(COMMA_BYTES[coding]);
  return pieces;
}

function addPieces({ pack, first, end }: PackStretch, pieces: Uint8Array[]): void {
  const { alone, linked } = pack;
  for (let s = first; s < end;) {
    pieces.push(alone.bytes.subarray(alone.offsets[s], alone.offsets[s + 1]));
    const from = ++s;
    while (s < end && linked.offsets[s] < linked.offsets[s + 1]) s++;
    if (s > from) pieces.push(linked.bytes.subarray(linked.offsets[from], linked.offsets[s]));
  }
}

/** CRC-32 and length of the page's text. */
function gzipTrailer(head: Uint8Array, stretches: readonly PackStretch[]): Uint8Array {
  let bytes = head.length;
  let crc = zlib.crc32(head);
  stretches.forEach(({ pack, first, end }, i) => {
    let before = pack.crcs[first];
    let stretchBytes = pack.textEnds[end] - pack.textEnds[first];
    if (i === 0) {
      // The page's first comma is left out: it counts to what stands before.
      before = zlib.crc32(',', before);
      stretchBytes--;
    }
    crc = crcWithEnd(crc, pack.crcs[end], before, stretchBytes);
    bytes += stretchBytes;
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
