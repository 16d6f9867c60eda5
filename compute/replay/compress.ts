/** HTTP content codings of a page. Synchronous, which in a worker is faster than zlib's own threads. */
import zlib from 'node:zlib';

export type ContentEncoding = 'identity' | 'gzip' | 'br' | 'zstd';

/** A body of at least this length counts as a full page: 100,000 cells take at least 1.4 MB as JSON. */
const FULL_PAGE_BYTES = 1_000_000;

/** Compression effort of each coding. */
interface Effort {
  gzipLevel: number;
  gzipStrategy: number;
  brotliQuality: number;
  zstdLevel: number;
}

/**
 * A full page must shrink by a factor of 5 to 10, as cheaply as possible: popular pages in gzip come from
 * fragments, which are compressed once and harder. CPU ms of a full page, and ratios of page A, page B, the page of the
 * tests, the median of 24 simulated pages:
 *
 *     gzip 4 filtered 11.5  5.51 4.57 5.20 5.79    brotli 2 6.0  5.76 5.46 5.29 6.21
 *     gzip 4           7.5  5.00 4.25 4.69 5.29    brotli 1 3.2  5.22 4.95 4.92 5.49
 *     gzip 6 filtered 15.9  5.77 4.61 5.42 5.91    brotli 4 10.5 6.23 6.63 5.70 6.42
 *
 * Z_FILTERED suits digits: it leaves short matches to the Huffman code. (No gzip level reaches 5 on page B,
 * two of whose snapshots exceed deflate's window.)
 */
const FULL_PAGE: Effort = {
  gzipLevel: 4,
  gzipStrategy: zlib.constants.Z_FILTERED,
  brotliQuality: 2,
  zstdLevel: 6,
};
/**
 * Shorter bodies are mostly grouped pages, whose sums differ in nearly every digit: more effort gains little. Nor
 * does it in binary formats, whose full pages shrink by more than a factor of 5. KB of page A, and CPU ms:
 *
 *     MessagePack  gzip 4 filtered 310 10.4, gzip 1 334 6.4    brotli 2 282 7.2, brotli 1 349 4.6
 *     Arrow        gzip 4 filtered 467 19.7, gzip 1 449 9.1    brotli 2 381 9.4, brotli 1 434 5.5
 */
const LOW_EFFORT: Effort = {
  gzipLevel: 1,
  gzipStrategy: zlib.constants.Z_DEFAULT_STRATEGY,
  brotliQuality: 1,
  zstdLevel: 3,
};
const GZIP_MEM_LEVEL = 9;
/** A window of 2^18 bytes reaches back over the widest snapshots, which deflate's 2^15 cannot. */
const BROTLI_LGWIN = 18;
/**
 * Size of zlib's output buffer as a share of the body: most pages need one buffer. Its unused bytes are
 * garbage.
 */
const CHUNK_SHARE = 1 / 3;
const MIN_CHUNK_BYTES = 1024;

type ZstdCompressSync = (bytes: Uint8Array, options: { params: Record<number, number> }) => Buffer;

/** Only in Node 22.15 and later. */
const zstdCompressSync = (zlib as { zstdCompressSync?: ZstdCompressSync }).zstdCompressSync;
const ZSTD_LEVEL_PARAM = (zlib.constants as { ZSTD_c_compressionLevel?: number })
  .ZSTD_c_compressionLevel;

/** Whether this version of Node supports the coding. */
export function canEncode(encoding: ContentEncoding): boolean {
  return encoding !== 'zstd' || zstdCompressSync !== undefined;
}

/**
 * Compresses a body; gzip is one member.
 *
 * @param isText whether it is JSON
 * @returns bytes that own their whole ArrayBuffer; with `identity` the body itself
 * @throws Error for zstd if this Node does not support it (canEncode)
 */
export function compressPage(
  body: Uint8Array<ArrayBuffer>,
  encoding: ContentEncoding,
  isText = true,
): Uint8Array<ArrayBuffer> {
  const effort = isText && body.length >= FULL_PAGE_BYTES ? FULL_PAGE : LOW_EFFORT;
  const chunkSize = Math.max(MIN_CHUNK_BYTES, Math.ceil(body.length * CHUNK_SHARE));
  switch (encoding) {
    case 'identity':
      return body;
    case 'gzip':
      return new Uint8Array(
        zlib.gzipSync(body, {
          level: effort.gzipLevel,
          memLevel: GZIP_MEM_LEVEL,
          strategy: effort.gzipStrategy,
          chunkSize,
        }),
      );
    case 'br':
      return new Uint8Array(
        zlib.brotliCompressSync(body, {
          chunkSize,
          params: {
            [zlib.constants.BROTLI_PARAM_QUALITY]: effort.brotliQuality,
            [zlib.constants.BROTLI_PARAM_LGWIN]: BROTLI_LGWIN,
            [zlib.constants.BROTLI_PARAM_SIZE_HINT]: body.length,
          },
        }),
      );
    case 'zstd':
      return zstd(body, effort.zstdLevel);
  }
}

function zstd(body: Uint8Array, level: number): Uint8Array<ArrayBuffer> {
  if (zstdCompressSync === undefined || ZSTD_LEVEL_PARAM === undefined) {
    throw new Error('content coding zstd: this Node has none, expected 22.15 or later');
  }
  return new Uint8Array(zstdCompressSync(body, { params: { [ZSTD_LEVEL_PARAM]: level } }));
}
