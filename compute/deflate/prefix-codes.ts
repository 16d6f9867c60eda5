/** What deflate and brotli share: a bit writer, Huffman codes of limited length, and how a header states them. */

/** Bytes that a writer may touch after the end of its output. */
export const DEFLATE_SLACK_BYTES = 8;

/** Writes bits, first bit lowest, to memory that is reused from text to text. */
export class BitWriter {
  private out = new Uint8Array(0);
  /** View of the memory; reserve() may replace it. */
  view = new DataView(this.out.buffer);
  /** Whole bytes written. */
  at = 0;
  /** The remaining bits, and their number, below 8. */
  bits = 0;
  count = 0;

  clear(): void {
    this.rewindTo(0);
  }

  /** Discards everything after byte `at`. */
  rewindTo(at: number): void {
    this.at = at;
    this.bits = this.count = 0;
  }

  /** Reserves room for this many more bytes, slack included. */
  reserve(bytes: number): void {
    if (this.out.length - this.at >= bytes) return;
    const out = new Uint8Array(Math.max(this.at + bytes, 2 * this.out.length));
    out.set(this.out.subarray(0, this.at));
    this.out = out;
    this.view = new DataView(out.buffer);
  }

  /** Writes up to 24 bits; the caller has reserved the bytes. */
  put(value: number, bits: number): void {
    this.bits |= value << this.count;
    this.count += bits;
    this.view.setInt32(this.at, this.bits, true);
    this.at += this.count >> 3;
    this.bits >>>= this.count & 24;
    this.count &= 7;
  }

  /** Fills the last byte with zeros. */
  align(): void {
    if (this.count > 0) this.put(0, 8 - this.count);
  }

  /** The bytes written, as a view. */
  written(): Uint8Array<ArrayBuffer> {
    return this.out.subarray(0, this.at);
  }
}

/** Longest code of any of deflate's alphabets. */
export const MAX_CODE_BITS = 15;
const MAX_SYMBOLS = 1024;

/** `count * MAX_SYMBOLS + symbol` of the symbols in use. */
const sorted = new Float64Array(MAX_SYMBOLS);
/** Counts of the tree's inner nodes; their depths later. */
const nodeCount = new Float64Array(MAX_SYMBOLS);
const nodeParent = new Uint16Array(MAX_SYMBOLS);
const leafParent = new Uint16Array(MAX_SYMBOLS);
const nodeDepth = new Uint16Array(MAX_SYMBOLS);
const lengthCounts = new Uint32Array(MAX_SYMBOLS);

/**
 * Computes a code: `lengths[symbol]` in bits, 0 if a symbol does not occur. At least two symbols get a code,
 * because decoders reject incomplete codes.
 *
 * @param counts how often each symbol occurs, below 2^32 in all
 * @param limit longest code in bits; 2^limit is at least the number of symbols
 */
export function codeLengths(counts: Uint32Array, lengths: Uint8Array, limit: number): void {
  lengths.fill(0);
  const used = sortUsed(counts);
  if (used < 2) {
    const only = used === 0 ? 0 : sorted[0] % MAX_SYMBOLS;
    lengths[only] = 1;
    lengths[only === 0 ? 1 : 0] = 1;
    return;
  }
  countLengths(used, limit);
  // The rarest symbols have the longest codes.
  let length = limit;
  for (let i = 0; i < used; i++) {
    while (lengthCounts[length] === 0) length--;
    lengthCounts[length]--;
    lengths[sorted[i] % MAX_SYMBOLS] = length;
  }
}

function sortUsed(counts: Uint32Array): number {
  let used = 0;
  for (let symbol = 0; symbol < counts.length; symbol++) {
    if (counts[symbol] > 0) sorted[used++] = counts[symbol] * MAX_SYMBOLS + symbol;
  }
  sorted.subarray(0, used).sort();
  return used;
}

/** How many codes of each length Huffman's tree over the sorted counts has, within the limit. */
function countLengths(used: number, limit: number): void {
  const inner = used - 1;
  let leaf = 0;
  let node = 0;
  for (let made = 0; made < inner; made++) {
    let sum = 0;
    for (let child = 0; child < 2; child++) {
      const count = leaf < used ? Math.floor(sorted[leaf] / MAX_SYMBOLS) : Infinity;
      if (node < made && nodeCount[node] < count) {
        sum += nodeCount[node];
        nodeParent[node++] = made;
      } else {
        sum += count;
        leafParent[leaf++] = made;
      }
    }
    nodeCount[made] = sum;
  }
  lengthCounts.fill(0);
  nodeDepth[inner - 1] = 0;
  for (let n = inner - 2; n >= 0; n--) nodeDepth[n] = nodeDepth[nodeParent[n]] + 1;
  for (let i = 0; i < used; i++) {
    lengthCounts[Math.min(limit, nodeDepth[leafParent[i]] + 1)]++;
  }
  repair(limit);
}

/** Completes the code after long codes were cut: Kraft's sum must be 1. */
function repair(limit: number): void {
  let kraft = 0;
  for (let length = 1; length <= limit; length++) {
    kraft += lengthCounts[length] << (limit - length);
  }
  for (; kraft > 1 << limit; kraft--) {
    let length = limit - 1;
    while (lengthCounts[length] === 0) length--;
    lengthCounts[limit]--;
    lengthCounts[length]--;
    lengthCounts[length + 1] += 2;
  }
}

const nextCode = new Uint16Array(MAX_CODE_BITS + 2);

/** Canonical codes of the lengths, first bit lowest, as deflate's stream has them. */
export function canonicalCodes(lengths: Uint8Array, codes: Uint16Array): void {
  nextCode.fill(0);
  for (const length of lengths) if (length > 0) nextCode[length + 1]++;
  for (let bits = 1; bits <= MAX_CODE_BITS; bits++) {
    nextCode[bits] = (nextCode[bits - 1] + nextCode[bits]) << 1;
  }
  for (let symbol = 0; symbol < lengths.length; symbol++) {
    const length = lengths[symbol];
    if (length > 0) codes[symbol] = reversed(nextCode[length]++, length);
  }
}

function reversed(code: number, length: number): number {
  let result = 0;
  for (let i = 0; i < length; i++, code >>= 1) result = (result << 1) | (code & 1);
  return result;
}

/** Shortest repetition that has its own symbol. */
export const MIN_REPEATED = 3;
/** Symbols of code lengths: 0 to 15 are lengths, the others repeat a length. */
export const REPEAT_LAST = 16;
export const REPEAT_ZERO = 17;
export const REPEAT_ZERO_LONG = 18;

/** The code lengths of a header, with repetitions shortened, and the code of their symbols. */
export class LengthSymbols {
  /** By symbol: bits of its code. */
  readonly lengths: Uint8Array;
  private readonly counts: Uint32Array;
  private readonly codes: Uint16Array;
  private readonly symbols: Uint8Array;
  private readonly extras: Uint8Array;
  private used = 0;

  /**
   * @param repeatBits extra bits of REPEAT_LAST and the symbols after it
   * @param maxLengths the most code lengths in a header
   */
  constructor(
    private readonly limit: number,
    private readonly repeatBits: readonly number[],
    maxLengths: number,
  ) {
    const alphabet = REPEAT_LAST + repeatBits.length;
    this.lengths = new Uint8Array(alphabet);
    this.counts = new Uint32Array(alphabet);
    this.codes = new Uint16Array(alphabet);
    this.symbols = new Uint8Array(maxLengths);
    this.extras = new Uint8Array(maxLengths);
  }

  /**
   * Sets the symbols of `lengths[0..count)` and makes their code.
   * @param repeat adds symbols for a length that occurs MIN_REPEATED times or more in a row; returns how many
   *   occurrences are left
   */
  set(lengths: Uint8Array, count: number, repeat: (length: number, times: number) => number): void {
    this.used = 0;
    this.counts.fill(0);
    for (let at = 0; at < count;) {
      const length = lengths[at];
      let times = 1;
      while (at + times < count && lengths[at + times] === length) times++;
      at += times;
      if (length > 0) {
        this.add(length, 0);
        times--;
      }
      if (times >= MIN_REPEATED) times = repeat(length, times);
      for (; times > 0; times--) this.add(length, 0);
    }
    codeLengths(this.counts, this.lengths, this.limit);
    canonicalCodes(this.lengths, this.codes);
  }

  add(symbol: number, extra: number): void {
    this.counts[symbol]++;
    this.symbols[this.used] = symbol;
    this.extras[this.used++] = extra;
  }

  /** Reverses the extra bits' values of the last symbols added. */
  reverseExtras(count: number): void {
    this.extras.subarray(this.used - count, this.used).reverse();
  }

  write(writer: BitWriter): void {
    for (let i = 0; i < this.used; i++) {
      const symbol = this.symbols[i];
      writer.put(this.codes[symbol], this.lengths[symbol]);
      if (symbol >= REPEAT_LAST) writer.put(this.extras[i], this.repeatBits[symbol - REPEAT_LAST]);
    }
  }
}
