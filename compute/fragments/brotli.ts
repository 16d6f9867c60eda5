/** Pieces of a brotli stream (RFC 7932). Each ends at a byte's end and is not the last one. */
import zlib from 'node:zlib';
import { BROTLI_LGWIN, BROTLI_WINDOW_BYTES, BrotliEncoder } from './brotli-encoder.js';
import { gatherPieces, type CompressedTexts } from './pieces.js';

/**
 * Snapshots of a chunk. Measured with 347 cells a snapshot: chunks of 8 with quality 4 5.87 (16:
 * 6.13, with quality 1 5.17), one alone with quality 1 3.18 (4: 3.50 in three times the time). A page
 * has some 7 of those at its ends.
 */
const CHUNK_SNAPSHOTS = 8;
const CHUNK_QUALITY = 4;
const ALONE_QUALITY = 1;
/** A chunk's text has to be shorter than the divider's reach. */
const MAX_CHUNK_BYTES = 240 * 1024;

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
      [zlib.constants.BROTLI_PARAM_QUALITY]: ALONE_QUALITY,
      [zlib.constants.BROTLI_PARAM_LGWIN]: BROTLI_LGWIN,
    },
  });
}

/**
 * What stands between two chunks in the encoder's input, and in no page. It is longer than the
 * window, so that no chunk repeats what another says. And it ends with four matches at distances that
 * no chunk can use: brotli has short codes for the last four distances, so a chunk that began with
 * one would mean what came before it in the encoder, not in the page.
 */
const DIVIDER = makeDivider();

function makeDivider(): Uint8Array {
  const mark = (m: number) =>
    Uint8Array.from({ length: 32 }, (_, i) => 128 + ((i * i * 7 + m * 31) % 127));
  const marks = [1, 2, 3, 4].map(mark);
  const zeros = new Uint8Array(BROTLI_WINDOW_BYTES - 1024);
  return Buffer.concat([new Uint8Array(2048), ...marks, zeros, ...marks.reverse()]);
}

/** The texts each for itself, and several together. @throws Error where zlib can't read them */
export async function brotliPieces(text: Uint8Array, ends: Uint32Array): Promise<CompressedTexts> {
  const texts = Array.from(ends.subarray(1), (end, s) => text.slice(ends[s] + 1, end));
  const alone = await alonePieces(texts);
  if (!readsBackwards(alone, texts)) throw new Error('brotli: a piece does not read back');
  const spans = spansOf(texts);
  const chunks = await chunkPieces(texts, spans);
  const textOf = (_: unknown, s: number) => joined(texts.slice(s, s + spans[s]));
  // Quality 4 promises nothing of what pieces are taken to be here; its chunks are only a gain.
  const good = readsBackwards(
    chunks.filter((_, s) => spans[s] > 0),
    texts.map(textOf).filter((_, s) => spans[s] > 0),
  );
  return {
    alone: gatherPieces(alone),
    linked: gatherPieces(good ? chunks : chunks.map(() => new Uint8Array(0))),
    linkedSpans: good ? spans : new Uint32Array(texts.length),
  };
}

/** At the first snapshot of each chunk, how many it holds: none that holds one alone. */
function spansOf(texts: readonly Uint8Array[]): Uint32Array {
  const spans = new Uint32Array(texts.length);
  for (let first = 0, s = 0; s < texts.length; first = s) {
    let bytes = 0;
    do bytes += texts[s++].length + 1;
    while (
      s < texts.length &&
      s - first < CHUNK_SNAPSHOTS &&
      bytes + texts[s].length < MAX_CHUNK_BYTES
    );
    if (s - first > 1) spans[first] = s - first;
  }
  return spans;
}

async function alonePieces(texts: readonly Uint8Array[]): Promise<Uint8Array[]> {
  const encoder = new BrotliEncoder(ALONE_QUALITY);
  try {
    await encoder.piece(new Uint8Array(0));
    const pieces: Uint8Array[] = [];
    for (const text of texts) {
      pieces.push(Buffer.concat([BROTLI_COMMA, await encoder.piece(text)]));
    }
    return pieces;
  } finally {
    encoder.close();
  }
}

async function chunkPieces(texts: readonly Uint8Array[], spans: Uint32Array) {
  const encoder = new BrotliEncoder(CHUNK_QUALITY);
  try {
    const pieces: Uint8Array[] = [];
    for (let s = 0; s < texts.length; s++) {
      if (spans[s] === 0) {
        pieces.push(new Uint8Array(0));
        continue;
      }
      await encoder.piece(DIVIDER);
      const chunk = await encoder.piece(joined(texts.slice(s, s + spans[s])));
      pieces.push(Buffer.concat([BROTLI_COMMA, chunk]));
    }
    return pieces;
  } finally {
    encoder.close();
  }
}

function joined(texts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    texts.flatMap((text, i) => (i === 0 ? [text] : [Uint8Array.of(COMMA), text])),
  );
}

/** Whether zlib reads the pieces in an order that they were not made in. */
function readsBackwards(pieces: readonly Uint8Array[], texts: readonly Uint8Array[]): boolean {
  const start = Buffer.from('[');
  const stream = [brotliEnvelope(start), ...[...pieces].reverse(), lastBrotliBlocks(start)];
  const comma = Uint8Array.of(COMMA);
  const text = [start, ...[...texts].reverse().flatMap((one) => [comma, one]), start];
  try {
    return zlib.brotliDecompressSync(Buffer.concat(stream)).equals(Buffer.concat(text));
  } catch {
    return false;
  }
}
