/** The text of a page's snapshots, as JSON or MessagePack, and where its parts and amounts begin. */
import { writeAmounts, writeBins, writeIndexes } from './digits';
import { packAmounts, packArrayHeader, packBins, packIndexes } from './msgpack';

const COMMA: u8 = 44;
const OPEN_BRACKET: u8 = 91;
const CLOSE_BRACKET: u8 = 93;
const CLOSE_BRACE: u8 = 125;

/** Whether the text is MessagePack. */
let isPacked: bool = false;

/** Addresses of the page's columns: those of cells, and by snapshot. Without indexes `indexColumn` is 0. */
let cellOffsets: usize = 0;
export let indexColumn: usize = 0;
export let binColumn: usize = 0;
export let supportColumn: usize = 0;
export let resistanceColumn: usize = 0;
/** The texts before the snapshots' positions, their ends, and where each has the name of its tier. */
let openings: usize = 0;
let openingEnds: usize = 0;
let tierOffsets: usize = 0;
/** By array (indexes, bins, support, resistance): the address and the length (u32) of the text that opens it. */
const KEYS: usize = memory.data(4 * 8, 16);
const ARRAY_COUNT: u32 = 4;
/** By cell: the number of the previous snapshot's cell with the same index and bin (i32), -1 if there is none. */
export let earlierCells: usize = 0;

/** The page's text, and the end of what is written. */
export let text: usize = 0;
let textEnd: usize = 0;

/** Where the parts of a snapshot's text begin, and which cells it has. */
@unmanaged
class Marks {
  start: u32;
  /** The name of the tier. */
  tier: u32;
  /** The arrays of indexes and bins, with their names. */
  positions: u32;
  supportKey: u32;
  resistanceKey: u32;
  end: u32;
  /** Its cells: numbers of the page's. */
  from: u32;
  to: u32;
  /** By cell: addresses (u32) of its amounts' texts. */
  support: usize;
  resistance: usize;
  /** Whether the cells have the same indexes and bins as those of the previous snapshot. */
  samePositions: bool;
}

/** The marks of the last snapshot written, and of the one before it; `end` is 0 if there is none. */
export let now: Marks = changetype<Marks>(memory.data(offsetof<Marks>(), 16));
export let last: Marks = changetype<Marks>(memory.data(offsetof<Marks>(), 16));

/**
 * Sets the addresses of a page's columns, and of the texts that open snapshots and, one after the other, their arrays.
 * `numbers` has room for five numbers (u32) for each cell of the widest snapshot; `packed` chooses MessagePack.
 */
export function setColumns(
  offsets: usize,
  index: usize,
  bin: usize,
  support: usize,
  resistance: usize,
  openingTexts: usize,
  ends: usize,
  tiers: usize,
  keys: usize,
  keyLengths: usize,
  numbers: usize,
  widest: u32,
  packed: bool,
): void {
  isPacked = packed;
  cellOffsets = offsets;
  indexColumn = index;
  binColumn = bin;
  supportColumn = support;
  resistanceColumn = resistance;
  openings = openingTexts;
  openingEnds = ends;
  tierOffsets = tiers;
  for (let array: u32 = 0; array < ARRAY_COUNT; array++) {
    const length = load<u32>(keyLengths + (array << 2));
    store<u32>(KEYS + (array << 3), keys);
    store<u32>(KEYS + (array << 3), length, 4);
    keys += length;
  }
  const bytes = widest << 2;
  now.support = numbers;
  now.resistance = numbers + bytes;
  last.support = numbers + 2 * bytes;
  last.resistance = numbers + 3 * bytes;
  earlierCells = numbers + 4 * bytes;
}

/** Starts a text at an address, after a byte that no text has; its first bytes, the head, are written already. */
export function beginText(address: usize, headBytes: u32): void {
  store<u8>(address - 1, 0);
  text = address;
  textEnd = address + headBytes;
  now.from = now.to = now.end = 0;
  last.from = last.to = last.end = 0;
}

/** Writes snapshot `s`: call it for each snapshot in order. Returns the text's end. */
export function writeSnapshot(s: u32, hasComma: bool): u32 {
  const before = now;
  now = last;
  last = before;
  let at = textEnd;
  if (hasComma) store<u8>(at++, COMMA);
  now.start = at;
  now.from = load<u32>(cellOffsets + (s << 2));
  now.to = load<u32>(cellOffsets + (s << 2), 4);
  const opening = load<u32>(openingEnds + (s << 2));
  const openingBytes = load<u32>(openingEnds + (s << 2), 4) - opening;
  memory.copy(at, openings + opening, openingBytes);
  now.tier = at + load<u32>(tierOffsets + (s << 2));
  at += openingBytes;
  now.positions = at;
  now.samePositions = last.end > 0 && hasPositionsOfLast();
  if (now.samePositions) {
    const bytes = last.supportKey - last.positions;
    memory.copy(at, last.positions, bytes);
    at += bytes;
  } else at = writePositions(at);
  now.supportKey = at;
  at = writeColumn(openArray(at, 2), supportColumn, now.support);
  now.resistanceKey = at;
  at = writeColumn(openArray(at, 3), resistanceColumn, now.resistance);
  if (!isPacked) store<u8>(at++, CLOSE_BRACE);
  now.end = at;
  textEnd = at;
  return at;
}

/** Writes the arrays of indexes and bins, which often stay the same for hours. */
function writePositions(at: usize): usize {
  const from = now.from << 1;
  const to = now.to << 1;
  if (indexColumn !== 0) {
    at = openArray(at, 0);
    if (isPacked) at = packIndexes(at, indexColumn + from, indexColumn + to);
    else at = closeArray(writeIndexes(at, indexColumn + from, indexColumn + to));
  }
  at = openArray(at, 1);
  if (isPacked) return packBins(at, binColumn + from, binColumn + to);
  return closeArray(writeBins(at, binColumn + from, binColumn + to));
}

function writeColumn(at: usize, column: usize, marks: usize): usize {
  const from = column + (now.from << 3);
  const to = column + (now.to << 3);
  if (isPacked) return packAmounts(at, from, to);
  return closeArray(writeAmounts(at, from, to, marks));
}

/** Writes the text that opens an array. */
function openArray(at: usize, array: u32): usize {
  const key = KEYS + (array << 3);
  const bytes = load<u32>(key, 4);
  memory.copy(at, load<u32>(key), bytes);
  at += bytes;
  return isPacked ? packArrayHeader(at, now.to - now.from) : at;
}

/** Writes the closing bracket of JSON, over the comma of the last item if there is one. */
function closeArray(at: usize): usize {
  if (load<u8>(at - 1) !== OPEN_BRACKET) at--;
  store<u8>(at, CLOSE_BRACKET);
  return at + 1;
}

/** Whether the snapshot `now` has the cells of the `last` one. */
function hasPositionsOfLast(): bool {
  const count = now.to - now.from;
  if (last.to - last.from !== count) return false;
  const bytes = count << 1;
  return (
    isEqual(binColumn + (last.from << 1), binColumn + (now.from << 1), bytes) &&
    (indexColumn === 0 ||
      isEqual(indexColumn + (last.from << 1), indexColumn + (now.from << 1), bytes))
  );
}

function isEqual(a: usize, b: usize, bytes: u32): bool {
  const end = a + bytes;
  for (; a + 8 <= end; a += 8, b += 8) if (load<u64>(a) !== load<u64>(b)) return false;
  for (; a < end; a++, b++) if (load<u8>(a) !== load<u8>(b)) return false;
  return true;
}
