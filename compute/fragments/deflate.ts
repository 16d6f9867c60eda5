/** Pieces of a gzip member (RFC 1951, 1952). Each ends at a byte's end and is not the last one. */
import zlib from 'node:zlib';
import { DeflateEncoder, type PieceEncoder } from '../deflate/encoder.js';

const { Z_SYNC_FLUSH } = zlib.constants;

/** An envelope's text is made for every page: 18 us for 2.5 KB, which become 1 KB. */
const ENVELOPE = { level: 1, finishFlush: Z_SYNC_FLUSH };

/** A stored block that holds a comma. */
export const DEFLATE_COMMA = Uint8Array.of(0, 1, 0, 0xfe, 0xff, 0x2c);

/** The text as the last block, stored. */
export function lastDeflateBlock(text: Uint8Array): Uint8Array {
  const length = text.length;
  return Uint8Array.of(1, length & 255, length >> 8, ~length & 255, (~length >> 8) & 255, ...text);
}

export function deflateEnvelope(text: Uint8Array): Uint8Array {
  return zlib.deflateRawSync(text, ENVELOPE);
}

/** Snapshots look alike for a while: so many may have the same codes. */
const BLOCKS_ALIKE = 8;

export const newDeflateEncoder = (): PieceEncoder => new DeflateEncoder(BLOCKS_ALIKE);
