/** Deflate and gzip encoders for matches that the caller finds, and the interfaces that they share with brotli's. */
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

/** Encodes a text from beginning to end: the caller passes the matches, and the text between them becomes literals. */
export interface MatchSink {
  /** The text is encoded up to here. */
  readonly taken: number;
  /** How far back a match may reach, in bytes. */
  readonly maxDistance: number;
  /** Starts a text; its bytes may still be written while it is being encoded. */
  begin(text: Uint8Array<ArrayBuffer>): void;
  /**
   * Encodes `text[from..from + length)`, which repeats the bytes `distance` before it.
   *
   * @param from not before `taken`
   * @param length 3 at least
   * @param distance 1 to maxDistance, and not before the text
   * @throws RangeError for other values: they would encode a different text
   */
  match(from: number, length: number, distance: number): void;
}

/** Makes fragments of a text: each ends on a byte boundary and never ends the stream. */
export interface FragmentEncoder extends MatchSink {
  /** Encodes the text up to `to` as literals. */
  plain(to: number): void;
  /** Skips the text up to `to`, as far as no fragment contains it yet. */
  skip(to: number): void;
  /**
   * Ends a fragment of the text.
   * @returns end of its bytes among the bytes of all fragments since begin(): see written()
   */
  endFragment(to: number): number;
  /** The bytes of all fragments so far: a view that is valid until the next fragment starts. */
  written(): Uint8Array<ArrayBuffer>;
}

/** @throws RangeError if the encoder cannot use the match */
export function checkMatch(
  from: number,
  distance: number,
  { taken, maxDistance }: MatchSink,
): void {
  if (from < taken || distance < 1 || distance > maxDistance || distance > from) {
    throw new RangeError(`no match: ${distance} bytes before ${from}, ${taken} taken`);
  }
}

/** Gzip's header (RFC 1952): deflate, no name, no time, Unix. */
export const GZIP_HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3);
/** Gzip's trailer: CRC-32 and length of the text. */
export const GZIP_TRAILER_BYTES = 8;

const BLOCK_TOKENS = 32_768;
/** With fewer tokens, symbols are counted token by token, otherwise from the counts of all possible tokens. */
const FEW_TOKENS = 4096;
const BLOCK_TYPE_DYNAMIC = 2;

/** The tokens of the next block, and their counts. A token may be three digits at once: page text is mostly digits. */
class TokenBlock {
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

/** Writes the tokens as a block with dynamic codes (RFC 1951, 3.2.7) and clears them. */
function writeBlock(
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

/** Counts the literals' symbols token by token. */
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

/** Like countTokens(), from the counts of all possible tokens. */
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

/** The hot loop. `bits` holds fewer than 8 bits; each step adds up to 24 and writes the whole bytes. */
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
        codes.putLiterals(writer, token);
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

const BLOCK_TYPE_STORED = 0;
/** The length 0 of a stored block, and its complement. */
const EMPTY_STORED = 0xffff_0000;

/**
 * Encodes a text as deflate blocks. Its memory is reused from text to text.
 */
export class DeflateEncoder implements FragmentEncoder {
  readonly maxDistance = MAX_DISTANCE_BYTES;
  protected readonly block = new TokenBlock();
  protected readonly writer = new BitWriter();
  protected readonly codes: BlockCodes;
  protected text: Uint8Array = new Uint8Array(0);
  /** The text is encoded up to here. */
  taken = 0;
  /** Where the current fragment's bytes begin. */
  private fragmentStart = 0;

  /** @param blocksAlike how many blocks may share codes; each block still states them */
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
    // Blocks of the skipped text may have been written already.
    this.writer.rewindTo(this.fragmentStart);
  }

  /** Writes blocks, none marked as the last, and an empty stored block, which ends on a byte boundary. */
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
      // The rest must still be long enough for a match.
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

  /** Adds literals up to `to`, at most as many as a block holds. */
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

/** Encodes a text as one gzip member. */
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
