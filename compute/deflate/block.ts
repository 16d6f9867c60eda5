/**
 * A deflate block with codes of its own (RFC 1951, 3.2.7), from tokens: literals and matches. Page
 * text is mostly digits, so a token may stand for three literals at once: their codes are put
 * together once a block.
 */
import { DEFLATE_SLACK_BYTES, type BitWriter } from './bit-writer.js';
import { writeCodeLengths } from './code-lengths.js';
import { canonicalCodes, codeLengths, MAX_CODE_BITS } from './huffman.js';
import {
  DISTANCE_BASE,
  DISTANCE_EXTRA_BITS,
  DISTANCE_SYMBOLS,
  distanceSymbol,
  END_OF_BLOCK,
  LENGTH_EXTRA,
  LENGTH_EXTRA_BITS,
  LENGTH_SYMBOL,
  LITERAL_SYMBOLS,
  MAX_MATCH_BYTES,
  MIN_MATCH_BYTES,
} from './symbols.js';

/** The sixteen characters from `,` on: comma, minus, point, slash, digits, colon, semicolon. */
export const FIRST_DIGIT = 44;
/** Tokens below are three of them, from here on two, from BYTES on any one byte. */
export const PAIRS = 16 ** 3;
export const BYTES = PAIRS + 16 ** 2;
const LITERAL_TOKENS = BYTES + 256;
/** A match: this and its length; the token after it is the distance - 1. */
export const MATCH = 0x8000;

/** Tokens of a block. */
export const BLOCK_TOKENS = 32_768;
const BLOCK_TYPE_DYNAMIC = 2;
/** A distance's code and the 13 bits after it are put down at once, 24 bits at most. */
const MAX_DISTANCE_CODE_BITS = 11;
const MAX_PUT_BITS = 24;
/** Code lengths and all else that stands before a block's tokens. */
const MAX_BLOCK_HEAD_BYTES = 512;
/** In an entry of a table the number of bits stands above the bits. */
const BITS_SHIFT = 24;
const BITS_MASK = 0xff_ffff;

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
const symbolLengths = new Uint8Array(LITERAL_SYMBOLS);
const symbolCodes = new Uint16Array(LITERAL_SYMBOLS);
const distanceLengths = new Uint8Array(DISTANCE_SYMBOLS);
const distanceCodes = new Uint16Array(DISTANCE_SYMBOLS);
const literalEntries = new Uint32Array(LITERAL_TOKENS);
const lengthEntries = new Uint32Array(MAX_MATCH_BYTES + 1);

/** Writes the tokens as one block and clears them. */
export function writeBlock(writer: BitWriter, block: TokenBlock, isLast: boolean): void {
  countSymbols(block);
  codeLengths(symbolCounts, symbolLengths, MAX_CODE_BITS);
  codeLengths(block.distanceCounts, distanceLengths, MAX_DISTANCE_CODE_BITS);
  canonicalCodes(symbolLengths, symbolCodes);
  canonicalCodes(distanceLengths, distanceCodes);
  writer.reserve(MAX_BLOCK_HEAD_BYTES + Math.ceil(bodyBits(block) / 8) + DEFLATE_SLACK_BYTES);
  writer.put(isLast ? 1 : 0, 1);
  writer.put(BLOCK_TYPE_DYNAMIC, 2);
  writeCodeLengths(writer, symbolLengths, distanceLengths);
  fillLiteralEntries(block.literalCounts);
  fillLengthEntries();
  writeTokens(writer, block);
  writer.put(symbolCodes[END_OF_BLOCK], symbolLengths[END_OF_BLOCK]);
  block.clear();
}

function countSymbols({ literalCounts, lengthCounts }: TokenBlock): void {
  symbolCounts.fill(0);
  symbolCounts[END_OF_BLOCK] = 1;
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
  for (let length = MIN_MATCH_BYTES; length <= MAX_MATCH_BYTES; length++) {
    symbolCounts[LENGTH_SYMBOL[length]] += lengthCounts[length];
  }
}

/** What the tokens take, the block's head not counted. */
function bodyBits({ lengthCounts, distanceCounts }: TokenBlock): number {
  let bits = 0;
  for (let s = 0; s < LITERAL_SYMBOLS; s++) bits += symbolCounts[s] * symbolLengths[s];
  for (let length = MIN_MATCH_BYTES; length <= MAX_MATCH_BYTES; length++) {
    bits += lengthCounts[length] * LENGTH_EXTRA_BITS[length];
  }
  for (let s = 0; s < DISTANCE_SYMBOLS; s++) {
    bits += distanceCounts[s] * (distanceLengths[s] + DISTANCE_EXTRA_BITS[s]);
  }
  return bits;
}

/** An entry of 0 stands for literals that are too long together: they are put down one by one. */
function fillLiteralEntries(literalCounts: Uint32Array): void {
  for (let token = 0; token < PAIRS; token++) {
    if (literalCounts[token] === 0) continue;
    const a = FIRST_DIGIT + (token >> 8);
    const b = FIRST_DIGIT + ((token >> 4) & 15);
    const c = FIRST_DIGIT + (token & 15);
    const bits = symbolLengths[a] + symbolLengths[b] + symbolLengths[c];
    literalEntries[token] =
      bits > MAX_PUT_BITS ? 0 : entryOf(joined(b, c), symbolLengths[a], symbolCodes[a], bits);
  }
  for (let token = PAIRS; token < BYTES; token++) {
    const a = FIRST_DIGIT + ((token - PAIRS) >> 4);
    const b = FIRST_DIGIT + (token & 15);
    const bits = symbolLengths[a] + symbolLengths[b];
    literalEntries[token] =
      bits > MAX_PUT_BITS ? 0 : entryOf(symbolCodes[b], symbolLengths[a], symbolCodes[a], bits);
  }
  for (let byte = 0; byte < 256; byte++) {
    literalEntries[BYTES + byte] = entryOf(0, 0, symbolCodes[byte], symbolLengths[byte]);
  }
}

function joined(first: number, second: number): number {
  return symbolCodes[first] | (symbolCodes[second] << symbolLengths[first]);
}

function entryOf(rest: number, firstBits: number, first: number, bits: number): number {
  return (rest << firstBits) | first | (bits << BITS_SHIFT);
}

function fillLengthEntries(): void {
  for (let length = MIN_MATCH_BYTES; length <= MAX_MATCH_BYTES; length++) {
    const symbol = LENGTH_SYMBOL[length];
    const bits = symbolLengths[symbol];
    lengthEntries[length] = entryOf(
      LENGTH_EXTRA[length],
      bits,
      symbolCodes[symbol],
      bits + LENGTH_EXTRA_BITS[length],
    );
  }
}

/** The hot loop: fewer than 8 bits wait in `bits`, up to 24 come to them, whole bytes go out. */
function writeTokens(writer: BitWriter, { tokens, used }: TokenBlock): void {
  const { view } = writer;
  let { at, bits, count } = writer;
  for (let i = 0; i < used; i++) {
    const token = tokens[i];
    const entry = token < MATCH ? literalEntries[token] : lengthEntries[token & (MATCH - 1)];
    if (entry === 0) {
      writer.at = at;
      writer.bits = bits;
      writer.count = count;
      putApart(writer, token);
      ({ at, bits, count } = writer);
      continue;
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

function putApart(writer: BitWriter, token: number): void {
  const isTriple = token < PAIRS;
  const rest = isTriple ? token : token - PAIRS;
  for (let shift = isTriple ? 8 : 4; shift >= 0; shift -= 4) {
    const byte = FIRST_DIGIT + ((rest >> shift) & 15);
    writer.put(symbolCodes[byte], symbolLengths[byte]);
  }
}
