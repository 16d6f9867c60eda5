/** Pieces of a brotli stream (RFC 7932). Each ends at a byte's end and is not the last one. */
import zlib from 'node:zlib';
import { BrotliPieceEncoder } from '../brotli/encoder.js';
import type { PieceEncoder } from '../deflate/encoder.js';

/** A window of 2^18 bytes reaches back over the widest snapshots that are put together. */
const LGWIN = 18;
/** An envelope's text is made for every page. */
const ENVELOPE_QUALITY = 1;

/** The last block, empty. */
const LAST_BLOCK = 3;
const COMMA = 0x2c;

/** A block that holds a comma as it is. */
export const BROTLI_COMMA = storedBlock(Uint8Array.of(COMMA));

/** A block that holds at most 2^16 bytes as they are. */
function storedBlock(text: Uint8Array): Uint8Array {
  // ISLAST 0, MNIBBLES 0 for four, MLEN - 1, ISUNCOMPRESSED 1.
  const head = ((text.length - 1) << 3) | (1 << 19);
  return Uint8Array.of(head & 255, (head >> 8) & 255, head >> 16, ...text);
}

/** The text, as it is, and the end of the stream. */
export function lastBrotliBlocks(text: Uint8Array): Uint8Array {
  return Uint8Array.of(...storedBlock(text), LAST_BLOCK);
}

/** An envelope's text with the head of the stream. */
export function brotliEnvelope(text: Uint8Array): Uint8Array {
  return zlib.brotliCompressSync(text, {
    finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
    params: {
      [zlib.constants.BROTLI_PARAM_QUALITY]: ENVELOPE_QUALITY,
      [zlib.constants.BROTLI_PARAM_LGWIN]: LGWIN,
    },
  });
}

export const newBrotliEncoder = (): PieceEncoder => new BrotliPieceEncoder(LGWIN);
