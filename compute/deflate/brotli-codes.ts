/** Brotli's commands (RFC 7932, 5): so many literals, then a copy; and which symbols stand for them. */
import { type BitWriter, canonicalCodes, codeLengths, MAX_CODE_BITS } from './prefix-codes.js';

/** Codes of lengths, the same number of both kinds. */
const LENGTH_CODES = 24;
/** Insert-and-copy symbols: below it those that leave the distance out, as it is the last one. */
export const COMMAND_SYMBOLS = 704;
/** Copies and inserts below these have codes small enough for a symbol without a distance. */
const NEAR_CODES = 8;
const MIDDLE_CODES = 16;

/** By code: bits that follow, and the shortest length that it stands for. */
interface LengthCodes {
  extraBits: Uint8Array;
  base: Uint32Array;
}

function lengthCodes(first: number, extraBits: readonly number[]): LengthCodes {
  const codes = { extraBits: Uint8Array.from(extraBits), base: new Uint32Array(LENGTH_CODES) };
  for (let code = 0, base = first; code < LENGTH_CODES; code++) {
    codes.base[code] = base;
    base += 2 ** extraBits[code];
  }
  return codes;
}

// prettier-ignore
export const INSERTS = lengthCodes(0, [0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 12, 14, 24]);
// prettier-ignore
export const COPIES = lengthCodes(2, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 24]);

/** Codes of lengths below this stand in a table. */
const TABLED_LENGTHS = 1024;

function codeTable({ base }: LengthCodes): Uint8Array {
  const table = new Uint8Array(TABLED_LENGTHS);
  for (let length = base[0], code = 0; length < TABLED_LENGTHS; length++) {
    while (code + 1 < LENGTH_CODES && base[code + 1] <= length) code++;
    table[length] = code;
  }
  return table;
}

const INSERT_CODES = codeTable(INSERTS);
const COPY_CODES = codeTable(COPIES);

function codeOf({ base }: LengthCodes, table: Uint8Array, length: number): number {
  if (length < TABLED_LENGTHS) return table[length];
  let code = LENGTH_CODES - 1;
  while (base[code] > length) code--;
  return code;
}

/** Code of an insert, 0 and up. */
export const insertCode = (length: number): number => codeOf(INSERTS, INSERT_CODES, length);
/** Code of a copy, 2 and up. */
export const copyCode = (length: number): number => codeOf(COPIES, COPY_CODES, length);

/** By the codes' eighths, inserts first: the first symbol of their 64. */
const SYMBOL_BASES = [128, 192, 384, 256, 320, 512, 448, 576, 640];

/** Whether two codes have a symbol that says that the distance is the last one again. */
export function canLeaveDistanceOut(insert: number, copy: number): boolean {
  return insert < NEAR_CODES && copy < MIDDLE_CODES;
}

/** The symbol of two codes. */
export function commandSymbol(insert: number, copy: number, leavesDistanceOut: boolean): number {
  const low = ((insert & 7) << 3) | (copy & 7);
  if (leavesDistanceOut) return ((copy >> 3) << 6) | low;
  return SYMBOL_BASES[3 * (insert >> 3) + (copy >> 3)] | low;
}

// Brotli's distances (RFC 7932, 4): some by what the last ones were, the others as they are.

export const DISTANCE_SYMBOLS = 64;
/** A distance is farther from the last ones than these symbols reach. */
const FIRST_PLAIN_SYMBOL = 16;
/** By how much more than one of the last ones, from -3 on: symbols of the last, of the one before. */
const NEAR_LAST = [8, 6, 4, 0, 5, 7, 9];
const NEAR_SECOND = [14, 12, 10, 1, 11, 13, 15];
const MAX_STEP = 3;
/** Where nothing is known of a last distance: no distance is near it. */
const UNKNOWN = -1000;

/**
 * Finds distances' symbols. A fragment knows of no distance but its own: what stands before it is not
 * the same on every page.
 */
export class LastDistances {
  private first = UNKNOWN;
  private second = UNKNOWN;
  private third = UNKNOWN;
  private fourth = UNKNOWN;

  clear(): void {
    this.first = this.second = this.third = this.fourth = UNKNOWN;
  }

  /** The symbol of the next distance; 0: it is the last one. */
  symbolOf(distance: number): number {
    const symbol = this.find(distance);
    if (symbol !== 0) {
      this.fourth = this.third;
      this.third = this.second;
      this.second = this.first;
      this.first = distance;
    }
    return symbol;
  }

  private find(distance: number): number {
    const step = distance - this.first + MAX_STEP;
    if (step >= 0 && step <= 2 * MAX_STEP) return NEAR_LAST[step];
    if (distance === this.third) return 2;
    if (distance === this.fourth) return 3;
    const secondStep = distance - this.second + MAX_STEP;
    if (secondStep >= 0 && secondStep <= 2 * MAX_STEP) return NEAR_SECOND[secondStep];
    const rest = distance + 3;
    const bits = extraBits(rest);
    return FIRST_PLAIN_SYMBOL + 2 * (bits - 1) + ((rest >> bits) & 1);
  }
}

/** Bits that follow a distance's symbol. */
export function distanceExtraBits(symbol: number): number {
  return symbol < FIRST_PLAIN_SYMBOL ? 0 : 1 + ((symbol - FIRST_PLAIN_SYMBOL) >> 1);
}

/** What they say. */
export function distanceExtra(distance: number): number {
  const rest = distance + 3;
  return rest & ((1 << extraBits(rest)) - 1);
}

function extraBits(rest: number): number {
  return 30 - Math.clz32(rest);
}

// A prefix code of a brotli block, and how it is told by the lengths of its codes (RFC 7932, 3.5).

/** Order in which the lengths of the code lengths' own code are written. */
const LENGTH_CODE_ORDER = [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const CODE_LENGTH_SYMBOLS = 18;
const MAX_LENGTH_CODE_BITS = 5;
/** The fixed code of those lengths. */
const LENGTH_BITS = [0, 7, 3, 2, 1, 15];
const LENGTH_BIT_COUNTS = [2, 4, 3, 2, 2, 4];
const REPEAT_LAST = 16;
const REPEAT_ZERO = 17;
const REPEAT_LAST_BITS = 2;
const REPEAT_ZERO_BITS = 3;
const MIN_REPEATED = 3;

const MAX_SYMBOLS = 704;
const runSymbols = new Uint8Array(MAX_SYMBOLS);
const runExtras = new Uint8Array(MAX_SYMBOLS);
const runCounts = new Uint32Array(CODE_LENGTH_SYMBOLS);
const runLengths = new Uint8Array(CODE_LENGTH_SYMBOLS);
const runCodes = new Uint16Array(CODE_LENGTH_SYMBOLS);
let runs = 0;

/** The code of one alphabet: by symbol, its bits, first bit lowest, and how many they are. */
export class PrefixCode {
  readonly counts: Uint32Array;
  readonly lengths: Uint8Array;
  readonly codes: Uint16Array;

  constructor(symbols: number) {
    this.counts = new Uint32Array(symbols);
    this.lengths = new Uint8Array(symbols);
    this.codes = new Uint16Array(symbols);
  }

  /** Makes the code of what was counted. */
  make(): void {
    codeLengths(this.counts, this.lengths, MAX_CODE_BITS);
    canonicalCodes(this.lengths, this.codes);
  }

  /** Bits that the symbols counted take. */
  bits(): number {
    let bits = 0;
    for (let s = 0; s < this.counts.length; s++) bits += this.counts[s] * this.lengths[s];
    return bits;
  }

  /** Writes what says which code it is. */
  write(writer: BitWriter): void {
    findRuns(this.lengths);
    codeLengths(runCounts, runLengths, MAX_LENGTH_CODE_BITS);
    canonicalCodes(runLengths, runCodes);
    let listed = CODE_LENGTH_SYMBOLS;
    while (runLengths[LENGTH_CODE_ORDER[listed - 1]] === 0) listed--;
    // Of the first ones two or three may be skipped; 1 would mean a code of another kind.
    let skipped = 0;
    while (skipped < 3 && runLengths[LENGTH_CODE_ORDER[skipped]] === 0) skipped++;
    if (skipped === 1) skipped = 0;
    writer.put(skipped, 2);
    for (let i = skipped; i < listed; i++) {
      const length = runLengths[LENGTH_CODE_ORDER[i]];
      writer.put(LENGTH_BITS[length], LENGTH_BIT_COUNTS[length]);
    }
    for (let r = 0; r < runs; r++) {
      const symbol = runSymbols[r];
      writer.put(runCodes[symbol], runLengths[symbol]);
      if (symbol === REPEAT_LAST) writer.put(runExtras[r], REPEAT_LAST_BITS);
      else if (symbol === REPEAT_ZERO) writer.put(runExtras[r], REPEAT_ZERO_BITS);
    }
  }
}

/** Puts the lengths up to the last that is not 0 as symbols and what follows them into the runs. */
function findRuns(lengths: Uint8Array): void {
  runs = 0;
  runCounts.fill(0);
  let used = lengths.length;
  while (lengths[used - 1] === 0) used--;
  for (let at = 0; at < used;) {
    const length = lengths[at];
    let same = 1;
    while (at + same < used && lengths[at + same] === length) same++;
    at += same;
    if (length > 0) {
      addRun(length, 0);
      same--;
    }
    if (same < MIN_REPEATED) for (; same > 0; same--) addRun(length, 0);
    else if (length > 0) addRepeats(REPEAT_LAST, REPEAT_LAST_BITS, same);
    else addRepeats(REPEAT_ZERO, REPEAT_ZERO_BITS, same);
  }
}

/** Repeats behind one another are digits of one number, highest first. */
function addRepeats(symbol: number, bits: number, count: number): void {
  const first = runs;
  let rest = count - MIN_REPEATED;
  for (;;) {
    addRun(symbol, rest & ((1 << bits) - 1));
    rest >>= bits;
    if (rest === 0) break;
    rest--;
  }
  runExtras.subarray(first, runs).reverse();
}

function addRun(symbol: number, extra: number): void {
  runCounts[symbol]++;
  runSymbols[runs] = symbol;
  runExtras[runs++] = extra;
}
