/** Writes tokens as deflate blocks with dynamic codes (RFC 1951, 3.2.7). */
import {
  addTo,
  BITS_MASK,
  BITS_SHIFT,
  BYTES,
  clearBlock,
  DISTANCE_BASES,
  DISTANCE_EXTRA_BITS,
  distanceSymbol,
  Encoder,
  END_OF_BLOCK,
  FIRST_DIGIT,
  increment,
  LENGTH_EXTRAS,
  LENGTH_SYMBOLS,
  LITERAL_SYMBOLS,
  LITERAL_TOKENS,
  MATCH,
  MAX_MATCH_BYTES,
  MIN_MATCH_BYTES,
  PAIRS,
  put,
  SYMBOL_COUNTS,
} from './encoder';

/** With fewer tokens, symbols are counted token by token, otherwise from the counts of all possible tokens. */
const FEW_TOKENS: u32 = 4096;
const BLOCK_TYPE_DYNAMIC: u32 = 2;

/**
 * Makes codes for encoder `e`: from `symbolCounts()` and its counts of distances, into its codes, lengths and head.
 */
declare function makeCodes(e: u32): void;

/** Writes the tokens as a block, and clears them. */
export function writeBlock(e: u32, encoder: Encoder, isLast: bool): void {
  countSymbols(encoder);
  makeCodes(e);
  memory.fill(encoder.literalEntries, 0, 4 * LITERAL_TOKENS);
  for (let length = MIN_MATCH_BYTES; length <= MAX_MATCH_BYTES; length++) {
    const symbol: u32 = load<u16>(LENGTH_SYMBOLS + (length << 1));
    store<u32>(encoder.lengthEntries + (length << 2), lengthEntry(encoder, length, symbol));
  }
  put(encoder, isLast ? 1 : 0, 1);
  put(encoder, BLOCK_TYPE_DYNAMIC, 2);
  let bits = encoder.headBits;
  let from = encoder.head;
  for (; bits >= 8; bits -= 8) put(encoder, load<u8>(from++), 8);
  if (bits > 0) put(encoder, load<u8>(from), bits);
  writeTokens(encoder);
  put(
    encoder,
    load<u16>(encoder.symbolCodes + (END_OF_BLOCK << 1)),
    load<u8>(encoder.symbolLengths + END_OF_BLOCK),
  );
  clearBlock(encoder);
}

function lengthEntry(encoder: Encoder, length: u32, symbol: u32): u32 {
  const bits: u32 = load<u8>(encoder.symbolLengths + symbol);
  const extra = load<u32>(LENGTH_EXTRAS + (length << 2));
  const code: u32 = load<u16>(encoder.symbolCodes + (symbol << 1));
  const all = code | ((extra & BITS_MASK) << bits);
  return all | ((bits + (extra >> BITS_SHIFT)) << BITS_SHIFT);
}

function countSymbols(encoder: Encoder): void {
  memory.fill(SYMBOL_COUNTS, 0, 4 * LITERAL_SYMBOLS);
  increment(SYMBOL_COUNTS, END_OF_BLOCK);
  if (encoder.used < FEW_TOKENS) countTokens(encoder);
  else {
    for (let token: u32 = 0; token < LITERAL_TOKENS; token++) {
      const count = load<u32>(encoder.literalCounts + (token << 2));
      if (count > 0) countLiterals(token, count);
    }
  }
  for (let length = MIN_MATCH_BYTES; length <= MAX_MATCH_BYTES; length++) {
    const count = load<u32>(encoder.lengthCounts + (length << 2));
    addTo(SYMBOL_COUNTS, load<u16>(LENGTH_SYMBOLS + (length << 1)), count);
  }
}

function countTokens(encoder: Encoder): void {
  const end = encoder.tokens + (encoder.used << 1);
  for (let at = encoder.tokens; at < end; at += 2) {
    const token: u32 = load<u16>(at);
    if (token >= MATCH) at += 2;
    else countLiterals(token, 1);
  }
}

/** Counts the symbols of a literal token. */
function countLiterals(token: u32, count: u32): void {
  if (token >= BYTES) {
    addTo(SYMBOL_COUNTS, token - BYTES, count);
    return;
  }
  const rest = token < PAIRS ? token : token - PAIRS;
  if (token < PAIRS) addTo(SYMBOL_COUNTS, FIRST_DIGIT + (rest >> 8), count);
  addTo(SYMBOL_COUNTS, FIRST_DIGIT + ((rest >> 4) & 15), count);
  addTo(SYMBOL_COUNTS, FIRST_DIGIT + (rest & 15), count);
}

/** The hot loop. `bits` holds fewer than 8 bits; each step adds up to 44 and writes the whole bytes. */
function writeTokens(encoder: Encoder): void {
  const literals = encoder.literalEntries;
  const lengths = encoder.lengthEntries;
  const end = encoder.tokens + (encoder.used << 1);
  let at = encoder.at;
  let bits = encoder.bits;
  let count = encoder.count;
  for (let next = encoder.tokens; next < end; next += 2) {
    const token: u32 = load<u16>(next);
    if (token < MATCH) {
      let entry = load<u32>(literals + (token << 2));
      if (entry === 0) entry = newEntry(encoder, token);
      if (entry === 0) {
        encoder.at = at;
        encoder.bits = bits;
        encoder.count = count;
        putLiterals(encoder, token);
        at = encoder.at;
        bits = encoder.bits;
        count = encoder.count;
        continue;
      }
      bits |= (<u64>(entry & BITS_MASK)) << count;
      count += entry >> BITS_SHIFT;
    } else {
      const entry = load<u32>(lengths + ((token & (MATCH - 1)) << 2));
      bits |= (<u64>(entry & BITS_MASK)) << count;
      count += entry >> BITS_SHIFT;
      next += 2;
      const distance = <u32>load<u16>(next) + 1;
      const symbol = distanceSymbol(distance);
      bits |= (<u64>load<u16>(encoder.distanceCodes + (symbol << 1))) << count;
      count += load<u8>(encoder.distanceLengths + symbol);
      bits |= (<u64>(distance - load<u16>(DISTANCE_BASES + (symbol << 1)))) << count;
      count += load<u8>(DISTANCE_EXTRA_BITS + symbol);
    }
    store<u64>(at, bits);
    at += count >> 3;
    bits >>= count & 56;
    count &= 7;
  }
  encoder.at = at;
  encoder.bits = bits;
  encoder.count = count;
}

/** Makes the entry of a literal token; 0 if its codes are too long together. */
function newEntry(encoder: Encoder, token: u32): u32 {
  let bits: u64 = 0;
  let count: u32 = 0;
  const symbols = symbolsOf(token);
  for (let rest = symbols; rest > 0; rest >>= 8) {
    const symbol = rest & 255;
    bits |= (<u64>load<u16>(encoder.symbolCodes + (symbol << 1))) << count;
    count += load<u8>(encoder.symbolLengths + symbol);
  }
  if (symbols === 0) {
    bits = load<u16>(encoder.symbolCodes);
    count = load<u8>(encoder.symbolLengths);
  }
  if (count > BITS_SHIFT) return 0;
  const entry = <u32>bits | (count << BITS_SHIFT);
  store<u32>(encoder.literalEntries + (token << 2), entry);
  return entry;
}

/** The literals of a token, the first one lowest. */
function symbolsOf(token: u32): u32 {
  if (token >= BYTES) return token - BYTES;
  const rest = token < PAIRS ? token : token - PAIRS;
  const lastTwo = (FIRST_DIGIT + ((rest >> 4) & 15)) | ((FIRST_DIGIT + (rest & 15)) << 8);
  return token < PAIRS ? (FIRST_DIGIT + (rest >> 8)) | (lastTwo << 8) : lastTwo;
}

/** Writes a token's literals one by one. */
function putLiterals(encoder: Encoder, token: u32): void {
  for (let rest = symbolsOf(token); rest > 0; rest >>= 8) {
    const symbol = rest & 255;
    put(
      encoder,
      load<u16>(encoder.symbolCodes + (symbol << 1)),
      load<u8>(encoder.symbolLengths + symbol),
    );
  }
}
