/**
 * Where a page's text repeats itself. Snapshots follow one another with the same keys and mostly the
 * same cells: what an amount's digits may equal is told by its column, and nothing is looked for in
 * the text but where cells have come or gone.
 */
import { ByteMatcher } from '../deflate/byte-matches.js';
import type { MatchTaker } from '../deflate/match-taker.js';
import { SeenAmounts, takeAmounts, takeMatch } from './amount-matches.js';
import type { SnapshotColumns } from './json.js';
import {
  emptyMarks,
  setRange,
  type AmountRange,
  type SnapshotMarks,
  type TextFollower,
} from './text-marks.js';

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
