/** A text as deflate blocks, or as one gzip member (RFC 1952), from matches that the caller names. */
import zlib from 'node:zlib';
import { BitWriter, DEFLATE_SLACK_BYTES } from './bit-writer.js';
import { BlockCodes } from './block-codes.js';
import { BLOCK_TOKENS, TokenBlock, writeBlock } from './block.js';
import { GZIP_HEAD, GZIP_TRAILER_BYTES } from './gzip.js';
import { checkMatch, type PieceEncoder } from './match-taker.js';
import { distanceSymbol, MAX_DISTANCE_BYTES, MAX_MATCH_BYTES, MIN_MATCH_BYTES } from './symbols.js';
import { BYTES, FIRST_DIGIT, MATCH, PAIRS } from './tokens.js';

/** Type of a stored block. */
const BLOCK_TYPE_STORED = 0;
/** A stored block's length of 0, and that length's complement. */
const EMPTY_STORED = 0xffff_0000;

/**
 * Takes a text from its beginning to its end: match() where bytes stand as they did before, anything
 * between two matches is written as it is. What it works in is kept from text to text.
 */
export class DeflateEncoder implements PieceEncoder {
  readonly maxDistance = MAX_DISTANCE_BYTES;
  protected readonly block = new TokenBlock();
  protected readonly writer = new BitWriter();
  protected readonly codes: BlockCodes;
  protected text: Uint8Array = new Uint8Array(0);
  /** Up to here the text has been taken. */
  taken = 0;
  /** Where the bytes of the piece in work begin. */
  private pieceStart = 0;

  /** @param blocksAlike blocks that may have the same codes, where each has to say what they are */
  constructor(blocksAlike = 1) {
    this.codes = new BlockCodes(blocksAlike);
  }

  begin(text: Uint8Array<ArrayBuffer>): void {
    this.text = text;
    this.taken = 0;
    this.codes.clear();
    this.block.clear();
    this.writer.clear();
    this.pieceStart = 0;
  }

  plain(to: number): void {
    while (to - this.taken > BLOCK_TOKENS) this.run(this.taken + BLOCK_TOKENS);
    this.run(to);
  }

  skip(to: number): void {
    this.taken = to;
    if (this.block.used > 0) this.block.clear();
    // Blocks of it may have been written before it was known that it is left out.
    this.writer.goBackTo(this.pieceStart);
  }

  /** Writes blocks of which none is the last, and an empty stored one. */
  endPiece(to: number): number {
    this.plain(to);
    const { writer } = this;
    writeBlock(writer, this.block, this.codes, false);
    writer.reserve(2 * DEFLATE_SLACK_BYTES);
    writer.put(BLOCK_TYPE_STORED << 1, 3);
    writer.align();
    writer.view.setUint32(writer.at, EMPTY_STORED, true);
    writer.at += 4;
    return (this.pieceStart = writer.at);
  }

  pieces(): Uint8Array<ArrayBuffer> {
    return this.writer.written();
  }

  match(from: number, length: number, distance: number): void {
    checkMatch(from, distance, this);
    this.plain(from);
    this.taken = from + length;
    while (length > MAX_MATCH_BYTES) {
      // What is left has to be a match, too.
      const part = Math.min(MAX_MATCH_BYTES, length - MIN_MATCH_BYTES);
      this.put(part, distance);
      length -= part;
    }
    this.put(length, distance);
  }

  private put(length: number, distance: number): void {
    const block = this.block;
    if (block.used + 2 > BLOCK_TOKENS) writeBlock(this.writer, block, this.codes, false);
    const { tokens, used } = block;
    tokens[used] = MATCH | length;
    tokens[used + 1] = distance - 1;
    block.used = used + 2;
    block.lengthCounts[length]++;
    block.distanceCounts[distanceSymbol(distance)]++;
  }

  /** Literals up to `to`, not more than a block holds. */
  private run(to: number): void {
    const block = this.block;
    const text = this.text;
    let at = this.taken;
    this.taken = to;
    if (block.used + to - at > BLOCK_TOKENS) writeBlock(this.writer, block, this.codes, false);
    const { tokens, literalCounts } = block;
    let used = block.used;
    const triples = to - 3;
    while (at <= triples) {
      const a = text[at] - FIRST_DIGIT;
      const b = text[at + 1] - FIRST_DIGIT;
      const c = text[at + 2] - FIRST_DIGIT;
      let token = (a << 8) | (b << 4) | c;
      if (((a | b | c) & ~15) === 0) at += 3;
      else {
        token = BYTES + FIRST_DIGIT + a;
        at++;
      }
      literalCounts[token]++;
      tokens[used++] = token;
    }
    while (at < to) {
      const a = text[at] - FIRST_DIGIT;
      let token = BYTES + FIRST_DIGIT + a;
      at++;
      if (at < to) {
        const b = text[at] - FIRST_DIGIT;
        if (((a | b) & ~15) === 0) {
          token = PAIRS + ((a << 4) | b);
          at++;
        }
      }
      literalCounts[token]++;
      tokens[used++] = token;
    }
    block.used = used;
  }
}

/** The same as one gzip member. */
export class GzipEncoder extends DeflateEncoder {
  override begin(text: Uint8Array<ArrayBuffer>): void {
    super.begin(text);
    this.writer.reserve(GZIP_HEAD.length + DEFLATE_SLACK_BYTES);
    for (const byte of GZIP_HEAD) this.writer.put(byte, 8);
  }

  /**
   * Ends the text.
   *
   * @returns bytes that own their whole ArrayBuffer
   */
  end(length: number): Uint8Array<ArrayBuffer> {
    this.plain(length);
    const { writer } = this;
    writeBlock(writer, this.block, this.codes, true);
    writer.align();
    writer.reserve(GZIP_TRAILER_BYTES + DEFLATE_SLACK_BYTES);
    const { view, at } = writer;
    view.setUint32(at, zlib.crc32(this.text.subarray(0, length)), true);
    view.setUint32(at + 4, length, true);
    writer.at += GZIP_TRAILER_BYTES;
    this.text = new Uint8Array(0);
    return writer.written().slice();
  }
}
