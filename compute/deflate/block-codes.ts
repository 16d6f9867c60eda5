/** Codes of deflate's blocks, and the head that states them (RFC 1951, 3.2.7). */
import { canonicalCodes, codeLengths, MAX_CODE_BITS } from './prefix-codes.js';

/** Deflate's symbols: literals, the end of a block and lengths; distances. */
export const LITERAL_SYMBOLS = 286;
export const DISTANCE_SYMBOLS = 30;
const END_OF_BLOCK = 256;
/** The page writer writes a match at once: its length's code, its distance's, and the bits after each. */
const MAX_DISTANCE_CODE_BITS = 11;

/** By symbol: how often a block has it, its code's bits, first bit lowest, and their number. */
export interface BlockTables {
  symbolCounts: Uint32Array;
  distanceCounts: Uint32Array;
  symbolCodes: Uint16Array;
  symbolLengths: Uint8Array;
  distanceCodes: Uint16Array;
  distanceLengths: Uint8Array;
}

/** Everything before a block's tokens: its last byte is filled up with zeros. */
interface BlockHead {
  /** Valid until the next codes are made. */
  bytes: Uint8Array;
  bits: number;
}

/** Makes a block's codes from the counts of its symbols. @returns the head that states them */
export function makeCodes({ symbolCounts, distanceCounts, ...codes }: BlockTables): BlockHead {
  const { symbolCodes, symbolLengths, distanceCodes, distanceLengths } = codes;
  codeLengths(symbolCounts, symbolLengths, MAX_CODE_BITS);
  codeLengths(distanceCounts, distanceLengths, MAX_DISTANCE_CODE_BITS);
  canonicalCodes(symbolLengths, symbolCodes);
  canonicalCodes(distanceLengths, distanceCodes);
  return writeHead(symbolLengths, distanceLengths);
}

/** Symbols of code lengths: 0 to 15 are lengths, the others repeat the last length, or zeros. */
const REPEAT_LAST = 16;
const REPEAT_ZERO = 17;
const REPEAT_ZERO_LONG = 18;
const LENGTH_SYMBOLS = 19;
/** Shortest repetition that has its own symbol, and the shortest of REPEAT_ZERO_LONG. */
const MIN_REPEATED = 3;
const MIN_REPEATED_LONG = 11;
const MAX_LENGTH_CODE_BITS = 7;
/** Order in which the lengths of the code lengths' own code are written. */
const LENGTH_CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/** Bits after REPEAT_LAST, REPEAT_ZERO and REPEAT_ZERO_LONG. */
const REPEAT_BITS = [2, 3, 7];

const MAX_LENGTHS = LITERAL_SYMBOLS + DISTANCE_SYMBOLS;
const bothLengths = new Uint8Array(MAX_LENGTHS);
/** The code lengths as symbols, what follows each, and their code. */
const symbols = new Uint8Array(MAX_LENGTHS);
const extras = new Uint8Array(MAX_LENGTHS);
const lengthCounts = new Uint32Array(LENGTH_SYMBOLS);
const lengthLengths = new Uint8Array(LENGTH_SYMBOLS);
const lengthCodes = new Uint16Array(LENGTH_SYMBOLS);
let used = 0;

function writeHead(symbolLengths: Uint8Array, distanceLengths: Uint8Array): BlockHead {
  const literals = usedLengths(symbolLengths, END_OF_BLOCK + 1);
  const distances = usedLengths(distanceLengths, 1);
  bothLengths.set(symbolLengths);
  bothLengths.set(distanceLengths.subarray(0, distances), literals);
  takeLengths(literals + distances);
  let listed = LENGTH_CODE_ORDER.length;
  while (listed > 4 && lengthLengths[LENGTH_CODE_ORDER[listed - 1]] === 0) listed--;
  bytes.fill(0);
  bits = 0;
  put(literals - 257, 5);
  put(distances - 1, 5);
  put(listed - 4, 4);
  for (let i = 0; i < listed; i++) put(lengthLengths[LENGTH_CODE_ORDER[i]], 3);
  for (let i = 0; i < used; i++) {
    const symbol = symbols[i];
    put(lengthCodes[symbol], lengthLengths[symbol]);
    if (symbol >= REPEAT_LAST) put(extras[i], REPEAT_BITS[symbol - REPEAT_LAST]);
  }
  return { bytes: bytes.subarray(0, Math.ceil(bits / 8)), bits };
}

function usedLengths(lengths: Uint8Array, least: number): number {
  let count = lengths.length;
  while (count > least && lengths[count - 1] === 0) count--;
  return count;
}

/** Makes the symbols of `bothLengths[0..count)`, and their code. */
function takeLengths(count: number): void {
  used = 0;
  lengthCounts.fill(0);
  for (let at = 0; at < count;) {
    const length = bothLengths[at];
    let times = 1;
    while (at + times < count && bothLengths[at + times] === length) times++;
    at += times;
    if (length > 0) {
      add(length, 0);
      times--;
    }
    while (times >= MIN_REPEATED) {
      const most = Math.min(times, length > 0 ? 6 : 138);
      if (length > 0) add(REPEAT_LAST, most - MIN_REPEATED);
      else if (most < MIN_REPEATED_LONG) add(REPEAT_ZERO, most - MIN_REPEATED);
      else add(REPEAT_ZERO_LONG, most - MIN_REPEATED_LONG);
      times -= most;
    }
    for (; times > 0; times--) add(length, 0);
  }
  codeLengths(lengthCounts, lengthLengths, MAX_LENGTH_CODE_BITS);
  canonicalCodes(lengthLengths, lengthCodes);
}

function add(symbol: number, extra: number): void {
  lengthCounts[symbol]++;
  symbols[used] = symbol;
  extras[used++] = extra;
}

/** The fields, the code of the lengths, and its longest code for each: a repeat with its bits stands for three. */
const MAX_HEAD_BITS = 14 + 3 * LENGTH_SYMBOLS + MAX_LENGTH_CODE_BITS * MAX_LENGTHS;
const bytes = new Uint8Array((MAX_HEAD_BITS >> 3) + 2);
let bits = 0;

/** Writes up to 9 bits. */
function put(value: number, count: number): void {
  const shifted = value << (bits & 7);
  bytes[bits >> 3] |= shifted;
  bytes[(bits >> 3) + 1] |= shifted >> 8;
  bits += count;
}
