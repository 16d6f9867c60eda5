/** A prefix code of a brotli block, and how it is told by the lengths of its codes (RFC 7932, 3.5). */
import type { BitWriter } from '../deflate/bit-writer.js';
import { canonicalCodes, codeLengths, MAX_CODE_BITS } from '../deflate/huffman.js';

/** Order in which the lengths of the code lengths' own code are written. */
const LENGTH_CODE_ORDER = [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const LENGTH_CODES = 18;
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
const runCounts = new Uint32Array(LENGTH_CODES);
const runLengths = new Uint8Array(LENGTH_CODES);
const runCodes = new Uint16Array(LENGTH_CODES);
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
    let listed = LENGTH_CODES;
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
