/** The history of a token: the times of its snapshots, and from when to when each market has cells. */
import { TIERS } from '../../compute/market.js';
import { firstFrom } from '../../compute/search.js';
import { decodeSegment, marketRows, sliceRun } from '../../compute/segment/segment.js';
import { SegmentGoneError, type StoredHistory } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import { Turns } from '../turns.js';
import { uint16Of, uint32Of } from '../typed-arrays.js';
import { byTier, joinedTimes } from './directory.js';
import { readBlocks } from './segments.js';

/** By market index: times of the first and the last snapshot with its cells. */
type Spans = Map<number, { firstT: number; lastT: number }>;

/** How many blocks are read at once, of segments whose entries do not tell the markets. */
const BLOCKS_AT_ONCE = 8;

/** The token's history up to `nowS`. */
export async function storedHistory(
  database: Database,
  tokenId: number,
  nowS: number,
): Promise<{ times: StoredHistory['times']; spans: Spans }> {
  const times = byTier((): Uint32Array[] => []);
  const spans: Spans = new Map();
  const unread: { segmentId: number; visible: Uint32Array }[] = [];
  const turns = new Turns();
  // One statement: no commit may fall between two reads.
  const chunks = database.streamChunks(
    `SELECT segment_id, tier, times, market_rows FROM segments WHERE token_id = ${tokenId}`,
  );
  for await (const chunk of chunks) {
    const [ids, tiers, ofSegments, rows] = [0, 1, 2, 3].map((column) => chunk.values(column));
    for (let i = 0; i < chunk.rowCount; i++) {
      const all = uint32Of(ofSegments[i] as Uint8Array);
      const visible = all.subarray(0, firstFrom(all, nowS + 1));
      if (visible.length === 0) continue;
      times[TIERS[tiers[i] as number]].push(visible);
      // Earlier versions stored no rows of markets; and the stored rows count snapshots after `nowS` too.
      if (rows[i] === null || visible.length < all.length) {
        unread.push({ segmentId: Number(ids[i]), visible });
      } else widen(spans, uint16Of(rows[i] as Uint8Array), visible);
      await turns.take();
    }
  }
  for (let from = 0; from < unread.length; from += BLOCKS_AT_ONCE) {
    await widenByBlocks(database, spans, unread.slice(from, from + BLOCKS_AT_ONCE));
  }
  return { times: byTier((tier) => joinedTimes(times[tier])), spans };
}

async function widenByBlocks(
  database: Database,
  spans: Spans,
  segments: readonly { segmentId: number; visible: Uint32Array }[],
): Promise<void> {
  const ids = segments.map(({ segmentId }) => segmentId);
  const blocks = await readBlocks(database, ids);
  for (const { segmentId, visible } of segments) {
    const block = blocks.get(segmentId);
    // A commit has replaced it in the meantime.
    if (block === undefined) throw new SegmentGoneError(`segment ${segmentId} was replaced`);
    widen(spans, marketRows(sliceRun(decodeSegment(block), 0, visible.length)), visible);
  }
}

/** @param times of the segment */
function widen(spans: Spans, rows: Uint16Array, times: Uint32Array): void {
  for (let i = 0; i < rows.length; i += 3) {
    const [firstT, lastT] = [times[rows[i + 1]], times[rows[i + 2]]];
    const span = spans.get(rows[i]);
    spans.set(rows[i], {
      firstT: Math.min(span?.firstT ?? firstT, firstT),
      lastT: Math.max(span?.lastT ?? lastT, lastT),
    });
  }
}
