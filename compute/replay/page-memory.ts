/**
 * The page writer's memory: a page's text, its matches and its deflate blocks, in WebAssembly. Its sources are in
 * `assembly`. Each thread has one, which holds one text at a time; positions count from the text's first byte.
 */
import {
  type BlockTables,
  DISTANCE_SYMBOLS,
  LITERAL_SYMBOLS,
  makeCodes,
} from '../deflate/block-codes.js';
import { grown, newInstance, type WebAssemblyMemory } from '../web-assembly.js';

/** Bytes that the page writer may touch after the end of a text or of encoded bytes. */
const SLACK_BYTES = 16;
/** Everything in memory begins at multiples of this. */
const ALIGNMENT_BYTES = 16;
/** A match's numbers: where it begins, its length and its distance. */
export const MATCH_NUMBERS = 3;
/** The shortest match that is used. */
const MIN_MATCH_BYTES = 3;
/** What deflate writes for a byte of text at most, and for a block or a fragment besides. */
const BYTES_PER_TEXT_BYTE = 2;
const MAX_BLOCK_BYTES = 1024;
/** Two blocks in a row have at least so many bytes of text, unless a fragment ends. */
const TWO_BLOCKS_BYTES = 32_768;

/** How many encoders of deflate read a text while it is written. */
export type Encoders = 0 | 1 | 2;

/** What it calls. Numbers are addresses in its memory, unless they count something. */
interface Exports {
  memory: WebAssemblyMemory;
  freeMemory(): number;
  beginText(text: number, headBytes: number): void;
  setColumns(...addresses: number[]): void;
  writeSnapshot(s: number, hasComma: boolean): number;
  repeatValues(
    to: number,
    widthBits: number,
    offsets: number,
    snapshots: number,
    values: number,
  ): void;
  writeCodes(to: number, index: number, rows: number, codes: number): void;
  writeValidity(to: number, index: number, rows: number, codes: number): void;
  writeUsd(to: number, cents: number, rows: number): void;
  writePrices(
    to: number,
    offsets: number,
    snapshots: number,
    prices: number,
    bin: number,
    factors: number,
  ): void;
  setMatches(matches: number): void;
  beginMatches(m: number): void;
  limitMatches(m: number, taken: number, floor: number): void;
  matchText(m: number, from: number, to: number): number;
  matchSnapshot(m: number): number;
  matchSnapshotAlone(m: number): number;
  changedAmounts(m: number): number;
  strayAmounts(m: number): number;
  addedCells(m: number): number;
  beginDeflate(e: number, out: number): void;
  takeMatches(e: number, matches: number, count: number): number;
  skipText(e: number, to: number): void;
  endFragment(e: number, to: number): number;
  endDeflate(e: number, to: number): number;
  symbolCounts(): number;
  distanceCounts(e: number): number;
  symbolCodes(e: number): number;
  symbolLengths(e: number): number;
  distanceCodes(e: number): number;
  distanceLengths(e: number): number;
  head(e: number): number;
  setHeadBits(e: number, bits: number): void;
}

export const wasm = newInstance<Exports>(makeBlockCodes);

/** All of the memory. Growing it replaces the view. */
export let memory = new Uint8Array(wasm.memory.buffer);
/** Addresses of the text, of the list of matches, and of what each encoder writes. */
export let textAt = 0;
export let matchesAt = 0;
export let outAt: readonly number[] = [];

/** The room that a text takes. */
interface TextRoom {
  bytes: number;
  /** Most bytes among which matches are listed at once. */
  longestBytes: number;
  snapshots: number;
}

/** Copies the parts and the text's beginning into memory. @returns the parts' addresses, and that of the numbers */
export function layOut(
  parts: readonly ArrayBufferView[],
  head: Uint8Array,
  room: TextRoom,
  encoders: Encoders,
  numbersBytes = 0,
): number[] {
  let end = wasm.freeMemory();
  const take = (bytes: number): number => {
    const start = Math.ceil(end / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    end = start + bytes;
    return start;
  };
  const addresses = [...parts.map(({ byteLength }) => take(byteLength)), take(numbersBytes)];
  matchesAt = take(4 * MATCH_NUMBERS * Math.ceil(room.longestBytes / MIN_MATCH_BYTES));
  // The page writer writes a byte before the text.
  textAt = take(ALIGNMENT_BYTES + room.bytes + SLACK_BYTES) + ALIGNMENT_BYTES;
  const blocks = 1 + room.snapshots + 2 * Math.ceil(room.bytes / TWO_BLOCKS_BYTES);
  const outBytes = BYTES_PER_TEXT_BYTE * room.bytes + MAX_BLOCK_BYTES * blocks;
  outAt = Array.from({ length: encoders }, () => take(outBytes + SLACK_BYTES));
  if (end > memory.length) memory = grown(wasm.memory, end);
  parts.forEach(({ buffer, byteOffset, byteLength }, i) => {
    memory.set(new Uint8Array(buffer, byteOffset, byteLength), addresses[i]);
  });
  memory.set(head, textAt);
  wasm.beginText(textAt, head.length);
  wasm.setMatches(matchesAt);
  return addresses;
}

/** The text's first bytes: a view that is valid until another text begins. */
export function textBytes(length: number): Uint8Array<ArrayBuffer> {
  return memory.subarray(textAt, textAt + length);
}

const tablesOf = (e: 0 | 1): BlockTables => {
  const { buffer } = memory;
  return {
    symbolCounts: new Uint32Array(buffer, wasm.symbolCounts(), LITERAL_SYMBOLS),
    distanceCounts: new Uint32Array(buffer, wasm.distanceCounts(e), DISTANCE_SYMBOLS),
    symbolCodes: new Uint16Array(buffer, wasm.symbolCodes(e), LITERAL_SYMBOLS),
    symbolLengths: new Uint8Array(buffer, wasm.symbolLengths(e), LITERAL_SYMBOLS),
    distanceCodes: new Uint16Array(buffer, wasm.distanceCodes(e), DISTANCE_SYMBOLS),
    distanceLengths: new Uint8Array(buffer, wasm.distanceLengths(e), DISTANCE_SYMBOLS),
  };
};
/** By encoder: the tables in memory. */
const tables = [tablesOf(0), tablesOf(1)];

/** Called by the page writer before it writes a block. */
function makeBlockCodes(e: 0 | 1): void {
  if (tables[e].symbolCounts.buffer !== memory.buffer) tables[e] = tablesOf(e);
  const { bytes, bits } = makeCodes(tables[e]);
  memory.set(bytes, wasm.head(e));
  wasm.setHeadBits(e, bits);
}
