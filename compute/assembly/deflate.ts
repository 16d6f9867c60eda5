/** Encodes a text and its matches by deflate (RFC 1951). Encoder `e` is 0 or 1; each has its own codes. */
import { writeBlock } from './blocks';
import {
  align,
  BLOCK_TOKENS,
  BYTES,
  clearBlock,
  distanceSymbol,
  Encoder,
  encoderOf,
  FIRST_DIGIT,
  increment,
  MATCH,
  MAX_DISTANCE_BYTES,
  MAX_MATCH_BYTES,
  MIN_MATCH_BYTES,
  PAIRS,
  put,
} from './encoder';
import { text } from './snapshots';

const BLOCK_TYPE_STORED: u32 = 0;
/** The length 0 of a stored block, and its complement. */
const EMPTY_STORED: u32 = 0xffff_0000;

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

function addMatch(e: u32, encoder: Encoder, length: u32, distance: u32): void {
  if (encoder.used + 2 > BLOCK_TOKENS) writeBlock(e, encoder, false);
  const token = encoder.tokens + (encoder.used << 1);
  store<u16>(token, MATCH | length);
  store<u16>(token, distance - 1, 2);
  encoder.used += 2;
  increment(encoder.lengthCounts, length);
  increment(encoder.distanceCounts, distanceSymbol(distance));
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
