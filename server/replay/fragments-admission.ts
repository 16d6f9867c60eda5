/**
 * Decides whether to make fragments, which costs as much as several pages. While they fit, they are made. Once memory
 * and disk are full, new fragments evict others, and need credit: each page made from fragments earns the page that it
 * saved the pool, and each page that missed fragments earns a little, or old fragments would stay forever. At worst,
 * pages cost slightly more than without fragments.
 */

/** The cost of making a segment's fragments, as a multiple of the pool's cost for the segment's share of a page. */
const MAKING_COST = 4;
/** Share of a segment's cost that a page from the pool may add for fragments. */
const MISS_SHARE = 1 / 32;
/** Limits the segments that are made in a row after a quiet time. */
const MAX_EARNED = 64 * MAKING_COST;

export class FragmentsAdmission {
  /** In segments' shares of pages. */
  private earned = 0;

  /** Call when a page was made from the fragments of this many segments. */
  served(segments: number): void {
    this.earn(segments);
  }

  /** Call when the pool makes a page because the fragments of this many segments were missing. */
  missed(segments: number): void {
    this.earn(MISS_SHARE * segments);
  }

  /**
   * Whether to make a segment's fragments; if so, pays their cost.
   * @param hasRoom whether they fit without evicting others
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
