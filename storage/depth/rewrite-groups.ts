/** Which stored segments an added one is rewritten with. */
import { firstSegmentFrom, firstT, type TierDirectory } from './directory.js';

/** Stored segments rewritten at once: bounds the memory of one rewrite. */
export const MAX_REWRITTEN = 16;

/** Rows `fromRow <= row < toRow` of the added segment and stored segments `from <= i < to`. */
export interface RewriteGroup {
  fromRow: number;
  toRow: number;
  /** Equals `to` if no stored segment is touched. */
  from: number;
  to: number;
}

/**
 * Groups an added segment's snapshots by the stored segments into whose spans they fall. Stored segments between
 * the snapshots of a file are in no group and are not rewritten.
 * @param times ascending
 */
export function rewriteGroups(stored: TierDirectory, times: Uint32Array): RewriteGroup[] {
  const groups: RewriteGroup[] = [];
  let group: RewriteGroup | null = null;
  for (const [row, t] of times.entries()) {
    const at = firstSegmentFrom(stored, t);
    const end = at < stored.length && firstT(stored[at]) <= t ? at + 1 : at;
    if (group !== null && at <= group.to && end - group.from <= MAX_REWRITTEN) {
      group.to = Math.max(group.to, end);
      group.toRow = row + 1;
    } else {
      group = { fromRow: row, toRow: row + 1, from: at, to: end };
      groups.push(group);
    }
  }
  return groups;
}
