/** The codes of a block's symbols, which blocks that follow may have again. */
import { BitWriter, DEFLATE_SLACK_BYTES } from './bit-writer.js';
import { writeCodeLengths } from './code-lengths.js';
import { canonicalCodes, codeLengths, MAX_CODE_BITS } from './huffman.js';
import {
  DISTANCE_EXTRA_BITS,
  DISTANCE_SYMBOLS,
  LENGTH_EXTRA,
  LENGTH_EXTRA_BITS,
  LENGTH_SYMBOL,
  LENGTH_SYMBOL_EXTRA_BITS,
  LITERAL_SYMBOLS,
  MAX_MATCH_BYTES,
  MIN_MATCH_BYTES,
} from './symbols.js';
import { BYTES, FIRST_DIGIT, LITERAL_TOKENS, PAIRS } from './tokens.js';

/** A distance's code and the 13 bits after it are put down at once, 24 bits at most. */
const MAX_DISTANCE_CODE_BITS = 11;
const MAX_PUT_BITS = 24;
/** Code lengths and all else that stands before a block's tokens. */
export const MAX_BLOCK_HEAD_BYTES = 512;
/** In an entry of a table the number of bits stands above the bits. */
export const BITS_SHIFT = 24;
export const BITS_MASK = 0xff_ffff;

export class BlockCodes {
  readonly symbolLengths = new Uint8Array(LITERAL_SYMBOLS);
  readonly symbolCodes = new Uint16Array(LITERAL_SYMBOLS);
  readonly distanceLengths = new Uint8Array(DISTANCE_SYMBOLS);
  readonly distanceCodes = new Uint16Array(DISTANCE_SYMBOLS);
  /** By token and by length: bits, and above them how many; 0 for none yet. */
  readonly literalEntries = new Uint32Array(LITERAL_TOKENS);
  readonly lengthEntries = new Uint32Array(MAX_MATCH_BYTES + 1);
  /** Of the blocks lately: what codes for more than one block are worked out from. */
  private readonly symbolSums = new Uint32Array(LITERAL_SYMBOLS);
  private readonly distanceSums = new Uint32Array(DISTANCE_SYMBOLS);
  private readonly head = new BitWriter();
  /** Blocks that may yet have the codes. */
  private blocksLeft = 0;

  /** @param blocks that have one code at most, as long as it has all of their symbols */
  constructor(readonly blocks = 1) {}

  /** Forgets the blocks so far. */
  clear(): void {
    this.blocksLeft = 0;
    this.symbolSums.fill(0);
    this.distanceSums.fill(0);
  }

  /**
   * Sees to it that there are codes for a block's symbols.
   * @returns bits that the block takes, its head not counted
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

  /** Writes what says which codes the block has. */
  writeHead(writer: BitWriter): void {
    const head = this.head;
    const { view } = head;
    for (let at = 0; at < head.at; at++) writer.put(view.getUint8(at), 8);
    writer.put(head.bits, head.count);
  }

  /** The entry of a literal that had none; 0 where its codes are too long together. */
  newEntry(token: number): number {
    const entry = this.literalEntry(token);
    this.literalEntries[token] = entry;
    return entry;
  }

  /** Puts a token's literals down one by one. */
  putApart(writer: BitWriter, token: number): void {
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

/** What was long ago counts for less. */
function halve(sums: Uint32Array): void {
  for (let s = 0; s < sums.length; s++) sums[s] >>>= 1;
}

function covers(lengths: Uint8Array, counts: Uint32Array): boolean {
  for (let s = 0; s < counts.length; s++) if (counts[s] > 0 && lengths[s] === 0) return false;
  return true;
}
