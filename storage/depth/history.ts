/** From when to when each market of a token has cells. */
import { firstFrom } from '../../compute/search.js';
import { decodeSegment, marketRows, sliceRun } from '../../compute/segment/segment.js';
import { TIERS } from '../../compute/market.js';
import { SegmentGoneError } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import { Turns } from '../turns.js';
import { uint16Of } from '../typed-arrays.js';
import { type Directory, lastT, type SegmentRef } from './directory.js';
import { type ArchivedBlocks, readBlocks } from './segments.js';

/** By market index: times of the first and the last snapshot with its cells. */
type Spans = Map<number, { firstT: number; lastT: number }>;

/** How many blocks are read at once, of segments with snapshots that are not visible yet. */
const BLOCKS_AT_ONCE = 8;

/**
 * The spans of a token's markets up to `nowS`.
 * @throws SegmentGoneError if a segment of the directory was replaced
 */
export async function marketSpans(
  database: Database,
  archive: ArchivedBlocks,
  tokenId: number,
  directory: Directory,
  nowS: number,
): Promise<Spans> {
  const turns = new Turns();
  const spans: Spans = new Map();
  const unread: SegmentRef[] = [];
  const segments = new Map<number, SegmentRef>();
  for (const ref of TIERS.flatMap((tier) => directory[tier])) {
    if (ref.times[0] <= nowS) segments.set(ref.segmentId, ref);
    await turns.take();
  }
  const chunks = database.streamChunks(
    `SELECT segment_id, market_rows FROM segments WHERE token_id = ${tokenId}`,
  );
  for await (const chunk of chunks) {
    const ids = chunk.reader(0);
    const rowsOf = chunk.reader(1);
    for (let i = 0; i < chunk.rowCount; i++) {
      const id = Number(ids(i));
      const ref = segments.get(id);
      segments.delete(id);
      // A commit has added the segment in the meantime, or all of its snapshots are in the future.
      if (ref === undefined) continue;
      // The stored rows count snapshots after `nowS` too.
      if (lastT(ref) > nowS) unread.push(ref);
      else widen(spans, uint16Of(rowsOf(i) as Uint8Array), ref.times);
      await turns.take();
    }
  }
  for (const id of segments.keys()) throw new SegmentGoneError(`segment ${id} was replaced`);
  for (let from = 0; from < unread.length; from += BLOCKS_AT_ONCE) {
    await widenByBlocks(database, archive, spans, unread.slice(from, from + BLOCKS_AT_ONCE), nowS);
  }
  return spans;
}

async function widenByBlocks(
  database: Database,
  archive: ArchivedBlocks,
  spans: Spans,
  segments: readonly SegmentRef[],
  nowS: number,
): Promise<void> {
  const ids = segments.map(({ segmentId }) => segmentId);
  const blocks = await readBlocks(database, ids, archive);
  for (const { segmentId, times } of segments) {
    const block = blocks.get(segmentId);
    // A commit has replaced it in the meantime.
    if (block === undefined) throw new SegmentGoneError(`segment ${segmentId} was replaced`);
    const visible = firstFrom(times, nowS + 1);
    widen(spans, marketRows(sliceRun(decodeSegment(block), 0, visible)), times);
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
