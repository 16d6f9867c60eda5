/**
 * The page writer: a page's text, its matches and its deflate blocks, in WebAssembly. Its sources are in
 * `assembly`. Each thread has one, which holds one text at a time; positions count from the text's first byte.
 */
import { grown, newInstance, type WebAssemblyMemory } from '../web-assembly.js';

/** Bytes that the page writer may touch after the end of a text or of encoded bytes. */
const SLACK_BYTES = 16;
/** Everything in memory begins at multiples of this. */
const ALIGNMENT_BYTES = 16;
/** Deflate's symbols: literals, the end of a block and lengths; distances. */
export const LITERAL_SYMBOLS = 286;
export const DISTANCE_SYMBOLS = 30;
/** A match's numbers: where it begins, its length and its distance. */
const MATCH_NUMBERS = 3;
/** The shortest match of deflate and brotli that is used. */
const MIN_MATCH_BYTES = 3;
/** By cell of the widest snapshot: where its amounts begin, in it and in the one before, and which cell it was there. */
const CELL_NUMBERS = 5;
/** A cell's text at most: `65535,` `-232,` and twice 2^53 cents, `90071992547409.92,`. */
const MAX_CELL_BYTES = 6 + 5 + 2 * 18;
/** A snapshot's text besides its opening, its keys and its cells: a comma, four brackets and a brace. */
const MAX_SIGN_BYTES = 6;
/** What deflate writes for a byte of text at most, and for a block or a fragment besides. */
const BYTES_PER_TEXT_BYTE = 2;
const MAX_BLOCK_BYTES = 1024;
/** Two blocks in a row have at least so many bytes of text, unless a fragment ends. */
const TWO_BLOCKS_BYTES = 32_768;

/** The cells of snapshots, and the texts around them. */
export interface TextColumns {
  /** Snapshot `s` has the cells `cellOffsets[s] <= i < cellOffsets[s + 1]`. */
  cellOffsets: Int32Array;
  /** null: snapshots have no array of indexes. */
  index: Uint16Array | null;
  bin: Int16Array;
  /** Whole numbers up to 2^53. */
  supportCents: Float64Array;
  resistanceCents: Float64Array;
  /** ASCII text of each snapshot before its arrays, and where in it the name of the tier begins. */
  openings: readonly string[];
  tierOffsets: Uint32Array;
  /** The texts that open the arrays of indexes, bins, support and resistance. */
  arrayKeys: readonly string[];
}

/** Where and for whom a text is made. */
export interface TextUse {
  /** How many encoders of deflate read it: 0, 1 or 2. */
  encoders: number;
  /** How far back a match may reach, in bytes. */
  maxDistance: number;
}

/** A block's codes, in the page writer's memory. */
export interface CodeTables {
  symbolCodes: Uint16Array;
  symbolLengths: Uint8Array;
  distanceCodes: Uint16Array;
  distanceLengths: Uint8Array;
}

/** The codes of one encoder. */
export interface CodeMaker {
  /**
   * Makes codes for a block from the counts of its symbols, or keeps those of the block before.
   * @returns the head that states new codes, its last byte filled up with zeros, and its bits; null for the codes before
   */
  makeCodes(
    symbolCounts: Uint32Array,
    distanceCounts: Uint32Array,
    codes: CodeTables,
  ): { head: Uint8Array; bits: number } | null;
}

/** What it calls. Numbers are addresses in its memory, unless they count something. */
interface Exports {
  memory: WebAssemblyMemory;
  freeMemory(): number;
  beginText(text: number, headBytes: number): void;
  setColumns(...addresses: number[]): void;
  writeSnapshot(s: number, hasComma: boolean): number;
  setMatches(matches: number, maxDistance: number): void;
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
  takePlain(e: number, to: number): void;
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

/** The encoders' codes. */
const makers: (CodeMaker | null)[] = [null, null];
const wasm = newInstance<Exports>(makeCodes);

/** All of the page writer's memory. Growing it replaces the view. */
let memory = new Uint8Array(wasm.memory.buffer);
/** Addresses of the text, of the list of matches, and of what each encoder writes. */
let textAt = 0;
let matchesAt = 0;
let outAt: number[] = [];

/** Starts a text of any bytes. */
export function beginText(text: Uint8Array, use: TextUse): void {
  layOut([], text, { bytes: text.length, longestBytes: text.length, snapshots: 0 }, use);
}

/**
 * Starts a text of snapshots; writeSnapshot() continues it.
 *
 * @param head the text before them
 * @param tailBytes room for a text after them
 */
export function beginSnapshots(
  columns: TextColumns,
  head: Uint8Array,
  tailBytes: number,
  use: TextUse,
): void {
  const { cellOffsets, index, bin, supportCents, resistanceCents, tierOffsets } = columns;
  const snapshots = tierOffsets.length;
  const keys = asciiBytes(columns.arrayKeys);
  const openings = asciiBytes(columns.openings);
  const openingEnds = new Uint32Array(snapshots + 1);
  let widest = 0;
  let longestOpening = 0;
  for (let s = 0; s < snapshots; s++) {
    const { length } = columns.openings[s];
    openingEnds[s + 1] = openingEnds[s] + length;
    longestOpening = Math.max(longestOpening, length);
    widest = Math.max(widest, cellOffsets[s + 1] - cellOffsets[s]);
  }
  const fixedBytes = keys.length + MAX_SIGN_BYTES;
  const snapshotsBytes =
    openings.length + snapshots * fixedBytes + bin.length * MAX_CELL_BYTES + tailBytes;
  const longestSnapshotBytes = longestOpening + fixedBytes + widest * MAX_CELL_BYTES;
  const room = {
    bytes: head.length + snapshotsBytes,
    longestBytes: Math.max(head.length, longestSnapshotBytes),
    snapshots,
  };
  const parts = [
    cellOffsets,
    index ?? new Uint16Array(0),
    bin,
    supportCents,
    resistanceCents,
    openings,
    openingEnds,
    tierOffsets,
    keys,
    Uint32Array.from(columns.arrayKeys, ({ length }) => length),
    new Uint32Array(CELL_NUMBERS * widest),
  ];
  const addresses = layOut(parts, head, room, use);
  if (index === null) addresses[1] = 0;
  wasm.setColumns(...addresses, widest);
}

function asciiBytes(texts: readonly string[]): Uint8Array {
  return Buffer.from(texts.join(''), 'latin1');
}

/** The room that a text takes. */
interface TextRoom {
  bytes: number;
  /** Most bytes among which matches are listed at once. */
  longestBytes: number;
  snapshots: number;
}

/** Copies the parts and the text's beginning into memory. @returns the parts' addresses */
function layOut(
  parts: readonly ArrayBufferView[],
  head: Uint8Array,
  room: TextRoom,
  { encoders, maxDistance }: TextUse,
): number[] {
  let end = wasm.freeMemory();
  const take = (bytes: number): number => {
    const start = Math.ceil(end / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    end = start + bytes;
    return start;
  };
  const addresses = parts.map(({ byteLength }) => take(byteLength));
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
  wasm.setMatches(matchesAt, maxDistance);
  return addresses;
}

/** Writes snapshot `s`: call it for each snapshot in order. @returns the text's end */
export function writeSnapshot(s: number, hasComma: boolean): number {
  return wasm.writeSnapshot(s, hasComma) - textAt;
}

/** The text's first bytes: a view that is valid until another text begins. */
export function textBytes(length: number): Uint8Array<ArrayBuffer> {
  return memory.subarray(textAt, textAt + length);
}

/** Lists the matches of a text. There are two: each remembers its part of the text by itself. */
export class Matcher {
  constructor(private readonly id: 0 | 1) {}

  /** Forgets all text before this one. */
  begin(): void {
    wasm.beginMatches(this.id);
  }

  /** From now on no match begins before `taken`, or repeats text before `floor`. */
  limit(taken: number, floor: number): void {
    wasm.limitMatches(this.id, textAt + taken, textAt + floor);
  }

  /** Lists the matches of any text between two positions. */
  ofText(from: number, to: number): Uint32Array {
    return listed(wasm.matchText(this.id, textAt + from, textAt + to));
  }

  /** Lists the matches of the snapshot that was written last, which may repeat the snapshot before it. */
  ofSnapshot(): Uint32Array {
    return listed(wasm.matchSnapshot(this.id));
  }

  /** Like ofSnapshot(), with matches that repeat text of the snapshot itself only. */
  ofSnapshotAlone(): Uint32Array {
    return listed(wasm.matchSnapshotAlone(this.id));
  }

  /**
   * What it has counted since begin(): amounts that equal neither their cell's in the previous snapshot nor the amount
   * before them; those of them that occur elsewhere within reach; and cells that the previous snapshot did not have.
   */
  counts(): { changed: number; strays: number; added: number } {
    return {
      changed: wasm.changedAmounts(this.id),
      strays: wasm.strayAmounts(this.id),
      added: wasm.addedCells(this.id),
    };
  }
}

/** Three numbers for each match: where it begins, its length and its distance. Valid until others are listed. */
function listed(count: number): Uint32Array {
  return new Uint32Array(memory.buffer, matchesAt, MATCH_NUMBERS * count);
}

/** Encodes the text as deflate blocks. There are two; a text is made for as many as read it (TextUse). */
export class BlockWriter {
  constructor(
    private readonly id: 0 | 1,
    private readonly codes: CodeMaker,
  ) {}

  /** @param prefix bytes to put before the blocks */
  begin(prefix: Uint8Array): void {
    makers[this.id] = this.codes;
    memory.set(prefix, outAt[this.id]);
    wasm.beginDeflate(this.id, outAt[this.id] + prefix.length);
  }

  /**
   * Encodes the text up to the end of the last match.
   * @throws RangeError if a match begins before the last one ends, or repeats text out of reach
   */
  take(matches: Uint32Array): void {
    if (matches.buffer !== memory.buffer) {
      memory.set(new Uint8Array(matches.buffer, matches.byteOffset, matches.byteLength), matchesAt);
    }
    if (wasm.takeMatches(this.id, matchesAt, matches.length / MATCH_NUMBERS) === 0) {
      throw new RangeError('no match: it begins too early or reaches back too far');
    }
  }

  /** Encodes the text up to a position as literals. */
  plain(to: number): void {
    wasm.takePlain(this.id, textAt + to);
  }

  /** Skips the text up to a position, as far as no fragment has it. */
  skip(to: number): void {
    wasm.skipText(this.id, textAt + to);
  }

  /** Ends a fragment, whose blocks end on a byte boundary and do not end the stream. @returns the end of its bytes */
  endFragment(to: number): number {
    return wasm.endFragment(this.id, textAt + to) - outAt[this.id];
  }

  /** Ends the stream. @returns the end of its bytes */
  end(to: number): number {
    return wasm.endDeflate(this.id, textAt + to) - outAt[this.id];
  }

  /** The first bytes since begin(): a view that is valid until another text begins. */
  written(length: number): Uint8Array<ArrayBuffer> {
    return memory.subarray(outAt[this.id], outAt[this.id] + length);
  }
}

function makerOf(e: 0 | 1): CodeMaker {
  const maker = makers[e];
  if (maker === null) throw new Error('no text begun');
  return maker;
}

/** Called by the page writer before it writes a block. */
function makeCodes(e: 0 | 1): boolean {
  const { buffer } = memory;
  const codes = {
    symbolCodes: new Uint16Array(buffer, wasm.symbolCodes(e), LITERAL_SYMBOLS),
    symbolLengths: new Uint8Array(buffer, wasm.symbolLengths(e), LITERAL_SYMBOLS),
    distanceCodes: new Uint16Array(buffer, wasm.distanceCodes(e), DISTANCE_SYMBOLS),
    distanceLengths: new Uint8Array(buffer, wasm.distanceLengths(e), DISTANCE_SYMBOLS),
  };
  const made = makerOf(e).makeCodes(
    new Uint32Array(buffer, wasm.symbolCounts(), LITERAL_SYMBOLS),
    new Uint32Array(buffer, wasm.distanceCounts(e), DISTANCE_SYMBOLS),
    codes,
  );
  if (made === null) return false;
  memory.set(made.head, wasm.head(e));
  wasm.setHeadBits(e, made.bits);
  return true;
}
