/** How long boards wait for the ranges of tokens that are new on them, before they go without. */

export const RANGES_WAIT_MS = 500;
/** The same for the first board after the start, when all are new. */
export const FIRST_RANGES_WAIT_MS = 5_000;
