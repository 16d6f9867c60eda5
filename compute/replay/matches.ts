/**
 * Where a page's text repeats itself. Snapshots follow one another with the same keys and mostly the
 * same cells: what an amount's digits may equal is told by its column, and nothing is looked for in
 * the text but where cells have come or gone.
 */
import { ByteMatcher } from '../deflate/byte-matches.js';
import type { MatchTaker } from '../deflate/encoder.js';
import {
  type AmountRange,
  emptyMarks,
  setRange,
  type SnapshotColumns,
  type SnapshotMarks,
  type TextFollower,
} from './json.js';

/** From so many cells on a page is judged before it ends. */
const MIN_JUDGED_CELLS = 4096;
/** Of the amounts that changed, at most one in so many may be a stray. */
const STRAYS_LIMIT = 2;
/** Of the cells, at most one in so many may be new in its place. */
const MOVED_LIMIT = 4;

/** Follows the writer of JSON and names the matches to an encoder. */
export class PageMatcher implements TextFollower {
  private readonly encoder: MatchTaker;
  private readonly bytes = new ByteMatcher();
  private readonly seen = new SeenAmounts();
  private text = new Uint8Array(0);
  private marks = emptyMarks();
  private last = emptyMarks();
  /** By cell, the one of the last snapshot in its place; -1 for none. */
  private places = new Int32Array(0);
  /** Cells in places where the last snapshot had none, and all cells. */
  private moved = 0;
  private cells = 0;
  private goesOn = true;

  constructor(
    encoder: MatchTaker,
    /** Whether to leave pages alone that do not pay. */
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
    this.moved = this.cells = 0;
    this.goesOn = true;
    this.encoder.begin(text);
    this.bytes.take(this.encoder, text, 0, headEnd);
  }

  /** From here on what stands before `at` is not repeated. */
  reachBackTo(at: number): void {
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
    if (!this.goesOn) return;
    const marks = this.marks;
    const last = this.last;
    if (s > 0) {
      this.takeKey(marks.start, last.start);
      this.takeKey(marks.tier, last.tier);
    }
    this.takePlaces();
    const places = s > 0 && !marks.samePlaces ? this.findPlaces(columns) : null;
    if (s > 0) this.takeKey(marks.supportKey, last.supportKey);
    this.takeColumn(columns.supportCents, marks.support, last.support, places);
    if (s > 0) this.takeKey(marks.resistanceKey, last.resistanceKey);
    this.takeColumn(columns.resistanceCents, marks.resistance, last.resistance, places);
    this.last = marks;
    this.marks = last;
    this.cells += marks.support.to - marks.support.from;
    if (this.cells >= MIN_JUDGED_CELLS) this.goesOn = this.pays();
  }

  /**
   * Whether the page's text repeats itself the way that is followed here: zlib does better by texts
   * whose amounts often stand in other places, and is as fast where cells keep coming and going.
   */
  pays(): boolean {
    if (!this.mayGiveUp) return true;
    const { changed, strays } = this.seen;
    return STRAYS_LIMIT * strays <= changed && MOVED_LIMIT * this.moved <= this.cells;
  }

  private takeKey(at: number, lastAt: number): void {
    const distance = at - lastAt;
    if (distance > this.encoder.maxDistance) return;
    takeMatch(this.encoder, this.text, at, at, distance, this.marks.end);
  }

  private takePlaces(): void {
    const { places, supportKey, end, samePlaces } = this.marks;
    const distance = places - this.last.places;
    if (samePlaces && distance <= this.encoder.maxDistance) {
      takeMatch(this.encoder, this.text, places, supportKey, distance, end);
    } else this.bytes.take(this.encoder, this.text, places, supportKey);
  }

  private takeColumn(
    cents: Float64Array,
    now: AmountRange,
    last: AmountRange,
    places: Int32Array | null,
  ): void {
    const { end } = this.marks;
    takeAmounts(this.encoder, this.text, cents, now, last, places, this.seen, end);
  }

  /** Cells stand in the order of index, then bin. */
  private findPlaces({ index, bin }: SnapshotColumns): Int32Array {
    const { from, to } = this.marks.support;
    if (this.places.length < to - from) this.places = new Int32Array(2 * (to - from));
    const places = this.places;
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
      places[i - from] = isThere ? j - lastFrom : -1;
      if (!isThere) this.moved++;
    }
    return places;
  }
}

// Where columns of amounts repeat themselves: told by the amounts, not looked for in their text.

/** A match as far back as the last snapshot costs as much as five digits. */
const MIN_LENGTH_BYTES = 6;
/** So much of an amount that changed has to be as it was, ... */
const PREFIX_BYTES = MIN_LENGTH_BYTES - 1;
/** ... which is looked at from 10,000 USD on: of shorter texts too much is new. */
const MIN_PREFIXED_CENTS = 1_000_000;

/** Amounts that are remembered: of a window's 32 KB of text, all but the oldest. */
const SEEN_BITS = 11;
/** Knuth's multiplier for hashes: the golden ratio of 2^32. */
const GOLDEN = 0x9e37_79b1;

/** Amounts that stood somewhere lately, in either column of a page. */
export class SeenAmounts {
  /** By hash: the last amount's lower 32 bits, and where it begins in the text. */
  readonly table = new Int32Array(2 << SEEN_BITS);
  /** What stands before this is not repeated. */
  floor = 0;
  /** Amounts that are not those of their place in the last snapshot, nor the one before them. */
  changed = 0;
  /** Those among them that stand somewhere else within reach. */
  strays = 0;

  /** Begins a page. */
  clear(): void {
    this.floor = this.changed = this.strays = 0;
    for (let entry = 0; entry < this.table.length; entry += 2) {
      this.table[entry] = 0;
      this.table[entry + 1] = -1;
    }
  }
}

/**
 * Takes a stretch of the text as a match, and with it the byte before it and those after it that
 * are the same, too.
 *
 * @param at where it begins, behind the text's first byte
 * @param known up to here it is known to be what stands `distance` before it
 * @param limit end of the text written
 */
export function takeMatch(
  encoder: MatchTaker,
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
 * Takes a snapshot's amounts of one column; what follows its last match is not taken yet.
 *
 * @param last those of the snapshot before it, none for the first
 * @param places by cell, which one of `last` stands in its place, -1 for none; null where each cell
 *   has the place of its number
 * @param limit end of the text written
 */
export function takeAmounts(
  encoder: MatchTaker,
  text: Uint8Array,
  cents: Float64Array,
  now: AmountRange,
  last: AmountRange,
  places: Int32Array | null,
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
    let j = places === null ? k : places[k];
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
    // Without the character that ends the last amount: a comma, or the column's bracket.
    const known = k < count ? at[k] - 1 : at[k - 1] + 1;
    takeMatch(encoder, text, start, known, distance, limit);
  }
}

/** How far back the amount stood last, 0 where that is not known; remembers that it stands here. */
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

/** Takes an amount's first digits where they are those of `distance` before. */
function takePrefix(
  encoder: MatchTaker,
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
