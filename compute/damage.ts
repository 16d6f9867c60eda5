/** Stored data that are not as they were written. */

/** How errors of damaged data begin; the last is what DuckDB says of a block of its file. */
const TEXTS =
  /^(segment \d+ is damaged|a list of segments is damaged|a holder block is damaged|the names of holders are damaged)|Corrupt database file/;

/** Whether an error tells of damaged data. Errors lose their class between threads, so their text tells. */
export function isDamage(error: unknown): error is Error {
  return error instanceof Error && TEXTS.test(error.message);
}
