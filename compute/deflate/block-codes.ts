/** Codes of deflate's blocks, and the head that states them (RFC 1951, 3.2.7). */
import {
  type CodeMaker,
  type CodeTables,
  DISTANCE_SYMBOLS,
  LITERAL_SYMBOLS,
} from '../replay/page-memory.js';
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

const END_OF_BLOCK = 256;
/** The page writer writes a match at once: its length's code, its distance's, and the bits after each. */
const MAX_DISTANCE_CODE_BITS = 11;
/** Everything before a block's tokens. */
const MAX_BLOCK_HEAD_BYTES = 512;

export class BlockCodes implements CodeMaker {
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

  makeCodes(symbolCounts: Uint32Array, distanceCounts: Uint32Array, codes: CodeTables) {
    if (this.blocks === 1) return this.make(symbolCounts, distanceCounts, codes);
    addCounts(this.symbolSums, symbolCounts);
    addCounts(this.distanceSums, distanceCounts);
    const hasAll =
      this.blocksLeft > 0 &&
      covers(codes.symbolLengths, symbolCounts) &&
      covers(codes.distanceLengths, distanceCounts);
    if (hasAll) {
      this.blocksLeft--;
      return null;
    }
    const made = this.make(this.symbolSums, this.distanceSums, codes);
    halve(this.symbolSums);
    halve(this.distanceSums);
    this.blocksLeft = this.blocks - 1;
    return made;
  }

  private make(
    symbolCounts: Uint32Array,
    distanceCounts: Uint32Array,
    { symbolCodes, symbolLengths, distanceCodes, distanceLengths }: CodeTables,
  ): { head: Uint8Array; bits: number } {
    codeLengths(symbolCounts, symbolLengths, MAX_CODE_BITS);
    codeLengths(distanceCounts, distanceLengths, MAX_DISTANCE_CODE_BITS);
    canonicalCodes(symbolLengths, symbolCodes);
    canonicalCodes(distanceLengths, distanceCodes);
    const { head } = this;
    head.clear();
    head.reserve(MAX_BLOCK_HEAD_BYTES + DEFLATE_SLACK_BYTES);
    writeCodeLengths(head, symbolLengths, distanceLengths);
    const bits = 8 * head.at + head.count;
    head.align();
    return { head: head.written(), bits };
  }
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
