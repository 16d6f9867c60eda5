/**
 * The time of day. Nothing else reads it (a test checks that): intervals, deadlines and ages of what is in
 * memory take performance.now(), which no change of the system's clock moves.
 */

/** Epoch milliseconds. */
export function wallMs(): number {
  return Date.now();
}

/** Whole epoch seconds. */
export function wallS(): number {
  return Math.floor(wallMs() / 1000);
}
