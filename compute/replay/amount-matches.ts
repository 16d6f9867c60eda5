/** Where columns of amounts repeat themselves: told by the amounts, not looked for in their text. */
import type { MatchTaker } from '../deflate/match-taker.js';
import type { AmountRange } from './text-marks.js';

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
