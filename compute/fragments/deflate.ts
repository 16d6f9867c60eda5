/** Pieces of a gzip member (RFC 1951, 1952). Each ends at a byte's end and is not the last one. */
import zlib from 'node:zlib';
import type { Pieces } from './pack.js';
import type { PieceMatcher } from './piece-matches.js';
import { gatherPieces, type CompressedTexts } from './pieces.js';

const { Z_SYNC_FLUSH } = zlib.constants;

/** An envelope's text is made for every page: 18 us for 2.5 KB, which become 1 KB. */
const ENVELOPE = { level: 1, finishFlush: Z_SYNC_FLUSH };

/** A stored block that holds a comma. */
export const DEFLATE_COMMA = Uint8Array.of(0, 1, 0, 0xfe, 0xff, 0x2c);

/** Deflate, no name, no time, made under Unix. */
export const GZIP_HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3);
export const GZIP_TRAILER_BYTES = 8;

/** The text as the last block, stored. */
export function lastDeflateBlock(text: Uint8Array): Uint8Array {
  const length = text.length;
  return Uint8Array.of(1, length & 255, length >> 8, ~length & 255, (~length >> 8) & 255, ...text);
}

export function deflateEnvelope(text: Uint8Array): Uint8Array {
  return zlib.deflateRawSync(text, ENVELOPE);
}

/**
 * The snapshots that the matcher has followed, each for itself, and each with the one before it as
 * what it repeats; that form is left out where it is no shorter: of a text longer than deflate's
 * window too little is in reach.
 */
export function deflatePieces(matcher: PieceMatcher): CompressedTexts {
  const { alone, linked } = matcher.pieces();
  const commas = partsOf(alone).map((part) => Buffer.concat([DEFLATE_COMMA, part]));
  const linkedParts = partsOf(linked).map((part, s) =>
    part.length < commas[s].length ? part : part.subarray(0, 0),
  );
  const linkedSpans = Uint32Array.from(linkedParts, (piece) => (piece.length > 0 ? 1 : 0));
  return { alone: gatherPieces(commas), linked: gatherPieces(linkedParts), linkedSpans };
}

function partsOf({ offsets, bytes }: Pieces): Uint8Array[] {
  return Array.from(offsets.subarray(1), (end, i) => bytes.subarray(offsets[i], end));
}
