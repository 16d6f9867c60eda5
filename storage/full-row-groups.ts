/**
 * Has a transaction that adds more than a row group of parts end with a full one. DuckDB makes row
 * groups of its own of such an addition, the last one as full as it comes out, and a later checkpoint
 * puts those that are not full together with their neighbours: it writes megabytes anew for each, and
 * the file keeps the room of what they were, up to as much again as is stored.
 */
import { ROW_GROUP_ROWS } from './duckdb/row-groups.js';

/** A part's segment, its number within the block, its bytes. */
export type PartRow = [segmentId: number, part: number, bytes: Uint8Array];

/** No part is cut into smaller ones than this. */
const LEAST_PART_BYTES = 200;

/**
 * The same blocks in so many more parts that, after `written` rows of the transaction, a row group
 * ends with the last one. As they are where that is not needed, or not to be had.
 * @param rows ascending by segment and part; the first segment's earlier parts may be written already
 */
export function fillRowGroup(rows: readonly PartRow[], written: number): PartRow[] {
  const total = written + rows.length;
  let missing = total < ROW_GROUP_ROWS ? 0 : -total & (ROW_GROUP_ROWS - 1);
  const more = rows.map(([, , bytes]) =>
    Math.max(0, Math.floor(bytes.length / LEAST_PART_BYTES) - 1),
  );
  if (missing === 0 || more.reduce((sum, one) => sum + one, 0) < missing) return [...rows];
  const cut: PartRow[] = [];
  let shift = 0;
  for (const [i, [segmentId, part, bytes]] of rows.entries()) {
    if (i === 0 || rows[i - 1][0] !== segmentId) shift = 0;
    const pieces = 1 + Math.min(missing, more[i]);
    for (const [p, piece] of evenly(bytes, pieces).entries()) {
      cut.push([segmentId, part + shift + p, piece]);
    }
    missing -= pieces - 1;
    shift += pieces - 1;
  }
  return cut;
}

/** Cut into exactly so many pieces that differ by a byte at most. */
function evenly(bytes: Uint8Array, pieces: number): Uint8Array[] {
  return Array.from({ length: pieces }, (_, p) =>
    bytes.subarray(
      Math.floor((p * bytes.length) / pieces),
      Math.floor(((p + 1) * bytes.length) / pieces),
    ),
  );
}
