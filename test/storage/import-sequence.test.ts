/** The rule by which numbered updates of a book follow each other. */
import { describe, expect, it } from 'vitest';
import { following } from '../../storage/import/sequence.js';

const spot = (firstId: number, lastId: number) => ({ firstId, lastId, previousId: null });
const futures = (previousId: number, firstId: number, lastId: number) => ({
  firstId,
  lastId,
  previousId,
});
const single = (lastId: number) => ({ firstId: null, lastId, previousId: null });

/** [update, number of the book, fresh, expected] */
const CASES = [
  ['spot: up to the snapshot is old', spot(90, 100), 100, true, 'old'],
  ['spot: reaches past the snapshot', spot(95, 105), 100, true, 'next'],
  ['spot: begins right after the snapshot', spot(101, 105), 100, true, 'next'],
  ['spot: begins too late for the snapshot', spot(102, 105), 100, true, 'gap'],
  ['spot: continues', spot(101, 105), 100, false, 'next'],
  ['spot: repeats', spot(95, 100), 100, false, 'old'],
  ['spot: one is missing', spot(102, 105), 100, false, 'gap'],
  ['spot: overlaps what is in the book', spot(95, 105), 100, false, 'gap'],
  ['futures: below the snapshot is old', futures(80, 90, 99), 100, true, 'old'],
  ['futures: ends at the snapshot, which is not old', futures(80, 90, 100), 100, true, 'next'],
  ['futures: repeats', futures(80, 90, 100), 100, false, 'old'],
  ['futures: names the one before', futures(100, 120, 130), 100, false, 'next'],
  ['futures: one is missing', futures(110, 120, 130), 100, false, 'gap'],
  ['futures: begins too late for the snapshot', futures(110, 120, 130), 100, true, 'gap'],
  ['nothing changed, OKX', futures(100, 100, 100), 100, false, 'next'],
  ['their numbers began anew, OKX', futures(100, 3, 3), 100, false, 'next'],
  ['single numbers: next', single(101), 100, false, 'next'],
  ['single numbers: repeats', single(100), 100, false, 'old'],
  ['single numbers: one is missing', single(102), 100, false, 'gap'],
] as const;

describe('updates', () => {
  it.each(CASES)('%s', (_, update, lastId, isFresh, expected) => {
    expect(following(update, lastId, isFresh)).toBe(expected);
  });
});
