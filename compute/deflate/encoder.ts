/** Who takes a text from its beginning to its end, by where it repeats itself. */
import zlib from 'node:zlib';
import { BitWriter, DEFLATE_SLACK_BYTES } from './prefix-codes.js';
import {
  BITS_MASK,
  BITS_SHIFT,
  BlockCodes,
  BYTES,
  DISTANCE_BASE,
  DISTANCE_EXTRA_BITS,
  DISTANCE_SYMBOLS,
  distanceSymbol,
  END_OF_BLOCK,
  FIRST_DIGIT,
  LENGTH_SYMBOL,
  LITERAL_SYMBOLS,
  LITERAL_TOKENS,
  MATCH,
  MAX_BLOCK_HEAD_BYTES,
  MAX_DISTANCE_BYTES,
  MAX_MATCH_BYTES,
  MIN_MATCH_BYTES,
  PAIRS,
} from './block-codes.js';

/** What lies between two matches is taken as it is. */
export interface MatchTaker {
  /** Up to here the text has been taken. */
  readonly taken: number;
  /** Matches reach back so many bytes at most. */
  readonly maxDistance: number;
  /** Begins a text; its bytes may still be written while it is taken. */
  begin(text: Uint8Array<ArrayBuffer>): void;
  /**
   * Says that `text[from..from + length)` stands `distance` bytes before it as well.
   *
   * @param from at or after `taken`
   * @param length 3 at least
   * @param distance 1 to maxDistance, and not before the text
   * @throws RangeError where it is none of these: better no text than another one
   */
  match(from: number, length: number, distance: number): void;
}

/** Makes fragments of a text: each ends at a byte's end and is not the last of its stream. */
export interface FragmentEncoder extends MatchTaker {
  /** Takes the text up to `to` as it is. */
  plain(to: number): void;
  /** Leaves out the text up to `to`, as far as it is in no fragment yet. */
  skip(to: number): void;
  /**
   * Ends a fragment of the text.
   * @returns where its bytes end, among those of all fragments since begin(): see written()
   */
  endFragment(to: number): number;
  /** Bytes of the fragments so far: a view that lasts until the next one is begun. */
  written(): Uint8Array<ArrayBuffer>;
}

/** @throws RangeError where a match is none that a taker with this reach may be told of */
export function checkMatch(
  from: number,
  distance: number,
  { taken, maxDistance }: MatchTaker,
): void {
  if (from < taken || distance < 1 || distance > maxDistance || distance > from) {
    throw new RangeError(`no match: ${distance} bytes before ${from}, ${taken} taken`);
  }
}

// What stands around the deflate blocks of a gzip member (RFC 1952).

/** Deflate, no name, no time, made under Unix. */
export const GZIP_HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3);
/** CRC-32 and length of the text. */
export const GZIP_TRAILER_BYTES = 8;

// Deflate blocks with codes of their own (RFC 1951, 3.2.7), from tokens: literals and matches. Page
// text is mostly digits, so a token may stand for three literals at once: their codes are put
// together when they are first needed.

/** Tokens of a block. */
export const BLOCK_TOKENS = 32_768;
/** Of fewer tokens than this each is looked at, instead of how often each possible one occurs. */
const FEW_TOKENS = 4096;
const BLOCK_TYPE_DYNAMIC = 2;

/** Tokens that wait to be written, and how often each symbol occurs among them. */
export class TokenBlock {
  readonly tokens = new Uint16Array(BLOCK_TOKENS);
  readonly literalCounts = new Uint32Array(LITERAL_TOKENS);
  readonly lengthCounts = new Uint32Array(MAX_MATCH_BYTES + 1);
  readonly distanceCounts = new Uint32Array(DISTANCE_SYMBOLS);
  used = 0;

  clear(): void {
    this.used = 0;
    this.literalCounts.fill(0);
    this.lengthCounts.fill(0);
    this.distanceCounts.fill(0);
  }
}

const symbolCounts = new Uint32Array(LITERAL_SYMBOLS);

/** Writes the tokens as one block and clears them. */
export function writeBlock(
  writer: BitWriter,
  block: TokenBlock,
  codes: BlockCodes,
  isLast: boolean,
): void {
  countSymbols(block);
  const bodyBits = codes.take(symbolCounts, block.distanceCounts);
  writer.reserve(MAX_BLOCK_HEAD_BYTES + Math.ceil(bodyBits / 8) + DEFLATE_SLACK_BYTES);
  writer.put(isLast ? 1 : 0, 1);
  writer.put(BLOCK_TYPE_DYNAMIC, 2);
  codes.writeHead(writer);
  writeTokens(writer, block, codes);
  writer.put(codes.symbolCodes[END_OF_BLOCK], codes.symbolLengths[END_OF_BLOCK]);
  block.clear();
}

function countSymbols(block: TokenBlock): void {
  const { lengthCounts } = block;
  symbolCounts.fill(0);
  symbolCounts[END_OF_BLOCK] = 1;
  if (block.used < FEW_TOKENS) countTokens(block);
  else countLiterals(block);
  for (let length = MIN_MATCH_BYTES; length <= MAX_MATCH_BYTES; length++) {
    symbolCounts[LENGTH_SYMBOL[length]] += lengthCounts[length];
  }
}

/** The literals' symbols, by each token. */
function countTokens({ tokens, used }: TokenBlock): void {
  for (let i = 0; i < used; i++) {
    const token = tokens[i];
    if (token >= MATCH) i++;
    else if (token < PAIRS) {
      symbolCounts[FIRST_DIGIT + (token >> 8)]++;
      symbolCounts[FIRST_DIGIT + ((token >> 4) & 15)]++;
      symbolCounts[FIRST_DIGIT + (token & 15)]++;
    } else if (token < BYTES) {
      symbolCounts[FIRST_DIGIT + ((token - PAIRS) >> 4)]++;
      symbolCounts[FIRST_DIGIT + (token & 15)]++;
    } else symbolCounts[token - BYTES]++;
  }
}

/** The same, by how often each possible token occurs. */
function countLiterals({ literalCounts }: TokenBlock): void {
  for (let token = 0; token < PAIRS; token++) {
    const count = literalCounts[token];
    if (count === 0) continue;
    symbolCounts[FIRST_DIGIT + (token >> 8)] += count;
    symbolCounts[FIRST_DIGIT + ((token >> 4) & 15)] += count;
    symbolCounts[FIRST_DIGIT + (token & 15)] += count;
  }
  for (let token = PAIRS; token < BYTES; token++) {
    const count = literalCounts[token];
    symbolCounts[FIRST_DIGIT + ((token - PAIRS) >> 4)] += count;
    symbolCounts[FIRST_DIGIT + (token & 15)] += count;
  }
  for (let byte = 0; byte < 256; byte++) symbolCounts[byte] += literalCounts[BYTES + byte];
}

/** The hot loop: fewer than 8 bits wait in `bits`, up to 24 come to them, whole bytes go out. */
function writeTokens(writer: BitWriter, { tokens, used }: TokenBlock, codes: BlockCodes): void {
  const { view } = writer;
  const { literalEntries, lengthEntries, distanceLengths, distanceCodes } = codes;
  let { at, bits, count } = writer;
  for (let i = 0; i < used; i++) {
    const token = tokens[i];
    let entry = token < MATCH ? literalEntries[token] : lengthEntries[token & (MATCH - 1)];
    if (entry === 0) {
      entry = codes.newEntry(token);
      if (entry === 0) {
        writer.at = at;
        writer.bits = bits;
        writer.count = count;
        codes.putApart(writer, token);
        ({ at, bits, count } = writer);
        continue;
      }
    }
    bits |= (entry & BITS_MASK) << count;
    count += entry >>> BITS_SHIFT;
    view.setInt32(at, bits, true);
    at += count >> 3;
    bits >>>= count & 24;
    count &= 7;
    if (token < MATCH) continue;
    const distance = tokens[++i] + 1;
    const symbol = distanceSymbol(distance);
    const codeBits = distanceLengths[symbol];
    bits |= (distanceCodes[symbol] | ((distance - DISTANCE_BASE[symbol]) << codeBits)) << count;
    count += codeBits + DISTANCE_EXTRA_BITS[symbol];
    view.setInt32(at, bits, true);
    at += count >> 3;
    bits >>>= count & 24;
    count &= 7;
  }
  writer.at = at;
  writer.bits = bits;
  writer.count = count;
}

// A text as deflate blocks, or as one gzip member (RFC 1952), from matches that the caller names.

/** Type of a stored block. */
const BLOCK_TYPE_STORED = 0;
/** A stored block's length of 0, and that length's complement. */
const EMPTY_STORED = 0xffff_0000;

/**
 * Takes a text from its beginning to its end: match() where bytes stand as they did before, anything
 * between two matches is written as it is. What it works in is kept from text to text.
 */
export class DeflateEncoder implements FragmentEncoder {
  readonly maxDistance = MAX_DISTANCE_BYTES;
  protected readonly block = new TokenBlock();
  protected readonly writer = new BitWriter();
  protected readonly codes: BlockCodes;
  protected text: Uint8Array = new Uint8Array(0);
  /** Up to here the text has been taken. */
  taken = 0;
  /** Where the bytes of the fragment in work begin. */
  private fragmentStart = 0;

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
    this.fragmentStart = 0;
  }

  plain(to: number): void {
    while (to - this.taken > BLOCK_TOKENS) this.run(this.taken + BLOCK_TOKENS);
    this.run(to);
  }

  skip(to: number): void {
    this.taken = to;
    if (this.block.used > 0) this.block.clear();
    // Blocks of it may have been written before it was known that it is left out.
    this.writer.goBackTo(this.fragmentStart);
  }

  /** Writes blocks of which none is the last, and an empty stored one. */
  endFragment(to: number): number {
    this.plain(to);
    const { writer } = this;
    writeBlock(writer, this.block, this.codes, false);
    writer.reserve(2 * DEFLATE_SLACK_BYTES);
    writer.put(BLOCK_TYPE_STORED << 1, 3);
    writer.align();
    writer.view.setUint32(writer.at, EMPTY_STORED, true);
    writer.at += 4;
    return (this.fragmentStart = writer.at);
  }

  written(): Uint8Array<ArrayBuffer> {
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
