/** Deflate's alphabets (RFC 1951, 3.2.5): which symbol encodes a length or a distance. */
import {
  BitWriter,
  canonicalCodes,
  codeLengths,
  DEFLATE_SLACK_BYTES,
  LengthSymbols,
  MAX_CODE_BITS,
  MIN_REPEATED,
  REPEAT_LAST,
  REPEAT_ZERO,
  REPEAT_ZERO_LONG,
} from './prefix-codes.js';

export const MIN_MATCH_BYTES = 3;
export const MAX_MATCH_BYTES = 258;
export const MAX_DISTANCE_BYTES = 32_768;

/** Literals, the end of a block and lengths; distances. */
export const LITERAL_SYMBOLS = 286;
export const DISTANCE_SYMBOLS = 30;
export const END_OF_BLOCK = 256;
const FIRST_LENGTH_SYMBOL = 257;

/** By length, 3 to 258: its symbol, how many bits follow the symbol's code, and their value. */
export const LENGTH_SYMBOL = new Uint16Array(MAX_MATCH_BYTES + 1);
const LENGTH_EXTRA_BITS = new Uint8Array(MAX_MATCH_BYTES + 1);
const LENGTH_EXTRA = new Uint8Array(MAX_MATCH_BYTES + 1);

/** By symbol: bits that follow a length's code. */
const LENGTH_SYMBOL_EXTRA_BITS = new Uint8Array(LITERAL_SYMBOLS);

/** By symbol: bits that follow its code, and the shortest distance that it stands for. */
export const DISTANCE_EXTRA_BITS = new Uint8Array(DISTANCE_SYMBOLS);
export const DISTANCE_BASE = new Uint16Array(DISTANCE_SYMBOLS);

/** Index: distance - 1 below 256, (distance - 1) >> 7 from there on. */
const NEAR = 256;
const NEAR_SYMBOL = new Uint8Array(NEAR);
const FAR_SYMBOL = new Uint8Array(MAX_DISTANCE_BYTES >> 7);

/** Symbol of a distance, 1 to 32,768. */
export function distanceSymbol(distance: number): number {
  const d = distance - 1;
  return d < NEAR ? NEAR_SYMBOL[d] : FAR_SYMBOL[d >> 7];
}

function fillLengths(): void {
  let length = MIN_MATCH_BYTES;
  for (let symbol = FIRST_LENGTH_SYMBOL; symbol < LITERAL_SYMBOLS - 1; symbol++) {
    const step = symbol - FIRST_LENGTH_SYMBOL;
    const extraBits = step < 8 ? 0 : (step >> 2) - 1;
    LENGTH_SYMBOL_EXTRA_BITS[symbol] = extraBits;
    for (let extra = 0; extra < 1 << extraBits; extra++, length++) {
      LENGTH_SYMBOL[length] = symbol;
      LENGTH_EXTRA_BITS[length] = extraBits;
      LENGTH_EXTRA[length] = extra;
    }
  }
  // The longest has its own symbol.
  LENGTH_SYMBOL[MAX_MATCH_BYTES] = LITERAL_SYMBOLS - 1;
  LENGTH_EXTRA_BITS[MAX_MATCH_BYTES] = 0;
  LENGTH_EXTRA[MAX_MATCH_BYTES] = 0;
}

function fillDistances(): void {
  let distance = 1;
  for (let symbol = 0; symbol < DISTANCE_SYMBOLS; symbol++) {
    const extraBits = symbol < 4 ? 0 : (symbol >> 1) - 1;
    DISTANCE_EXTRA_BITS[symbol] = extraBits;
    DISTANCE_BASE[symbol] = distance;
    for (let extra = 0; extra < 1 << extraBits; extra++, distance++) {
      const d = distance - 1;
      if (d < NEAR) NEAR_SYMBOL[d] = symbol;
      else FAR_SYMBOL[d >> 7] = symbol;
    }
  }
}

fillLengths();
fillDistances();

/** The sixteen characters from `,` on: comma, minus, point, slash, digits, colon, semicolon. */
export const FIRST_DIGIT = 44;
/** Tokens below PAIRS are three of these characters, those below BYTES two; the others are any single byte. */
export const PAIRS = 16 ** 3;
export const BYTES = PAIRS + 16 ** 2;
export const LITERAL_TOKENS = BYTES + 256;
/** A match: this plus its length; the next token is its distance - 1. */
export const MATCH = 0x8000;

/** A distance's code and the 13 bits after it are written at once: 24 bits. */
const MAX_DISTANCE_CODE_BITS = 11;
const MAX_PUT_BITS = 24;
/** Everything before a block's tokens. */
export const MAX_BLOCK_HEAD_BYTES = 512;
/** A table's entry has the bits in its low part, and their number above. */
export const BITS_SHIFT = 24;
export const BITS_MASK = 0xff_ffff;

export class BlockCodes {
  readonly symbolLengths = new Uint8Array(LITERAL_SYMBOLS);
  readonly symbolCodes = new Uint16Array(LITERAL_SYMBOLS);
  readonly distanceLengths = new Uint8Array(DISTANCE_SYMBOLS);
  readonly distanceCodes = new Uint16Array(DISTANCE_SYMBOLS);
  /** By token and by length: the code's bits, and above them their number; 0 if not computed yet. */
  readonly literalEntries = new Uint32Array(LITERAL_TOKENS);
  readonly lengthEntries = new Uint32Array(MAX_MATCH_BYTES + 1);
  /** Symbol counts of recent blocks; codes for several blocks are made from them. */
  private readonly symbolSums = new Uint32Array(LITERAL_SYMBOLS);
  private readonly distanceSums = new Uint32Array(DISTANCE_SYMBOLS);
  private readonly head = new BitWriter();
  /** How many more blocks may use the current codes. */
  private blocksLeft = 0;

  /** @param blocks how many blocks may share codes; a block with a symbol that has no code gets new codes */
  constructor(readonly blocks = 1) {}

  /** Forgets the blocks so far. */
  clear(): void {
    this.blocksLeft = 0;
    this.symbolSums.fill(0);
    this.distanceSums.fill(0);
  }

  /**
   * Makes codes for a block's symbols, unless the current codes cover them.
   * @returns the block's length in bits, head excluded
   */
  take(symbolCounts: Uint32Array, distanceCounts: Uint32Array): number {
    if (this.blocks === 1) this.make(symbolCounts, distanceCounts);
    else {
      addCounts(this.symbolSums, symbolCounts);
      addCounts(this.distanceSums, distanceCounts);
      const hasAll =
        this.blocksLeft > 0 &&
        covers(this.symbolLengths, symbolCounts) &&
        covers(this.distanceLengths, distanceCounts);
      if (!hasAll) {
        this.make(this.symbolSums, this.distanceSums);
        halve(this.symbolSums);
        halve(this.distanceSums);
        this.blocksLeft = this.blocks;
      }
      this.blocksLeft--;
    }
    return this.bodyBits(symbolCounts, distanceCounts);
  }

  /** Writes the head that states the block's codes. */
  writeHead(writer: BitWriter): void {
    const head = this.head;
    const { view } = head;
    for (let at = 0; at < head.at; at++) writer.put(view.getUint8(at), 8);
    writer.put(head.bits, head.count);
  }

  /** Makes the entry of a literal token; 0 if its codes are too long together. */
  newEntry(token: number): number {
    const entry = this.literalEntry(token);
    this.literalEntries[token] = entry;
    return entry;
  }

  /** Writes a token's literals one by one. */
  putLiterals(writer: BitWriter, token: number): void {
    const isTriple = token < PAIRS;
    const rest = isTriple ? token : token - PAIRS;
    for (let shift = isTriple ? 8 : 4; shift >= 0; shift -= 4) {
      const byte = FIRST_DIGIT + ((rest >> shift) & 15);
      writer.put(this.symbolCodes[byte], this.symbolLengths[byte]);
    }
  }

  private make(symbolCounts: Uint32Array, distanceCounts: Uint32Array): void {
    codeLengths(symbolCounts, this.symbolLengths, MAX_CODE_BITS);
    codeLengths(distanceCounts, this.distanceLengths, MAX_DISTANCE_CODE_BITS);
    canonicalCodes(this.symbolLengths, this.symbolCodes);
    canonicalCodes(this.distanceLengths, this.distanceCodes);
    this.literalEntries.fill(0);
    this.fillLengthEntries();
    const head = this.head;
    head.clear();
    head.reserve(MAX_BLOCK_HEAD_BYTES + DEFLATE_SLACK_BYTES);
    writeCodeLengths(head, this.symbolLengths, this.distanceLengths);
  }

  private bodyBits(symbolCounts: Uint32Array, distanceCounts: Uint32Array): number {
    const { symbolLengths, distanceLengths } = this;
    let bits = 0;
    for (let s = 0; s < LITERAL_SYMBOLS; s++) {
      bits += symbolCounts[s] * (symbolLengths[s] + LENGTH_SYMBOL_EXTRA_BITS[s]);
    }
    for (let s = 0; s < DISTANCE_SYMBOLS; s++) {
      bits += distanceCounts[s] * (distanceLengths[s] + DISTANCE_EXTRA_BITS[s]);
    }
    return bits;
  }

  private literalEntry(token: number): number {
    const { symbolLengths, symbolCodes } = this;
    if (token >= BYTES) {
      return entryOf(0, 0, symbolCodes[token - BYTES], symbolLengths[token - BYTES]);
    }
    const isTriple = token < PAIRS;
    const rest = isTriple ? token : token - PAIRS;
    const b = FIRST_DIGIT + ((rest >> 4) & 15);
    const c = FIRST_DIGIT + (rest & 15);
    const bits = symbolLengths[b] + symbolLengths[c];
    if (!isTriple) {
      if (bits > MAX_PUT_BITS) return 0;
      return entryOf(symbolCodes[c], symbolLengths[b], symbolCodes[b], bits);
    }
    const a = FIRST_DIGIT + (rest >> 8);
    if (bits + symbolLengths[a] > MAX_PUT_BITS) return 0;
    const last = symbolCodes[b] | (symbolCodes[c] << symbolLengths[b]);
    return entryOf(last, symbolLengths[a], symbolCodes[a], bits + symbolLengths[a]);
  }

  private fillLengthEntries(): void {
    for (let length = MIN_MATCH_BYTES; length <= MAX_MATCH_BYTES; length++) {
      const symbol = LENGTH_SYMBOL[length];
      const bits = this.symbolLengths[symbol];
      this.lengthEntries[length] = entryOf(
        LENGTH_EXTRA[length],
        bits,
        this.symbolCodes[symbol],
        bits + LENGTH_EXTRA_BITS[length],
      );
    }
  }
}

function entryOf(rest: number, firstBits: number, first: number, bits: number): number {
  return (rest << firstBits) | first | (bits << BITS_SHIFT);
}

function addCounts(sums: Uint32Array, counts: Uint32Array): void {
  for (let s = 0; s < sums.length; s++) sums[s] += counts[s];
}

/** Older blocks count less. */
function halve(sums: Uint32Array): void {
  for (let s = 0; s < sums.length; s++) sums[s] >>>= 1;
}

function covers(lengths: Uint8Array, counts: Uint32Array): boolean {
  for (let s = 0; s < counts.length; s++) if (counts[s] > 0 && lengths[s] === 0) return false;
  return true;
}

const MAX_LENGTH_CODE_BITS = 7;
/** Order in which the lengths of the code lengths' own code are written. */
const LENGTH_CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/** Bits after REPEAT_LAST, REPEAT_ZERO and REPEAT_ZERO_LONG. */
const REPEAT_BITS = [2, 3, 7];

const bothLengths = new Uint8Array(LITERAL_SYMBOLS + DISTANCE_SYMBOLS);
const lengthSymbols = new LengthSymbols(MAX_LENGTH_CODE_BITS, REPEAT_BITS, bothLengths.length);

/** Writes the lengths of a block's two codes (RFC 1951, 3.2.7). */
function writeCodeLengths(
  writer: BitWriter,
  symbolLengths: Uint8Array,
  distanceLengths: Uint8Array,
): void {
  const literals = usedLengths(symbolLengths, END_OF_BLOCK + 1);
  const distances = usedLengths(distanceLengths, 1);
  bothLengths.set(symbolLengths);
  bothLengths.set(distanceLengths.subarray(0, distances), literals);
  lengthSymbols.set(bothLengths, literals + distances, addRepeats);
  const { lengths } = lengthSymbols;
  let listed = LENGTH_CODE_ORDER.length;
  while (listed > 4 && lengths[LENGTH_CODE_ORDER[listed - 1]] === 0) listed--;
  writer.put(literals - 257, 5);
  writer.put(distances - 1, 5);
  writer.put(listed - 4, 4);
  for (let i = 0; i < listed; i++) writer.put(lengths[LENGTH_CODE_ORDER[i]], 3);
  lengthSymbols.write(writer);
}

function usedLengths(lengths: Uint8Array, least: number): number {
  let used = lengths.length;
  while (used > least && lengths[used - 1] === 0) used--;
  return used;
}

function addRepeats(length: number, times: number): number {
  while (times >= MIN_REPEATED) {
    const most = Math.min(times, length > 0 ? 6 : 138);
    if (length > 0) lengthSymbols.add(REPEAT_LAST, most - MIN_REPEATED);
    else if (most <= 10) lengthSymbols.add(REPEAT_ZERO, most - MIN_REPEATED);
    else lengthSymbols.add(REPEAT_ZERO_LONG, most - 11);
    times -= most;
  }
  return times;
}
