/**
 * Decides whether making fragments pays. It costs as much as some pages, and where no memory or disk is left, it
 * also costs the fragments that go for them. So what is made there is earned: by pages from fragments, each of
 * which has saved the pool a page, and a little by pages that missed theirs, without which old fragments would stay
 * forever. At worst, pages cost as much as the pool's, and a small share more.
 */

/** Making a segment's fragments costs this many times what the pool needs for the segment's share of a page. */
const MAKING_COST = 4;
/** Share of a segment's cost that a page from the pool may add for fragments. */
const MISS_SHARE = 1 / 32;
/** Segments that may be made at once after a quiet time. */
const MAX_EARNED = 64 * MAKING_COST;

export class FragmentsAdmission {
  /** In shares of a page, each a segment's. */
  private earned = 0;

  /** A page was made of this many segments' fragments. */
  served(segments: number): void {
    this.earn(segments);
  }

  /** The pool makes a page, for which this many segments' fragments were missing. */
  missed(segments: number): void {
    this.earn(MISS_SHARE * segments);
  }

  /**
   * Whether a segment's fragments are made; if so, their cost is paid.
   * @param hasRoom whether others need not go for them
   */
  takes(hasRoom: boolean): boolean {
    if (hasRoom) return true;
    if (this.earned < MAKING_COST) return false;
    this.earned -= MAKING_COST;
    return true;
  }

  private earn(shares: number): void {
    this.earned = Math.min(this.earned + shares, MAX_EARNED);
  }
}
