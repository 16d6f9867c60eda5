/**
 * Finds where a page's text repeats itself. Consecutive snapshots have the same names and mostly the same cells,
 * so the columns tell which earlier digits an amount repeats. The text itself is searched only if cells were
 * added or removed.
 */
import { ByteMatcher } from '../deflate/byte-matches.js';
import type { MatchSink } from '../deflate/encoder.js';
import {
  type AmountRange,
  emptyMarks,
  setRange,
  type SnapshotColumns,
  type SnapshotMarks,
  type TextListener,
} from './json.js';

/** After this many cells a page is judged while it is being written. */
const MIN_JUDGED_CELLS = 4096;
/** At most one in this many of the changed amounts may occur elsewhere. */
const STRAYS_LIMIT = 2;
/** At most one in this many cells may be new. */
const ADDED_LIMIT = 4;

/** Listens to the JSON writer and passes matches to an encoder. */
export class PageMatcher implements TextListener {
  private readonly encoder: MatchSink;
  private readonly bytes = new ByteMatcher();
  private readonly seen = new SeenAmounts();
  private text = new Uint8Array(0);
  private marks = emptyMarks();
  private last = emptyMarks();
  /** By cell: the previous snapshot's cell with the same index and bin, -1 if none. */
  private earlier = new Int32Array(0);
  /** Cells that the previous snapshot did not have, and all cells. */
  private added = 0;
  private cells = 0;
  private isFollowing = true;

  constructor(
    encoder: MatchSink,
    /** Whether to stop once zlib would compress better. */
    readonly mayGiveUp = true,
  ) {
    this.encoder = encoder;
  }

  begin(text: Uint8Array<ArrayBuffer>, headEnd: number): void {
    this.text = text;
    this.bytes.clear();
    this.seen.clear();
    setRange(this.last.support, 0, 0);
    setRange(this.last.resistance, 0, 0);
    this.added = this.cells = 0;
    this.isFollowing = true;
    this.encoder.begin(text);
    this.bytes.take(this.encoder, text, 0, headEnd);
  }

  /** From now on no match begins before `at`. */
  setFloor(at: number): void {
    this.bytes.floor = at;
    this.seen.floor = at;
  }

  marksFor(from: number, to: number): SnapshotMarks {
    const marks = this.marks;
    setRange(marks.support, from, to);
    setRange(marks.resistance, from, to);
    return marks;
  }

  follow(columns: SnapshotColumns, s: number): void {
    if (!this.isFollowing) return;
    const marks = this.marks;
    const last = this.last;
    if (s > 0) {
      this.takeName(marks.start, last.start);
      this.takeName(marks.tier, last.tier);
    }
    this.takePositions();
    const earlier = s > 0 && !marks.samePositions ? this.findEarlier(columns) : null;
    if (s > 0) this.takeName(marks.supportKey, last.supportKey);
    this.takeColumn(columns.supportCents, marks.support, last.support, earlier);
    if (s > 0) this.takeName(marks.resistanceKey, last.resistanceKey);
    this.takeColumn(columns.resistanceCents, marks.resistance, last.resistance, earlier);
    this.last = marks;
    this.marks = last;
    this.cells += marks.support.to - marks.support.from;
    if (this.cells >= MIN_JUDGED_CELLS) this.isFollowing = this.pays();
  }

  /**
   * Whether these matches pay: zlib compresses better if amounts often move to other cells, and is as fast if
   * many cells are added and removed.
   */
  pays(): boolean {
    if (!this.mayGiveUp) return true;
    const { changed, strays } = this.seen;
    return STRAYS_LIMIT * strays <= changed && ADDED_LIMIT * this.added <= this.cells;
  }

  private takeName(at: number, lastAt: number): void {
    const distance = at - lastAt;
    if (distance > this.encoder.maxDistance) return;
    takeMatch(this.encoder, this.text, at, at, distance, this.marks.end);
  }

  private takePositions(): void {
    const { positions, supportKey, end, samePositions } = this.marks;
    const distance = positions - this.last.positions;
    if (samePositions && distance <= this.encoder.maxDistance) {
      takeMatch(this.encoder, this.text, positions, supportKey, distance, end);
    } else this.bytes.take(this.encoder, this.text, positions, supportKey);
  }

  private takeColumn(
    cents: Float64Array,
    now: AmountRange,
    last: AmountRange,
    earlier: Int32Array | null,
  ): void {
    const { end } = this.marks;
    takeAmounts(this.encoder, this.text, cents, now, last, earlier, this.seen, end);
  }

  /** Both snapshots' cells are sorted by index, then bin. */
  private findEarlier({ index, bin }: SnapshotColumns): Int32Array {
    const { from, to } = this.marks.support;
    if (this.earlier.length < to - from) this.earlier = new Int32Array(2 * (to - from));
    const earlier = this.earlier;
    const lastFrom = this.last.support.from;
    for (let i = from, j = lastFrom; i < to; i++) {
      const group = index === null ? 0 : index[i];
      const b = bin[i];
      let order = -1;
      for (; j < from; j++) {
        order = (index === null ? 0 : index[j]) - group || bin[j] - b;
        if (order >= 0) break;
      }
      const isThere = j < from && order === 0;
      earlier[i - from] = isThere ? j - lastFrom : -1;
      if (!isThere) this.added++;
    }
    return earlier;
  }
}

/** Shortest match: one that reaches back to the previous snapshot costs as much as five digits. */
const MIN_LENGTH_BYTES = 6;
/** A changed amount gives a match if at least this many first digits are unchanged. */
const PREFIX_BYTES = MIN_LENGTH_BYTES - 1;
/** Smaller amounts than this, 10,000 USD, are not compared digit by digit: too many of their digits differ. */
const MIN_PREFIXED_CENTS = 1_000_000;

/** log2 of how many amounts are remembered: nearly all in deflate's window of 32 KB. */
const SEEN_BITS = 11;
/** Knuth's multiplier for hashes: the golden ratio of 2^32. */
const GOLDEN = 0x9e37_79b1;

/** Recent amounts of either column. */
export class SeenAmounts {
  /** By hash: the lower 32 bits of the last such amount, and where it begins in the text. */
  readonly table = new Int32Array(2 << SEEN_BITS);
  /** Text before this position is not repeated. */
  floor = 0;
  /** Amounts that equal neither their cell's in the previous snapshot nor the amount before them. */
  changed = 0;
  /** Changed amounts that occur elsewhere within reach. */
  strays = 0;

  /** Starts a new page. */
  clear(): void {
    this.floor = this.changed = this.strays = 0;
    for (let entry = 0; entry < this.table.length; entry += 2) {
      this.table[entry] = 0;
      this.table[entry + 1] = -1;
    }
  }
}

/**
 * Encodes repeated text as a match, extended by the byte before it and by bytes after it as far as they
 * are repeated too.
 *
 * @param at where the match begins, after the text's first byte
 * @param known up to here the text is known to equal the text `distance` before it
 * @param limit end of the text written so far
 */
function takeMatch(
  encoder: MatchSink,
  text: Uint8Array,
  at: number,
  known: number,
  distance: number,
  limit: number,
): void {
  const { taken } = encoder;
  let start = at;
  if (start < taken) start = taken;
  else if (start > taken && text[start - 1] === text[start - 1 - distance]) start--;
  let end = known < taken ? taken : known;
  while (end < limit && text[end] === text[end - distance]) end++;
  if (end - start >= MIN_LENGTH_BYTES) encoder.match(start, end - start, distance);
}

/**
 * Encodes a snapshot's amounts of one column up to their last match.
 *
 * @param last the previous snapshot's amounts; empty for the first snapshot
 * @param earlier by cell: its number in `last`, -1 if none; null if the numbers are the same
 * @param limit end of the text written so far
 */
export function takeAmounts(
  encoder: MatchSink,
  text: Uint8Array,
  cents: Float64Array,
  now: AmountRange,
  last: AmountRange,
  earlier: Int32Array | null,
  seen: SeenAmounts,
  limit: number,
): void {
  const { maxDistance } = encoder;
  const { from, at } = now;
  const { from: lastFrom, at: lastAt } = last;
  const count = now.to - from;
  const lastCount = last.to - lastFrom;
  for (let k = 0; k < count;) {
    const amount = cents[from + k];
    const start = at[k];
    let j = earlier === null ? k : earlier[k];
    const isNear = j >= 0 && j < lastCount && start - lastAt[j] <= maxDistance;
    let distance: number;
    if (isNear && cents[lastFrom + j] === amount) {
      distance = start - lastAt[j];
      do {
        k++;
        j++;
      } while (k < count && j < lastCount && cents[from + k] === cents[lastFrom + j]);
    } else if (k > 0 && cents[from + k - 1] === amount) {
      distance = start - at[k - 1];
      do k++;
      while (k < count && cents[from + k] === amount);
    } else {
      seen.changed++;
      const back = distanceOfSeen(seen, amount, start, maxDistance);
      if (back > 0) {
        takeMatch(encoder, text, start, start, back, limit);
        while (k + 1 < count && at[k + 1] <= encoder.taken) k++;
      } else if (isNear && amount >= MIN_PREFIXED_CENTS) {
        takePrefix(encoder, text, start, start - lastAt[j], limit);
      }
      k++;
      continue;
    }
    // Without the comma or bracket after the last amount, which may differ.
    const known = k < count ? at[k] - 1 : at[k - 1] + 1;
    takeMatch(encoder, text, start, known, distance, limit);
  }
}

/** How far back the amount last occurred, 0 if unknown; remembers its current position. */
function distanceOfSeen(
  seen: SeenAmounts,
  amount: number,
  start: number,
  maxDistance: number,
): number {
  const { table } = seen;
  const low = amount | 0;
  const entry = (Math.imul(low, GOLDEN) >>> (32 - SEEN_BITS)) << 1;
  const before = table[entry + 1];
  const distance = start - before;
  const isSeen = table[entry] === low && distance <= maxDistance && before >= seen.floor;
  table[entry] = low;
  table[entry + 1] = start;
  if (!isSeen) return 0;
  seen.strays++;
  return distance;
}

/** Encodes an amount's first digits as a match if they repeat those `distance` before. */
function takePrefix(
  encoder: MatchSink,
  text: Uint8Array,
  start: number,
  distance: number,
  limit: number,
): void {
  const end = start + PREFIX_BYTES;
  if (text[end - 1] !== text[end - 1 - distance]) return;
  if (text[end - 2] !== text[end - 2 - distance]) return;
  takeMatch(encoder, text, start, start, distance, limit);
}
