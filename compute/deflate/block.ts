/**
 * Deflate blocks with codes of their own (RFC 1951, 3.2.7), from tokens: literals and matches. Page
 * text is mostly digits, so a token may stand for three literals at once: their codes are put
 * together when they are first needed.
 */
import { DEFLATE_SLACK_BYTES, type BitWriter } from './bit-writer.js';
import { BITS_MASK, BITS_SHIFT, MAX_BLOCK_HEAD_BYTES, type BlockCodes } from './block-codes.js';
import {
  DISTANCE_BASE,
  DISTANCE_EXTRA_BITS,
  DISTANCE_SYMBOLS,
  distanceSymbol,
  END_OF_BLOCK,
  LENGTH_SYMBOL,
  LITERAL_SYMBOLS,
  MAX_MATCH_BYTES,
  MIN_MATCH_BYTES,
} from './symbols.js';
import { BYTES, FIRST_DIGIT, LITERAL_TOKENS, MATCH, PAIRS } from './tokens.js';

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
