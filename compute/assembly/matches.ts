/**
 * Finds where a page's text repeats itself. Consecutive snapshots have the same names and mostly the same cells, so the
 * columns tell which earlier digits an amount repeats. The text itself is searched only if cells were added or removed.
 */
import { MAX_DISTANCE_BYTES } from './encoder';
import {
  binColumn,
  earlierCells,
  indexColumn,
  last,
  now,
  resistanceColumn,
  supportColumn,
  text,
} from './snapshots';

/** Shortest match: one that reaches back to the previous snapshot costs as much as five digits. */
const MIN_LENGTH_BYTES: u32 = 6;
/** A changed amount gives a match if at least this many first digits are unchanged. */
const PREFIX_BYTES: u32 = MIN_LENGTH_BYTES - 1;
/** Smaller amounts than this, 10,000 USD, are not compared digit by digit: too many of their digits differ. */
const MIN_PREFIXED_CENTS: f64 = 1_000_000;

/** log2 of how many amounts are remembered: nearly all in deflate's window of 32 KB. */
const SEEN_BITS: u32 = 11;
const SEEN_BYTES: usize = 8 << SEEN_BITS;
const BYTES_HASH_BITS: u32 = 13;
const BYTES_BYTES: usize = 4 << BYTES_HASH_BITS;
const HASHED_BYTES: u32 = 4;
/** Within a match of bytes, every how many bytes a position is remembered. */
const STRIDE_BYTES: u32 = 4;
/** Knuth's multiplier for hashes: the golden ratio of 2^32. */
const GOLDEN: u32 = 0x9e37_79b1;

/** What a matcher remembers of its text. */
@unmanaged
class Matcher {
  /** Text before this address is not repeated. */
  floor: u32;
  /** The text is matched up to here. */
  taken: u32;
  /** Amounts that equal neither their cell's in the previous snapshot nor the amount before them. */
  changed: u32;
  /** Changed amounts that occur elsewhere within reach. */
  strays: u32;
  /** Cells that the previous snapshot did not have. */
  added: u32;
  /** Recent amounts of either column by hash: the lower 32 bits of the last such amount, and its text's address. */
  amounts: usize;
  /** By hash of four bytes: the last address of such bytes. */
  bytes: usize;
}

const MATCHERS: usize = memory.data(2 * offsetof<Matcher>(), 16);
const AMOUNTS: usize = memory.data(2 * SEEN_BYTES, 16);
const BYTES: usize = memory.data(2 * BYTES_BYTES, 16);

/** The matcher at work. */
let matcher: Matcher = matcherOf(0);
/** No match goes beyond. */
let limit: u32 = 0;
/** The matches: where each begins in the text, its length and its distance (u32). */
let matches: usize = 0;
let matchesEnd: usize = 0;
/** Bytes of a match in the list. */
const MATCH_BYTES: u32 = 12;

function matcherOf(m: u32): Matcher {
  return changetype<Matcher>(MATCHERS + m * offsetof<Matcher>());
}

/** Sets the address of the list of matches. */
export function setMatches(list: usize): void {
  matches = list;
}

/** Matcher `m` starts the text. */
export function beginMatches(m: u32): void {
  const its = matcherOf(m);
  its.floor = its.taken = text;
  its.changed = its.strays = its.added = 0;
  its.amounts = AMOUNTS + m * SEEN_BYTES;
  its.bytes = BYTES + m * BYTES_BYTES;
  memory.fill(its.amounts, 0, SEEN_BYTES);
  memory.fill(its.bytes, 0, BYTES_BYTES);
}

/** From now on no match of matcher `m` begins before `taken`, or repeats text before `floor`. */
export function limitMatches(m: u32, taken: u32, floor: u32): void {
  const its = matcherOf(m);
  its.taken = taken;
  its.floor = floor;
}

/** Lists the matches of arbitrary text between two addresses. Returns how many. */
export function matchText(m: u32, from: u32, to: u32): u32 {
  begin(m, to);
  takeBytes(from, to);
  return listed();
}

/** Lists the matches of the last snapshot written, which may repeat the previous snapshot. Returns how many. */
export function matchSnapshot(m: u32): u32 {
  begin(m, now.end);
  const isFirst = last.end === 0;
  if (!isFirst) {
    takeName(now.start, last.start);
    takeName(now.tier, last.tier);
  }
  const distance = now.positions - last.positions;
  if (now.samePositions && distance <= MAX_DISTANCE_BYTES) {
    takeMatch(now.positions, now.supportKey, distance);
  } else takeBytes(now.positions, now.supportKey);
  const hasOtherCells = !isFirst && !now.samePositions;
  if (hasOtherCells) findEarlier();
  if (!isFirst) takeName(now.supportKey, last.supportKey);
  takeAmounts(supportColumn, now.support, last.support, last.to - last.from, hasOtherCells);
  if (!isFirst) takeName(now.resistanceKey, last.resistanceKey);
  takeAmounts(
    resistanceColumn,
    now.resistance,
    last.resistance,
    last.to - last.from,
    hasOtherCells,
  );
  return listed();
}

/** Like matchSnapshot(), but the matches repeat no text before the snapshot. */
export function matchSnapshotAlone(m: u32): u32 {
  begin(m, now.end);
  takeBytes(now.start, now.supportKey);
  takeAmounts(supportColumn, now.support, 0, 0, false);
  takeAmounts(resistanceColumn, now.resistance, 0, 0, false);
  return listed();
}

/** What matcher `m` has counted since beginMatches(): see Matcher. */
export function changedAmounts(m: u32): u32 {
  return matcherOf(m).changed;
}
export function strayAmounts(m: u32): u32 {
  return matcherOf(m).strays;
}
export function addedCells(m: u32): u32 {
  return matcherOf(m).added;
}

/** Matcher `m` starts a list of matches before `end`. */
function begin(m: u32, end: u32): void {
  matcher = matcherOf(m);
  matchesEnd = matches;
  limit = end;
}

/** How many matches are listed since begin(). */
function listed(): u32 {
  return (matchesEnd - matches) / MATCH_BYTES;
}

function list(from: u32, length: u32, distance: u32): void {
  store<u32>(matchesEnd, from - text);
  store<u32>(matchesEnd, length, 4);
  store<u32>(matchesEnd, distance, 8);
  matchesEnd += MATCH_BYTES;
  matcher.taken = from + length;
}

function takeName(at: u32, lastAt: u32): void {
  const distance = at - lastAt;
  if (distance <= MAX_DISTANCE_BYTES) takeMatch(at, at, distance);
}

/**
 * Lists repeated text as a match, extended by the byte before it and by bytes after it as far as they are repeated too.
 *
 * @param at where the match begins, after the text's first byte
 * @param known up to here the text is known to equal the text `distance` before it
 */
function takeMatch(at: u32, known: u32, distance: u32): void {
  const taken = matcher.taken;
  let start = at;
  if (start < taken) start = taken;
  else if (start > taken && load<u8>(start - 1) === load<u8>(start - 1 - distance)) start--;
  let end = known < taken ? taken : known;
  let difference = load<u64>(end) ^ load<u64>(end - distance);
  while (difference === 0 && end < limit) {
    end += 8;
    difference = load<u64>(end) ^ load<u64>(end - distance);
  }
  end = min(end + <u32>(ctz(difference) >> 3), limit);
  if (end >= start + MIN_LENGTH_BYTES) list(start, end - start, distance);
}

/**
 * Lists the matches of the snapshot's amounts of one column.
 *
 * @param marks by cell: where its amount begins in the text
 * @param lastMarks the same of the previous snapshot, which has `lastCount` cells
 * @param hasOtherCells whether `earlierCells` tells which cell of the previous snapshot has the amount; otherwise their
 *   numbers are the same
 */
function takeAmounts(
  column: usize,
  marks: usize,
  lastMarks: usize,
  lastCount: u32,
  hasOtherCells: bool,
): void {
  const count = now.to - now.from;
  const cents = column + (now.from << 3);
  const lastCents = column + (last.from << 3);
  for (let k: u32 = 0; k < count;) {
    const amount = load<f64>(cents + (k << 3));
    const start = load<u32>(marks + (k << 2));
    // -1 is beyond any count.
    let j = hasOtherCells ? load<u32>(earlierCells + (k << 2)) : k;
    let back: u32 = 0;
    if (j < lastCount) back = start - load<u32>(lastMarks + (j << 2));
    const isNear = back > 0 && back <= MAX_DISTANCE_BYTES;
    let distance: u32;
    if (isNear && load<f64>(lastCents + (j << 3)) === amount) {
      distance = back;
      do {
        k++;
        j++;
      } while (
        k < count &&
        j < lastCount &&
        load<f64>(cents + (k << 3)) === load<f64>(lastCents + (j << 3))
      );
    } else if (k > 0 && load<f64>(cents + ((k - 1) << 3)) === amount) {
      distance = start - load<u32>(marks + ((k - 1) << 2));
      do k++;
      while (k < count && load<f64>(cents + (k << 3)) === amount);
    } else {
      matcher.changed++;
      const seen = distanceOfSeen(<u32>(<i64>amount), start);
      if (seen > 0) {
        matcher.strays++;
        takeMatch(start, start, seen);
        while (k + 1 < count && load<u32>(marks + ((k + 1) << 2)) <= matcher.taken) k++;
      } else if (isNear && amount >= MIN_PREFIXED_CENTS) takePrefix(start, back);
      k++;
      continue;
    }
    // Without the comma or bracket after the last amount, which may differ.
    const known =
      k < count ? load<u32>(marks + (k << 2)) - 1 : load<u32>(marks + ((k - 1) << 2)) + 1;
    takeMatch(start, known, distance);
  }
}

/** How far back the amount with these lower 32 bits last occurred, 0 if unknown; remembers its current position. */
function distanceOfSeen(low: u32, start: u32): u32 {
  const entry = matcher.amounts + (((low * GOLDEN) >> (32 - SEEN_BITS)) << 3);
  const before = load<u32>(entry, 4);
  const distance = start - before;
  const isSeen =
    load<u32>(entry) === low && distance <= MAX_DISTANCE_BYTES && before >= matcher.floor;
  store<u32>(entry, low);
  store<u32>(entry, start, 4);
  return isSeen ? distance : 0;
}

/** Lists an amount's first digits as a match if they repeat those `distance` before. */
function takePrefix(start: u32, distance: u32): void {
  const lastTwo = start + PREFIX_BYTES - 2;
  if (load<u16>(lastTwo) === load<u16>(lastTwo - distance)) takeMatch(start, start, distance);
}

/** Sets `earlierCells` of the snapshot `now`. Both snapshots' cells are sorted by index, then bin. */
function findEarlier(): void {
  let j = last.from;
  for (let i = now.from; i < now.to; i++) {
    const group = indexAt(i);
    const bin = <i32>load<i16>(binColumn + (i << 1));
    let order = -1;
    for (; j < last.to; j++) {
      order = indexAt(j) - group;
      if (order === 0) order = <i32>load<i16>(binColumn + (j << 1)) - bin;
      if (order >= 0) break;
    }
    const isThere = j < last.to && order === 0;
    store<i32>(earlierCells + ((i - now.from) << 2), isThere ? j - last.from : -1);
    if (!isThere) matcher.added++;
  }
}

function indexAt(cell: u32): i32 {
  return indexColumn === 0 ? 0 : <i32>load<u16>(indexColumn + (cell << 1));
}

/** Lists the matches of arbitrary text, found by a hash of four bytes. */
function takeBytes(from: u32, to: u32): void {
  const floor = matcher.floor;
  const bytes = matcher.bytes;
  // Signed: the text may be shorter than what is hashed.
  const hashed = <i32>to - <i32>HASHED_BYTES;
  let at = max(from, matcher.taken);
  while (<i32>at <= hashed) {
    const entry = bytes + hashOf(load<u32>(at));
    const before = load<u32>(entry);
    store<u32>(entry, at);
    if (before < floor || at - before > MAX_DISTANCE_BYTES) {
      at++;
      continue;
    }
    const distance = at - before;
    let end = at;
    while (end < to && load<u8>(end) === load<u8>(end - distance)) end++;
    let start = at;
    while (
      start > matcher.taken &&
      start > floor + distance &&
      load<u8>(start - 1) === load<u8>(start - 1 - distance)
    ) {
      start--;
    }
    // When hashes collide, bytes before `at` may match: `at` must advance anyway.
    if (end === at || end - start < MIN_LENGTH_BYTES) {
      at++;
      continue;
    }
    list(start, end - start, distance);
    for (at++; <i32>at <= hashed && at < end; at += STRIDE_BYTES) {
      store<u32>(bytes + hashOf(load<u32>(at)), at);
    }
    at = end;
  }
}

/** Offset of an entry in a table of addresses. */
function hashOf(bytes: u32): u32 {
  return ((bytes * GOLDEN) >> (32 - BYTES_HASH_BITS)) << 2;
}
