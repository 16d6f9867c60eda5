/** Who takes a text from its beginning to its end, by where it repeats itself. */

/** What lies between two matches is taken as it is. */
export interface MatchTaker {
  /** Up to here the text has been taken. */
  readonly taken: number;
  /** Matches reach back so many bytes at most. */
  readonly maxDistance: number;
  /** Begins a text; its bytes may still be written while it is taken. */
  begin(text: Uint8Array<ArrayBuffer>): void;
  /**
   * Says that `text[from..from + length)` stands `distance` bytes before it as well.
   *
   * @param from at or after `taken`
   * @param length 3 at least
   * @param distance 1 to maxDistance, and not before the text
   * @throws RangeError where it is none of these: better no text than another one
   */
  match(from: number, length: number, distance: number): void;
}

/** Makes pieces of a text, each of which ends at a byte's end and is not the last of its stream. */
export interface PieceEncoder extends MatchTaker {
  /** Takes the text up to `to` as it is. */
  plain(to: number): void;
  /** Leaves out the text up to `to`, as far as it is in no piece yet. */
  skip(to: number): void;
  /**
   * Ends a piece of the text.
   * @returns where its bytes end, among those of all pieces since begin(): see pieces()
   */
  endPiece(to: number): number;
  /** Bytes of the pieces so far: a view that lasts until the next one is begun. */
  pieces(): Uint8Array<ArrayBuffer>;
}

/** @throws RangeError where a match is none that a taker with this reach may be told of */
export function checkMatch(
  from: number,
  distance: number,
  { taken, maxDistance }: MatchTaker,
): void {
  if (from < taken || distance < 1 || distance > maxDistance || distance > from) {
    throw new RangeError(`no match: ${distance} bytes before ${from}, ${taken} taken`);
  }
}
