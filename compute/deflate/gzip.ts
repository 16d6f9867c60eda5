/** What a gzip member has around its deflate blocks (RFC 1952). */

/** Its header: deflate, no name, no time, Unix. */
export const GZIP_HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3);
/** Its trailer: CRC-32 and length of the text. */
export const GZIP_TRAILER_BYTES = 8;
