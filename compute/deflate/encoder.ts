/** A text as one gzip member (RFC 1952), from matches that the caller names. */
import zlib from 'node:zlib';
import { BitWriter, DEFLATE_SLACK_BYTES } from './bit-writer.js';
import { BLOCK_TOKENS, BYTES, FIRST_DIGIT, MATCH, PAIRS, TokenBlock, writeBlock } from './block.js';
import { distanceSymbol, MAX_MATCH_BYTES, MIN_MATCH_BYTES } from './symbols.js';

/** Deflate, no name, no time, made under Unix. */
const GZIP_HEAD = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
const GZIP_TRAILER_BYTES = 8;

/**
 * Takes a text from its beginning to its end: match() where bytes stand as they did before, anything
 * between two matches is written as it is. What it works in is kept from text to text.
 */
export class GzipEncoder {
  readonly #block = new TokenBlock();
  readonly #writer = new BitWriter();
  #text = new Uint8Array(0);
  /** Up to here the text has been taken. */
  taken = 0;

  /** Begins a text; its bytes may still be written while it is taken. */
  begin(text: Uint8Array<ArrayBuffer>): void {
    this.#text = text;
    this.taken = 0;
    this.#block.clear();
    this.#writer.clear();
    this.#writer.reserve(GZIP_HEAD.length + DEFLATE_SLACK_BYTES);
    for (const byte of GZIP_HEAD) this.#writer.put(byte, 8);
  }

  /**
   * Says that `text[from..from + length)` stands `distance` bytes before it as well.
   *
   * @param from at or after `taken`
   * @param length 3 at least
   * @param distance 1 to 32,768, and not before the text
   */
  match(from: number, length: number, distance: number): void {
    this.#literals(from);
    this.taken = from + length;
    while (length > MAX_MATCH_BYTES) {
      // What is left has to be a match, too.
      const part = Math.min(MAX_MATCH_BYTES, length - MIN_MATCH_BYTES);
      this.#put(part, distance);
      length -= part;
    }
    this.#put(length, distance);
  }

  /**
   * Ends the text.
   *
   * @returns bytes that own their whole ArrayBuffer
   */
  end(length: number): Uint8Array<ArrayBuffer> {
    this.#literals(length);
    writeBlock(this.#writer, this.#block, true);
    const writer = this.#writer;
    writer.align();
    writer.reserve(GZIP_TRAILER_BYTES + DEFLATE_SLACK_BYTES);
    const { view, at } = writer;
    view.setUint32(at, zlib.crc32(this.#text.subarray(0, length)), true);
    view.setUint32(at + 4, length, true);
    writer.at += GZIP_TRAILER_BYTES;
    this.#text = new Uint8Array(0);
    return writer.written().slice();
  }

  #put(length: number, distance: number): void {
    const block = this.#block;
    if (block.used + 2 > BLOCK_TOKENS) writeBlock(this.#writer, block, false);
    const { tokens, used } = block;
    tokens[used] = MATCH | length;
    tokens[used + 1] = distance - 1;
    block.used = used + 2;
    block.lengthCounts[length]++;
    block.distanceCounts[distanceSymbol(distance)]++;
  }

  #literals(to: number): void {
    while (to - this.taken > BLOCK_TOKENS) this.#run(this.taken + BLOCK_TOKENS);
    this.#run(to);
  }

  /** Literals up to `to`, not more than a block holds. */
  #run(to: number): void {
    const block = this.#block;
    const text = this.#text;
    let at = this.taken;
    this.taken = to;
    if (block.used + to - at > BLOCK_TOKENS) writeBlock(this.#writer, block, false);
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
