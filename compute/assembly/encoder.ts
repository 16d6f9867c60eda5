/** The two encoders of deflate: their alphabets (RFC 1951, 3.2.5), tables and bits. */

export const MIN_MATCH_BYTES: u32 = 3;
export const MAX_MATCH_BYTES: u32 = 258;
export const MAX_DISTANCE_BYTES: u32 = 32_768;
export const LITERAL_SYMBOLS: u32 = 286;
const DISTANCE_SYMBOLS: u32 = 30;
export const END_OF_BLOCK: u32 = 256;
const FIRST_LENGTH_SYMBOL: u32 = 257;

/** The sixteen characters from `,` on: comma, minus, point, slash, digits, colon, semicolon. */
export const FIRST_DIGIT: u32 = 44;
/** Tokens below PAIRS are three of these characters, those below BYTES two; the others are any single byte. */
export const PAIRS: u32 = 4096;
export const BYTES: u32 = PAIRS + 256;
export const LITERAL_TOKENS: u32 = BYTES + 256;
/** A match: this plus its length; the next token is its distance - 1. */
export const MATCH: u32 = 0x8000;

export const BLOCK_TOKENS: u32 = 32_768;

/** A table's entry has the bits of a code in its low part, and their number above. */
export const BITS_SHIFT: u32 = 24;
export const BITS_MASK: u32 = 0xff_ffff;

/** By length: its symbol, and an entry with the bits after the symbol's code. */
export const LENGTH_SYMBOLS: usize = memory.data(2 * (MAX_MATCH_BYTES + 1), 16);
export const LENGTH_EXTRAS: usize = memory.data(4 * (MAX_MATCH_BYTES + 1), 16);
/** By symbol: bits after its code, and the shortest distance that it stands for. */
export const DISTANCE_EXTRA_BITS: usize = memory.data(DISTANCE_SYMBOLS, 16);
export const DISTANCE_BASES: usize = memory.data(2 * DISTANCE_SYMBOLS, 16);
/** Symbols of distances by distance - 1 below NEAR, by (distance - 1) >> FAR_SHIFT from there on. */
const NEAR: u32 = 256;
const FAR_SHIFT: u32 = 7;
const NEAR_SYMBOLS: usize = memory.data(NEAR, 16);
const FAR_SYMBOLS: usize = memory.data(MAX_DISTANCE_BYTES >> FAR_SHIFT, 16);

/** The symbols' counts (u32) of the block that is about to be written. */
export const SYMBOL_COUNTS: usize = memory.data(4 * LITERAL_SYMBOLS, 16);

/** Bytes of a head at most: everything before a block's tokens. */
const MAX_HEAD_BYTES: u32 = 512;

@unmanaged
export class Encoder {
  /** The text is encoded up to this address. */
  encoded: u32;
  /** Where the bytes of the fragments, and of the current one, begin. */
  out: usize;
  fragmentStart: usize;
  /** The end of the whole bytes, the remaining bits (lowest first), and their number, below 8. */
  at: usize;
  bits: u64;
  count: u32;
  /** The tokens (u16) of the next block; three digits may be one token: page text is mostly digits. */
  tokens: usize;
  used: u32;
  /** How often each literal token, each length and each distance's symbol is among them (u32). */
  literalCounts: usize;
  lengthCounts: usize;
  distanceCounts: usize;
  /** By literal token and by length: an entry, 0 if it is not made yet. */
  literalEntries: usize;
  lengthEntries: usize;
  /** The block's codes and their lengths (u16, u8), by symbol; the caller makes them. */
  symbolCodes: usize;
  symbolLengths: usize;
  distanceCodes: usize;
  distanceLengths: usize;
  /** The head that states the codes, and its number of bits. */
  head: usize;
  headBits: u32;
}

/** Entries of the tables by length, symbol and distance's symbol: all tables begin at multiples of four. */
const LENGTHS: u32 = 260;
const SYMBOLS: u32 = 288;
const DISTANCES: u32 = 32;
const TABLES_BYTES: u32 =
  2 * BLOCK_TOKENS +
  2 * 4 * (LITERAL_TOKENS + LENGTHS) +
  4 * DISTANCES +
  3 * (SYMBOLS + DISTANCES) +
  MAX_HEAD_BYTES;
const ENCODERS: usize = memory.data(2 * offsetof<Encoder>(), 16);
const TABLES: usize = memory.data(2 * TABLES_BYTES, 16);

fillTables();

function fillTables(): void {
  let length = MIN_MATCH_BYTES;
  for (let symbol = FIRST_LENGTH_SYMBOL; symbol < LITERAL_SYMBOLS - 1; symbol++) {
    const step = symbol - FIRST_LENGTH_SYMBOL;
    const extraBits: u32 = step < 8 ? 0 : (step >> 2) - 1;
    for (let extra: u32 = 0; extra < 1 << extraBits; extra++, length++) {
      keepLength(length, symbol, extra | (extraBits << BITS_SHIFT));
    }
  }
  // The longest has its own symbol.
  keepLength(MAX_MATCH_BYTES, LITERAL_SYMBOLS - 1, 0);
  let distance: u32 = 1;
  for (let symbol: u32 = 0; symbol < DISTANCE_SYMBOLS; symbol++) {
    const extraBits: u32 = symbol < 4 ? 0 : (symbol >> 1) - 1;
    store<u8>(DISTANCE_EXTRA_BITS + symbol, extraBits);
    store<u16>(DISTANCE_BASES + (symbol << 1), distance);
    for (let extra: u32 = 0; extra < 1 << extraBits; extra++, distance++) {
      const d = distance - 1;
      if (d < NEAR) store<u8>(NEAR_SYMBOLS + d, symbol);
      else store<u8>(FAR_SYMBOLS + (d >> FAR_SHIFT), symbol);
    }
  }
  for (let e: u32 = 0; e < 2; e++) layOut(e);
}

function keepLength(length: u32, symbol: u32, extra: u32): void {
  store<u16>(LENGTH_SYMBOLS + (length << 1), symbol);
  store<u32>(LENGTH_EXTRAS + (length << 2), extra);
}

function layOut(e: u32): void {
  const encoder = encoderOf(e);
  encoder.tokens = TABLES + e * TABLES_BYTES;
  encoder.literalCounts = encoder.tokens + 2 * BLOCK_TOKENS;
  encoder.literalEntries = encoder.literalCounts + 4 * LITERAL_TOKENS;
  encoder.lengthCounts = encoder.literalEntries + 4 * LITERAL_TOKENS;
  encoder.lengthEntries = encoder.lengthCounts + 4 * LENGTHS;
  encoder.distanceCounts = encoder.lengthEntries + 4 * LENGTHS;
  encoder.symbolCodes = encoder.distanceCounts + 4 * DISTANCES;
  encoder.distanceCodes = encoder.symbolCodes + 2 * SYMBOLS;
  encoder.symbolLengths = encoder.distanceCodes + 2 * DISTANCES;
  encoder.distanceLengths = encoder.symbolLengths + SYMBOLS;
  encoder.head = encoder.distanceLengths + DISTANCES;
}

export function encoderOf(e: u32): Encoder {
  return changetype<Encoder>(ENCODERS + e * offsetof<Encoder>());
}

/** Addresses of the counts that makeCodes() reads, and of what it writes. */
export function symbolCounts(): usize {
  return SYMBOL_COUNTS;
}
export function distanceCounts(e: u32): usize {
  return encoderOf(e).distanceCounts;
}
export function symbolCodes(e: u32): usize {
  return encoderOf(e).symbolCodes;
}
export function symbolLengths(e: u32): usize {
  return encoderOf(e).symbolLengths;
}
export function distanceCodes(e: u32): usize {
  return encoderOf(e).distanceCodes;
}
export function distanceLengths(e: u32): usize {
  return encoderOf(e).distanceLengths;
}
export function head(e: u32): usize {
  return encoderOf(e).head;
}
export function setHeadBits(e: u32, bits: u32): void {
  encoderOf(e).headBits = bits;
}

export function clearBlock(encoder: Encoder): void {
  encoder.used = 0;
  memory.fill(encoder.literalCounts, 0, 4 * LITERAL_TOKENS);
  memory.fill(encoder.lengthCounts, 0, 4 * LENGTHS);
  memory.fill(encoder.distanceCounts, 0, 4 * DISTANCES);
}

/** Symbol of a distance, 1 to 32,768. */
export function distanceSymbol(distance: u32): u32 {
  const d = distance - 1;
  return d < NEAR ? load<u8>(NEAR_SYMBOLS + d) : load<u8>(FAR_SYMBOLS + (d >> FAR_SHIFT));
}

export function increment(counts: usize, index: u32): void {
  addTo(counts, index, 1);
}

export function addTo(counts: usize, index: u32, more: u32): void {
  const count = counts + (index << 2);
  store<u32>(count, load<u32>(count) + more);
}

/** Writes up to 24 bits. */
export function put(encoder: Encoder, value: u32, bits: u32): void {
  encoder.bits |= (<u64>value) << encoder.count;
  encoder.count += bits;
  store<u64>(encoder.at, encoder.bits);
  encoder.at += encoder.count >> 3;
  encoder.bits >>= encoder.count & 56;
  encoder.count &= 7;
}

/** Fills the last byte with zeros. */
export function align(encoder: Encoder): void {
  if (encoder.count > 0) put(encoder, 0, 8 - encoder.count);
}
