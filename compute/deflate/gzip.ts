/** What stands around the deflate blocks of a gzip member (RFC 1952). */

/** Deflate, no name, no time, made under Unix. */
export const GZIP_HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3);
/** CRC-32 and length of the text. */
export const GZIP_TRAILER_BYTES = 8;
