/** Writes a page's text of snapshots into the page writer's memory. */
import { layOut, textAt, type Encoders, wasm } from './page-memory.js';

/** For each cell of the widest snapshot: where its two amounts begin in this and in the previous snapshot, and its number there. */
const CELL_NUMBERS = 5;
/** A cell's text at most, in JSON: `65535,` `-232,` and twice 2^53 cents, `90071992547409.92,`. */
const MAX_CELL_BYTES = 6 + 5 + 2 * 18;
/** A snapshot's text besides its opening, its keys and its cells, in MessagePack: four lengths of arrays. */
const MAX_SIGN_BYTES = 20;

/** The cells of snapshots. */
interface CellColumns {
  /** Snapshot `s` has the cells `cellOffsets[s] <= i < cellOffsets[s + 1]`. */
  cellOffsets: Int32Array;
  /** null: snapshots have no array of indexes. */
  index: Uint16Array | null;
  bin: Int16Array;
  /** Whole numbers up to 2^53. */
  supportCents: Float64Array;
  resistanceCents: Float64Array;
}

/** The texts around them, one character per byte. */
interface SnapshotTexts {
  /** Whether the text is MessagePack, not JSON. */
  isPacked: boolean;
  /** Each snapshot's text before its arrays: up to the name of the tier, and from there on. */
  openings: readonly (readonly [time: string, rest: string])[];
  /** The texts that open the arrays of indexes, bins, support and resistance. */
  arrayKeys: readonly string[];
}

const NO_INDEX = new Uint16Array(0);

/** Starts a text of any bytes. */
export function beginText(text: Uint8Array, encoders: Encoders): void {
  layOut([], text, { bytes: text.length, longestBytes: text.length, snapshots: 0 }, encoders);
}

/**
 * Starts a text of snapshots; writeSnapshot() continues it.
 *
 * @param head the text before them
 * @param tailBytes room for a text after them
 */
export function beginSnapshots(
  { cellOffsets, index, bin, supportCents, resistanceCents }: CellColumns,
  texts: SnapshotTexts,
  head: Uint8Array,
  tailBytes: number,
  encoders: Encoders,
): void {
  const snapshots = texts.openings.length;
  const keys = bytesOfTexts(texts.arrayKeys);
  const openings = bytesOfTexts(texts.openings.flat());
  const openingEnds = new Uint32Array(snapshots + 1);
  const tierOffsets = Uint32Array.from(texts.openings, ([time]) => time.length);
  let widest = 0;
  let longestOpening = 0;
  for (let s = 0; s < snapshots; s++) {
    const length = tierOffsets[s] + texts.openings[s][1].length;
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
    index ?? NO_INDEX,
    bin,
    supportCents,
    resistanceCents,
    openings,
    openingEnds,
    tierOffsets,
    keys,
    Uint32Array.from(texts.arrayKeys, ({ length }) => length),
  ];
  const addresses = layOut(parts, head, room, encoders, 4 * CELL_NUMBERS * widest);
  if (index === null) addresses[1] = 0;
  wasm.setColumns(...addresses, widest, Number(texts.isPacked));
}

function bytesOfTexts(texts: readonly string[]): Uint8Array {
  return Buffer.from(texts.join(''), 'latin1');
}

/** Writes snapshot `s`: call it for each snapshot in order. @returns the text's end */
export function writeSnapshot(s: number, hasComma: boolean): number {
  return wasm.writeSnapshot(s, hasComma) - textAt;
}
