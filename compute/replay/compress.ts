/** HTTP content codings of a page. Synchronous: inside a worker that beats zlib's own threads. */
import zlib from 'node:zlib';

export const CONTENT_ENCODINGS = ['identity', 'gzip', 'br', 'zstd'] as const;
export type ContentEncoding = (typeof CONTENT_ENCODINGS)[number];

/** From this length on a body is a full page: 100,000 cells take 1.4 MB and more as JSON. */
const FULL_PAGE_BYTES = 1_000_000;

/** How hard each coding tries. */
interface Effort {
  gzipLevel: number;
  gzipStrategy: number;
  brotliQuality: number;
  zstdLevel: number;
}

/**
 * A full page is to become 5 to 10 times smaller (api.md 4.13 rule 8). Measured on full pages with
 * group=market of four simulated tokens: gzip 6 filtered 4.9 to 5.5 in 20 ms (unfiltered 4.6 to 5.2
 * in 16, level 1 3.8 to 4.5 in 7), brotli 4 5.0 to 5.8 in 12 ms. Z_FILTERED suits digits: it leaves
 * short matches to the Huffman code.
 */
const FULL_PAGE: Effort = {
  gzipLevel: 6,
  gzipStrategy: zlib.constants.Z_FILTERED,
  brotliQuality: 4,
  zstdLevel: 6,
};
/** Shorter bodies: sums of a grouped page differ in nearly every digit, trying harder gains little. */
const SHORT_BODY: Effort = {
  gzipLevel: 1,
  gzipStrategy: zlib.constants.Z_DEFAULT_STRATEGY,
  brotliQuality: 1,
  zstdLevel: 3,
};
const GZIP_MEM_LEVEL = 9;
/** A window of 2^18 bytes reaches back over the widest snapshots, which deflate's 2^15 cannot. */
const BROTLI_LGWIN = 18;
/** Output is taken in pieces of this many bytes; most pages need one. */
const CHUNK_BYTES = 512 * 1024;

type ZstdCompressSync = (bytes: Uint8Array, options: { params: Record<number, number> }) => Buffer;

/** Only in Node 22.15 and later. */
const zstdCompressSync = (zlib as { zstdCompressSync?: ZstdCompressSync }).zstdCompressSync;
const ZSTD_LEVEL_PARAM = (zlib.constants as { ZSTD_c_compressionLevel?: number })
  .ZSTD_c_compressionLevel;

/** Whether this Node can make the coding. */
export function canEncode(encoding: ContentEncoding): boolean {
  return encoding !== 'zstd' || zstdCompressSync !== undefined;
}

/**
 * Compresses a body; gzip is one member.
 *
 * @returns bytes that own their whole ArrayBuffer; with `identity` the body itself
 * @throws Error for zstd where this Node has none (canEncode)
 */
export function compressPage(
  body: Uint8Array<ArrayBuffer>,
  encoding: ContentEncoding,
): Uint8Array<ArrayBuffer> {
  const effort = body.length >= FULL_PAGE_BYTES ? FULL_PAGE : SHORT_BODY;
  switch (encoding) {
    case 'identity':
      return body;
    case 'gzip':
      return new Uint8Array(
        zlib.gzipSync(body, {
          level: effort.gzipLevel,
          memLevel: GZIP_MEM_LEVEL,
          strategy: effort.gzipStrategy,
          chunkSize: CHUNK_BYTES,
        }),
      );
    case 'br':
      return new Uint8Array(
        zlib.brotliCompressSync(body, {
          chunkSize: CHUNK_BYTES,
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
