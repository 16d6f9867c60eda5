/** Encodes the page writer's text and matches as deflate or gzip. */
import zlib from 'node:zlib';
import {
  MATCH_NUMBERS,
  matchesAt,
  memory,
  outAt,
  textAt,
  textBytes,
  wasm,
} from '../replay/page-memory.js';
import { GZIP_HEAD, GZIP_TRAILER_BYTES } from './gzip.js';

const NO_BYTES = new Uint8Array(0);

/** Encodes the text as deflate blocks. Fragments of it end on a byte boundary and never end the stream. */
export class DeflateEncoder {
  private end = 0;

  /** @param id chooses one of the page writer's two encoders; only one instance with an id has a text at a time */
  constructor(protected readonly id: 0 | 1) {}

  /**
   * Starts the page writer's text, which may still be written while it is being encoded.
   * @param prefix bytes to put before the blocks
   */
  begin(prefix = NO_BYTES): void {
    memory.set(prefix, outAt[this.id]);
    wasm.beginDeflate(this.id, outAt[this.id] + prefix.length);
    this.end = prefix.length;
  }

  /**
   * Encodes the text up to the end of the last match.
   *
   * @param matches three numbers for each: where it begins, its length (at least 3), and how far before it the same
   *   bytes begin
   * @throws RangeError if a match begins before the last one ends, or reaches back too far
   */
  take(matches: Uint32Array): void {
    if (matches.buffer !== memory.buffer) {
      memory.set(new Uint8Array(matches.buffer, matches.byteOffset, matches.byteLength), matchesAt);
    }
    if (wasm.takeMatches(this.id, matchesAt, matches.length / MATCH_NUMBERS) === 0) {
      throw new RangeError('no match: it begins too early or reaches back too far');
    }
  }

  /** Skips the text up to a position, as far as no fragment contains it yet. */
  skip(to: number): void {
    wasm.skipText(this.id, textAt + to);
  }

  /**
   * Ends a fragment of the text: blocks, none marked as the last, and an empty stored block.
   * @returns end of its bytes among the bytes of all fragments since begin(): see written()
   */
  endFragment(to: number): number {
    return (this.end = wasm.endFragment(this.id, textAt + to) - outAt[this.id]);
  }

  /** The bytes of all fragments so far: a view that is valid until the next fragment starts. */
  written(): Uint8Array<ArrayBuffer> {
    return memory.subarray(outAt[this.id], outAt[this.id] + this.end);
  }

  /** Ends the stream with the last block. */
  protected endStream(to: number): void {
    this.end = wasm.endDeflate(this.id, textAt + to) - outAt[this.id];
  }
}

/** Encodes a text as one gzip member. */
export class GzipEncoder extends DeflateEncoder {
  constructor() {
    super(0);
  }

  override begin(): void {
    super.begin(GZIP_HEAD);
  }

  /**
   * Ends the text.
   * @returns bytes that own their whole ArrayBuffer
   */
  finish(length: number): Uint8Array<ArrayBuffer> {
    this.endStream(length);
    const written = this.written();
    const gzip = new Uint8Array(written.length + GZIP_TRAILER_BYTES);
    gzip.set(written);
    const trailer = new DataView(gzip.buffer, written.length);
    trailer.setUint32(0, zlib.crc32(textBytes(length)), true);
    trailer.setUint32(4, length, true);
    return gzip;
  }
}
