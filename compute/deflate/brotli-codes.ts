/** Brotli's alphabets (RFC 7932): commands, which insert literals and then copy; distances; prefix codes. */
import {
  type BitWriter,
  canonicalCodes,
  codeLengths,
  LengthSymbols,
  MAX_CODE_BITS,
  MIN_REPEATED,
  REPEAT_LAST,
  REPEAT_ZERO,
} from './prefix-codes.js';

/** Number of length codes, for inserts and for copies. */
const LENGTH_CODES = 24;
/** Insert-and-copy symbols; the first 128 omit the distance: it is the last one again. */
export const COMMAND_SYMBOLS = 704;
/** Only insert and copy codes below these have a symbol without a distance. */
const NEAR_CODES = 8;
const MIDDLE_CODES = 16;

/** By code: how many bits follow, and the shortest length of the code. */
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

// oxfmt-ignore
export const INSERTS = lengthCodes(0, [0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 12, 14, 24]);
// oxfmt-ignore
export const COPIES = lengthCodes(2, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 24]);

/** Lengths below this have their codes in a table. */
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

/** First of the 64 symbols for each combination of insert and copy codes, by eighths of the codes. */
const SYMBOL_BASES = [128, 192, 384, 256, 320, 512, 448, 576, 640];

/** Whether a symbol exists for these codes that repeats the last distance. */
export function canOmitDistance(insert: number, copy: number): boolean {
  return insert < NEAR_CODES && copy < MIDDLE_CODES;
}

/** The symbol for an insert and a copy code. */
export function commandSymbol(insert: number, copy: number, leavesDistanceOut: boolean): number {
  const low = ((insert & 7) << 3) | (copy & 7);
  if (leavesDistanceOut) return ((copy >> 3) << 6) | low;
  return SYMBOL_BASES[3 * (insert >> 3) + (copy >> 3)] | low;
}

export const DISTANCE_SYMBOLS = 64;
/** Symbols from here on state a distance in full, not relative to the last ones. */
const FIRST_PLAIN_SYMBOL = 16;
/** Symbols by difference from the last distance and from the one before it, from -3 on. */
const NEAR_LAST = [8, 6, 4, 0, 5, 7, 9];
const NEAR_SECOND = [14, 12, 10, 1, 11, 13, 15];
const MAX_STEP = 3;
/** Stands for an unknown last distance: no distance is near it. */
const UNKNOWN = -1000;

/**
 * Finds symbols for distances. A fragment refers only to its own distances: the text before it differs between pages.
 */
export class LastDistances {
  private first = UNKNOWN;
  private second = UNKNOWN;
  private third = UNKNOWN;
  private fourth = UNKNOWN;

  clear(): void {
    this.first = this.second = this.third = this.fourth = UNKNOWN;
  }

  /** The symbol of the next distance; 0 if it repeats the last one. */
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

/** How many bits follow a distance's symbol. */
export function distanceExtraBits(symbol: number): number {
  return symbol < FIRST_PLAIN_SYMBOL ? 0 : 1 + ((symbol - FIRST_PLAIN_SYMBOL) >> 1);
}

/** The value of those bits. */
export function distanceExtra(distance: number): number {
  const rest = distance + 3;
  return rest & ((1 << extraBits(rest)) - 1);
}

function extraBits(rest: number): number {
  return 30 - Math.clz32(rest);
}

/** Order in which the lengths of the code lengths' own code are written. */
const LENGTH_CODE_ORDER = [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const MAX_LENGTH_CODE_BITS = 5;
/** The fixed code that encodes the lengths of that code. */
const LENGTH_BITS = [0, 7, 3, 2, 1, 15];
const LENGTH_BIT_COUNTS = [2, 4, 3, 2, 2, 4];
/** Bits after REPEAT_LAST and REPEAT_ZERO. */
const REPEAT_BITS = [2, 3];

const lengthSymbols = new LengthSymbols(MAX_LENGTH_CODE_BITS, REPEAT_BITS, COMMAND_SYMBOLS);

/** The code of one alphabet: by symbol, its bits, first bit lowest, and their number. */
export class PrefixCode {
  readonly counts: Uint32Array;
  readonly lengths: Uint8Array;
  readonly codes: Uint16Array;

  constructor(symbols: number) {
    this.counts = new Uint32Array(symbols);
    this.lengths = new Uint8Array(symbols);
    this.codes = new Uint16Array(symbols);
  }

  /** Makes the code from the counts. */
  make(): void {
    codeLengths(this.counts, this.lengths, MAX_CODE_BITS);
    canonicalCodes(this.lengths, this.codes);
  }

  /** Total bits of the counted symbols. */
  bits(): number {
    let bits = 0;
    for (let s = 0; s < this.counts.length; s++) bits += this.counts[s] * this.lengths[s];
    return bits;
  }

  /** Writes the code by its lengths (RFC 7932, 3.5). */
  write(writer: BitWriter): void {
    let used = this.lengths.length;
    while (this.lengths[used - 1] === 0) used--;
    lengthSymbols.set(this.lengths, used, addRepeats);
    const { lengths } = lengthSymbols;
    let listed = LENGTH_CODE_ORDER.length;
    while (lengths[LENGTH_CODE_ORDER[listed - 1]] === 0) listed--;
    // The first two or three lengths may be skipped; skipping one would mean another kind of code.
    let skipped = 0;
    while (skipped < 3 && lengths[LENGTH_CODE_ORDER[skipped]] === 0) skipped++;
    if (skipped === 1) skipped = 0;
    writer.put(skipped, 2);
    for (let i = skipped; i < listed; i++) {
      const length = lengths[LENGTH_CODE_ORDER[i]];
      writer.put(LENGTH_BITS[length], LENGTH_BIT_COUNTS[length]);
    }
    lengthSymbols.write(writer);
  }
}

/** Consecutive repeats are the digits of one number, highest first. */
function addRepeats(length: number, times: number): number {
  const symbol = length > 0 ? REPEAT_LAST : REPEAT_ZERO;
  const bits = REPEAT_BITS[symbol - REPEAT_LAST];
  let rest = times - MIN_REPEATED;
  let digits = 0;
  for (;;) {
    lengthSymbols.add(symbol, rest & ((1 << bits) - 1));
    digits++;
    rest >>= bits;
    if (rest === 0) break;
    rest--;
  }
  lengthSymbols.reverseExtras(digits);
  return 0;
}
