/** The blocks that a change brings back from the archive, as a transaction finds their segments. */
import { crc32 } from 'node:zlib';
import type { RestoredFrame } from '../bundle.js';
import { whereIdIn } from '../duckdb/statements.js';
import { firstSegmentFrom, firstT, type TierDirectory } from './directory.js';
import type { Stage } from './stage.js';

/** Of blocks, those of archived segments, by segment id. */
export async function archivedBlocks(
  stage: Pick<Stage, 'segments' | 'tx'>,
  directory: TierDirectory,
  segments: RestoredFrame['segments'],
): Promise<Map<number, Uint8Array>> {
  const blocks = new Map<number, Uint8Array>();
  for (const { firstS, block } of segments) {
    const ref = directory.at(firstSegmentFrom(directory, firstS));
    // Copied: the frame's memory holds all of them.
    if (ref?.isArchived === true && firstT(ref) === firstS)
      blocks.set(ref.segmentId, new Uint8Array(block));
  }
  const ids = [...blocks.keys()];
  await stage.segments.settle(ids);
  const rows = await stage.tx.rows(
    `SELECT segment_id, crc32 FROM segments WHERE ${whereIdIn('segment_id', ids)}`,
  );
  for (const [segmentId, checksum] of rows as [number, number][])
    if (crc32(blocks.get(segmentId)!) !== checksum) blocks.delete(segmentId);
  return blocks;
}
