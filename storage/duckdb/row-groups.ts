/** How much DuckDB writes at a time. */

/** Rows of one row group: small, so that deleting a few segments rewrites few others. */
export const ROW_GROUP_ROWS = 2048;
/**
 * Greatest bytes of one stored value: DuckDB holds a whole row group in memory before it writes it
 * out, so that a transaction's peak is this times ROW_GROUP_ROWS, 128 MiB.
 */
export const MAX_VALUE_BYTES = 64 * 1024;
