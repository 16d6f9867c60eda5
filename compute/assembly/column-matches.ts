/** Finds where the columns of an Arrow page repeat themselves: mostly, a cell has the values of an earlier snapshot. */
import { MAX_DISTANCE_BYTES } from './encoder';
import {
  begin,
  distanceOfSeen,
  findEarlier,
  GOLDEN,
  listed,
  matcher,
  MIN_LENGTH_BYTES,
  takeBytes,
  takeMatch,
  takeTail,
} from './matches';
import { hasPositionsOfLast, last, now, setEarlierCells, setPositions } from './snapshots';

/** log2 of a double's bytes. */
const DOUBLE_BITS: u32 = 3;
const HIGH_BYTES: u32 = 3;

/** By snapshot: its first cell (u32), and the end. */
let rowOffsets: usize = 0;
let snapshotCount: u32 = 0;
/** For each cell: the same cell's number among those of the previous snapshot; -1 if it has none. */
let earlierRows: usize = 0;

/**
 * Finds which cells of each snapshot the previous snapshot has, too.
 * @param index and `bin`: the cells' columns; `index` 0: none
 * @param earlier gets a number (u32) for each cell
 */
export function setRows(
  m: u32,
  offsets: usize,
  snapshots: u32,
  index: usize,
  bin: usize,
  earlier: usize,
): void {
  begin(m, 0);
  setPositions(index, bin);
  rowOffsets = offsets;
  snapshotCount = snapshots;
  earlierRows = earlier;
  for (let s: u32 = 0; s < snapshots; s++) {
    now.from = load<u32>(offsets + (s << 2));
    now.to = load<u32>(offsets + (s << 2), 4);
    const rows = earlier + (now.from << 2);
    if (s === 0) memory.fill(rows, 255, now.to << 2);
    else if (hasPositionsOfLast()) {
      for (let k: u32 = 0; k < now.to - now.from; k++) store<u32>(rows + (k << 2), k);
    } else {
      setEarlierCells(rows);
      findEarlier();
    }
    last.from = now.from;
    last.to = now.to;
  }
}

/**
 * Lists the matches of a column with 2^`widthBits` bytes a cell. Returns how many.
 * @param bits the address of its validity bits, which end where the column begins
 * @param isAmounts whether its changed values count: see Matcher
 */
export function matchColumn(m: u32, bits: u32, column: u32, widthBits: u32, isAmounts: bool): u32 {
  const width: u32 = 1 << widthBits;
  begin(m, column + (load<u32>(rowOffsets + (snapshotCount << 2)) << widthBits));
  takeBytes(bits, column);
  if (matcher.taken < column) matcher.taken = column;
  let lastFrom: u32 = 0;
  for (let s: u32 = 0; s < snapshotCount; s++) {
    const from = load<u32>(rowOffsets + (s << 2));
    const to = load<u32>(rowOffsets + (s << 2), 4);
    let row = from;
    if (s === 0 && widthBits < DOUBLE_BITS) {
      // The first snapshot's bins repeat from market to market.
      takeBytes(column, column + (to << widthBits));
      row = to;
    }
    while (row < to) {
      const start = column + (row << widthBits);
      const earlier = load<i32>(earlierRows + (row << 2));
      const back = (row - lastFrom - earlier) << widthBits;
      const isNear = earlier >= 0 && back <= MAX_DISTANCE_BYTES;
      if (isNear && isEqual(start, start - back, widthBits)) {
        takeMatch(start, start + width, back, MIN_LENGTH_BYTES);
      } else if (row > 0 && isEqual(start, start - width, widthBits)) {
        takeMatch(start, start + width, width, MIN_LENGTH_BYTES);
      } else if (widthBits === DOUBLE_BITS) {
        takeDouble(start, isNear ? back : 0, isAmounts);
      }
      row = max(row + 1, (matcher.taken - column) >> widthBits);
    }
    lastFrom = from;
  }
  return listed();
}

/**
 * Lists the matches of a double that has changed.
 * @param back the distance in bytes to the same cell's double in the previous snapshot; 0: none is in reach
 */
function takeDouble(start: u32, back: u32, isAmount: bool): void {
  const seen = distanceOfSeen(load<u32>(start) ^ (load<u32>(start, 4) * GOLDEN), start);
  if (isAmount) {
    matcher.changed++;
    if (seen > 0) matcher.strays++;
  }
  if (seen > 0) takeMatch(start, start, seen, MIN_LENGTH_BYTES);
  else takeTail(start, start);
  // Drifting values mostly keep the highest bytes of the previous snapshot.
  if (back > 0 && highOf(start) === highOf(start - back)) {
    const end = start + (1 << DOUBLE_BITS);
    takeMatch(end - HIGH_BYTES, end, back, HIGH_BYTES);
  }
}

/** The three highest bytes of a double. */
function highOf(at: usize): u32 {
  return load<u32>(at, 4) >> 8;
}

function isEqual(a: usize, b: usize, widthBits: u32): bool {
  if (widthBits === DOUBLE_BITS) return load<u64>(a) === load<u64>(b);
  if (widthBits === 2) return load<u32>(a) === load<u32>(b);
  if (widthBits === 1) return load<u16>(a) === load<u16>(b);
  return load<u8>(a) === load<u8>(b);
}
