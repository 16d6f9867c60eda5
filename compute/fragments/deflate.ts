/** Pieces of a gzip member (RFC 1951, 1952). Each ends at a byte's end and is not the last one. */
import zlib from 'node:zlib';
import { gatherPieces, type CompressedTexts } from './pieces.js';

const { Z_SYNC_FLUSH, Z_FILTERED } = zlib.constants;

/**
 * Measured on full pages of 347 cells a snapshot: linked 9 filtered 5.62 (6: 5.53, 6 unfiltered
 * 5.29) in 18 ms, alone 6 filtered 3.57 (9: 3.58) in 11 ms. Z_FILTERED suits digits.
 */
const LINKED = { level: 9, memLevel: 9, strategy: Z_FILTERED, finishFlush: Z_SYNC_FLUSH };
const ALONE = { level: 6, memLevel: 9, strategy: Z_FILTERED, finishFlush: Z_SYNC_FLUSH };
/** An envelope's text is made for every page: 18 us for 2.5 KB, which become 1 KB. */
const ENVELOPE = { level: 1, finishFlush: Z_SYNC_FLUSH };

/** A stored block that holds a comma. */
export const DEFLATE_COMMA = Uint8Array.of(0, 1, 0, 0xfe, 0xff, 0x2c);
const COMMA_TEXT = DEFLATE_COMMA.subarray(-1);

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
 * The texts each for itself, and each with the one before it as what it repeats; that form is left
 * out where it is no shorter: of a text longer than deflate's window too little is in reach.
 */
export function deflatePieces(texts: readonly Uint8Array[]): CompressedTexts {
  const alone = texts.map((text) =>
    Buffer.concat([DEFLATE_COMMA, zlib.deflateRawSync(text, ALONE)]),
  );
  const linked = texts.map((text, s) => {
    if (s === 0) return new Uint8Array(0);
    const withComma = Buffer.concat([COMMA_TEXT, text]);
    const piece = zlib.deflateRawSync(withComma, { ...LINKED, dictionary: texts[s - 1] });
    return piece.length < alone[s].length ? piece : new Uint8Array(0);
  });
  const linkedSpans = Uint32Array.from(linked, (piece) => (piece.length > 0 ? 1 : 0));
  return { alone: gatherPieces(alone), linked: gatherPieces(linked), linkedSpans };
}
