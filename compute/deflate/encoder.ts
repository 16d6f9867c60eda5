/** Encoders of deflate and gzip, and the interface that they share with brotli's: of the page writer's text and its matches. */
import zlib from 'node:zlib';
import { BlockWriter, textBytes } from '../replay/page-writer.js';
import { BlockCodes } from './block-codes.js';
import { GZIP_HEAD, GZIP_TRAILER_BYTES } from './gzip.js';

/** Makes fragments of a text: each ends on a byte boundary and never ends the stream. */
export interface FragmentEncoder {
  /** How far back a match may reach, in bytes. */
  readonly maxDistance: number;
  /** Starts the page writer's text, which may still be written while it is being encoded. */
  begin(): void;
  /**
   * Encodes the text up to the end of the last match.
   *
   * @param matches three numbers for each: where it begins, its length (at least 3), and how far before it the same
   *   bytes begin
   * @throws RangeError if a match begins before the last one ends, or reaches back too far
   */
  take(matches: Uint32Array): void;
  /** Encodes the text up to a position as literals. */
  plain(to: number): void;
  /** Skips the text up to a position, as far as no fragment contains it yet. */
  skip(to: number): void;
  /**
   * Ends a fragment of the text.
   * @returns end of its bytes among the bytes of all fragments since begin(): see written()
   */
  endFragment(to: number): number;
  /** The bytes of all fragments so far: a view that is valid until the next fragment starts. */
  written(): Uint8Array<ArrayBuffer>;
}

const NO_BYTES = new Uint8Array(0);
export const MAX_DISTANCE_BYTES = 32_768;

/** Encodes the text as deflate blocks. */
export class DeflateEncoder implements FragmentEncoder {
  readonly maxDistance = MAX_DISTANCE_BYTES;
  protected readonly blocks: BlockWriter;
  private readonly codes: BlockCodes;
  private end = 0;

  /**
   * @param id which of the page writer's two writers of blocks it uses; only one of those that use it has a text
   * @param blocksAlike how many blocks may share codes; each block still states them
   */
  constructor(id: 0 | 1, blocksAlike = 1) {
    this.codes = new BlockCodes(blocksAlike);
    this.blocks = new BlockWriter(id, this.codes);
  }

  begin(prefix = NO_BYTES): void {
    this.codes.clear();
    this.blocks.begin(prefix);
    this.end = prefix.length;
  }

  take(matches: Uint32Array): void {
    this.blocks.take(matches);
  }

  plain(to: number): void {
    this.blocks.plain(to);
  }

  skip(to: number): void {
    this.blocks.skip(to);
  }

  /** Writes blocks, none marked as the last, and an empty stored block. */
  endFragment(to: number): number {
    return (this.end = this.blocks.endFragment(to));
  }

  written(): Uint8Array<ArrayBuffer> {
    return this.blocks.written(this.end);
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
    const end = this.blocks.end(length);
    const gzip = new Uint8Array(end + GZIP_TRAILER_BYTES);
    gzip.set(this.blocks.written(end));
    const trailer = new DataView(gzip.buffer, end);
    trailer.setUint32(0, zlib.crc32(textBytes(length)), true);
    trailer.setUint32(4, length, true);
    return gzip;
  }
}
