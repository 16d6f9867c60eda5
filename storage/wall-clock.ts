/**
 * The time of day. Nothing else reads it (a test checks that). Intervals, deadlines and ages of data in memory use
 * performance.now(), which changes of the system's clock do not affect.
 */

/** Epoch milliseconds. */
export function wallMs(): number {
  return Date.now();
}

/** Whole epoch seconds. */
export function wallS(): number {
  return Math.floor(wallMs() / 1000);
}
