/** Encodes a text and its matches as deflate blocks (RFC 1951). Encoder `e` is 0 or 1; each has codes of its own. */
import { text } from './snapshots';

const MIN_MATCH_BYTES: u32 = 3;
const MAX_MATCH_BYTES: u32 = 258;
const MAX_DISTANCE_BYTES: u32 = 32_768;
const LITERAL_SYMBOLS: u32 = 286;
const DISTANCE_SYMBOLS: u32 = 30;
const END_OF_BLOCK: u32 = 256;
const FIRST_LENGTH_SYMBOL: u32 = 257;

/** The sixteen characters from `,` on: comma, minus, point, slash, digits, colon, semicolon. */
const FIRST_DIGIT: u32 = 44;
/** Tokens below PAIRS are three of these characters, those below BYTES two; the others are any single byte. */
const PAIRS: u32 = 4096;
const BYTES: u32 = PAIRS + 256;
const LITERAL_TOKENS: u32 = BYTES + 256;
/** A match: this plus its length; the next token is its distance - 1. */
const MATCH: u32 = 0x8000;

const BLOCK_TOKENS: u32 = 32_768;
/** With fewer tokens, symbols are counted token by token, otherwise from the counts of all possible tokens. */
const FEW_TOKENS: u32 = 4096;
const BLOCK_TYPE_DYNAMIC: u32 = 2;
const BLOCK_TYPE_STORED: u32 = 0;
/** The length 0 of a stored block, and its complement. */
const EMPTY_STORED: u32 = 0xffff_0000;

/** A table's entry has the bits of a code in its low part, and their number above. */
const BITS_SHIFT: u32 = 24;
const BITS_MASK: u32 = 0xff_ffff;

/** By length: its symbol, and an entry with the bits after the symbol's code. */
const LENGTH_SYMBOLS: usize = memory.data(2 * (MAX_MATCH_BYTES + 1), 16);
const LENGTH_EXTRAS: usize = memory.data(4 * (MAX_MATCH_BYTES + 1), 16);
/** By symbol: bits after its code, and the shortest distance that it stands for. */
const DISTANCE_EXTRA_BITS: usize = memory.data(DISTANCE_SYMBOLS, 16);
const DISTANCE_BASES: usize = memory.data(2 * DISTANCE_SYMBOLS, 16);
/** Symbols of distances by distance - 1 below NEAR, by (distance - 1) >> FAR_SHIFT from there on. */
const NEAR: u32 = 256;
const FAR_SHIFT: u32 = 7;
const NEAR_SYMBOLS: usize = memory.data(NEAR, 16);
const FAR_SYMBOLS: usize = memory.data(MAX_DISTANCE_BYTES >> FAR_SHIFT, 16);

/** The symbols' counts (u32) of the block that is about to be written. */
const SYMBOL_COUNTS: usize = memory.data(4 * LITERAL_SYMBOLS, 16);

/** Bytes of a head at most: everything before a block's tokens. */
const MAX_HEAD_BYTES: u32 = 512;

@unmanaged
class Encoder {
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

/**
 * Makes codes for encoder `e`: from `symbolCounts()` and its counts of distances, into its codes, lengths and head.
 * Returns whether they differ from those of the block before.
 */
declare function makeCodes(e: u32): bool;

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

function encoderOf(e: u32): Encoder {
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

/**
 * Starts the text, whose encoded bytes begin at an address. They take at most two bytes for each byte of text, and
 * MAX_HEAD_BYTES and some more for each block: one for each fragment, and two for each BLOCK_TOKENS bytes of text.
 */
export function beginDeflate(e: u32, out: usize): void {
  const encoder = encoderOf(e);
  encoder.encoded = text;
  encoder.out = encoder.fragmentStart = encoder.at = out;
  encoder.bits = encoder.count = 0;
  clearBlock(encoder);
}

/** Bytes of a match in a list: see matchText(). */
const MATCH_BYTES: u32 = 12;

/**
 * Encodes the text up to the end of the last of these matches, which are listed as by matchText(). Returns false for a
 * match that begins before the end of the one before, or repeats text out of reach: it would encode another text.
 */
export function takeMatches(e: u32, matches: usize, count: u32): bool {
  const encoder = encoderOf(e);
  for (const end = matches + MATCH_BYTES * count; matches < end; matches += MATCH_BYTES) {
    const from = text + load<u32>(matches);
    let length = load<u32>(matches, 4);
    const distance = load<u32>(matches, 8);
    if (from < encoder.encoded || distance - 1 >= MAX_DISTANCE_BYTES || from - distance < text) {
      return false;
    }
    encodePlain(e, encoder, from);
    encoder.encoded = from + length;
    while (length > MAX_MATCH_BYTES) {
      // The rest must still be long enough for a match.
      const part = min(MAX_MATCH_BYTES, length - MIN_MATCH_BYTES);
      addMatch(e, encoder, part, distance);
      length -= part;
    }
    addMatch(e, encoder, length, distance);
  }
  return true;
}

/** Encodes the text up to an address as literals. */
export function takePlain(e: u32, to: u32): void {
  encodePlain(e, encoderOf(e), to);
}

/** Skips the text up to an address, as far as no fragment has it. */
export function skipText(e: u32, to: u32): void {
  const encoder = encoderOf(e);
  encoder.encoded = to;
  if (encoder.used > 0) clearBlock(encoder);
  // Blocks of the skipped text may have been written already.
  encoder.at = encoder.fragmentStart;
  encoder.bits = encoder.count = 0;
}

/** Ends a fragment, none of whose blocks is the last, with an empty stored block. Returns the end of its bytes. */
export function endFragment(e: u32, to: u32): u32 {
  const encoder = encoderOf(e);
  encodePlain(e, encoder, to);
  writeBlock(e, encoder, false);
  put(encoder, BLOCK_TYPE_STORED << 1, 3);
  align(encoder);
  store<u32>(encoder.at, EMPTY_STORED);
  encoder.at += 4;
  encoder.fragmentStart = encoder.at;
  return encoder.at;
}

/** Ends the text with the last block. Returns the end of its bytes. */
export function endDeflate(e: u32, to: u32): u32 {
  const encoder = encoderOf(e);
  encodePlain(e, encoder, to);
  writeBlock(e, encoder, true);
  align(encoder);
  return encoder.at;
}

function clearBlock(encoder: Encoder): void {
  encoder.used = 0;
  memory.fill(encoder.literalCounts, 0, 4 * LITERAL_TOKENS);
  memory.fill(encoder.lengthCounts, 0, 4 * LENGTHS);
  memory.fill(encoder.distanceCounts, 0, 4 * DISTANCES);
}

/** Symbol of a distance, 1 to 32,768. */
function distanceSymbol(distance: u32): u32 {
  const d = distance - 1;
  return d < NEAR ? load<u8>(NEAR_SYMBOLS + d) : load<u8>(FAR_SYMBOLS + (d >> FAR_SHIFT));
}

function addMatch(e: u32, encoder: Encoder, length: u32, distance: u32): void {
  if (encoder.used + 2 > BLOCK_TOKENS) writeBlock(e, encoder, false);
  const token = encoder.tokens + (encoder.used << 1);
  store<u16>(token, MATCH | length);
  store<u16>(token, distance - 1, 2);
  encoder.used += 2;
  increment(encoder.lengthCounts, length);
  increment(encoder.distanceCounts, distanceSymbol(distance));
}

function increment(counts: usize, index: u32): void {
  addTo(counts, index, 1);
}

function addTo(counts: usize, index: u32, more: u32): void {
  const count = counts + (index << 2);
  store<u32>(count, load<u32>(count) + more);
}

function encodePlain(e: u32, encoder: Encoder, to: u32): void {
  while (<i32>(to - encoder.encoded) > <i32>BLOCK_TOKENS) {
    addLiterals(e, encoder, encoder.encoded + BLOCK_TOKENS);
  }
  addLiterals(e, encoder, to);
}

/** Adds literals up to an address, at most as many as a block holds. */
function addLiterals(e: u32, encoder: Encoder, to: u32): void {
  let at = encoder.encoded;
  encoder.encoded = to;
  if (encoder.used + to - at > BLOCK_TOKENS) writeBlock(e, encoder, false);
  const counts = encoder.literalCounts;
  const first = encoder.tokens;
  let next = first + (encoder.used << 1);
  while (at + 3 <= to) {
    const a = <u32>load<u8>(at) - FIRST_DIGIT;
    const b = <u32>load<u8>(at + 1) - FIRST_DIGIT;
    const c = <u32>load<u8>(at + 2) - FIRST_DIGIT;
    let token = (a << 8) | (b << 4) | c;
    if (((a | b | c) & ~15) === 0) at += 3;
    else {
      token = BYTES + FIRST_DIGIT + a;
      at++;
    }
    increment(counts, token);
    store<u16>(next, token);
    next += 2;
  }
  while (at < to) {
    const a = <u32>load<u8>(at) - FIRST_DIGIT;
    let token = BYTES + FIRST_DIGIT + a;
    at++;
    if (at < to) {
      const b = <u32>load<u8>(at) - FIRST_DIGIT;
      if (((a | b) & ~15) === 0) {
        token = PAIRS + ((a << 4) | b);
        at++;
      }
    }
    increment(counts, token);
    store<u16>(next, token);
    next += 2;
  }
  encoder.used = <u32>(next - first) >> 1;
}

/** Writes the tokens as a block with dynamic codes (RFC 1951, 3.2.7) and clears them. */
function writeBlock(e: u32, encoder: Encoder, isLast: bool): void {
  countSymbols(encoder);
  if (makeCodes(e)) {
    memory.fill(encoder.literalEntries, 0, 4 * LITERAL_TOKENS);
    for (let length = MIN_MATCH_BYTES; length <= MAX_MATCH_BYTES; length++) {
      const symbol: u32 = load<u16>(LENGTH_SYMBOLS + (length << 1));
      store<u32>(encoder.lengthEntries + (length << 2), lengthEntry(encoder, length, symbol));
    }
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

/** Writes up to 24 bits. */
function put(encoder: Encoder, value: u32, bits: u32): void {
  encoder.bits |= (<u64>value) << encoder.count;
  encoder.count += bits;
  store<u64>(encoder.at, encoder.bits);
  encoder.at += encoder.count >> 3;
  encoder.bits >>= encoder.count & 56;
  encoder.count &= 7;
}

/** Fills the last byte with zeros. */
function align(encoder: Encoder): void {
  if (encoder.count > 0) put(encoder, 0, 8 - encoder.count);
}
