/** The table `segment_samples`: what long series show of each segment (compute/segment/sample.ts). */
import { crc32 } from 'node:zlib';
import { sampleSegments, SNAPSHOTS_PER_SAMPLED } from '../../compute/segment/sample.js';
import type { StoredBlock } from '../../compute/segment/segment.js';
import type { Database } from '../duckdb/database.js';
import { whereIdIn, type Statements } from '../duckdb/statements.js';
import { readMeta, writeMeta } from '../meta.js';
import { type ArchivedBlocks, readStoredBlocks, storedBlocks, storedSegments } from './segments.js';

/** Runs compute's sampleSegments. */
export type SampleSegments = (
  segments: readonly StoredBlock[],
) => Promise<readonly (Uint8Array | null)[]>;

export const sampleHere: SampleSegments = (segments) => Promise.resolve(sampleSegments(segments));

/** Samples are made once there are this many new segments: each search scans the end of a table. */
export const LEAST_NEW_SEGMENTS = 64;
/** Segments per step: their blocks take some megabytes, and a thread works on them for 30 ms. */
const SAMPLED_AT_ONCE = 16;
/** All segments up to this id have their samples. */
const META_KEY = 'sampled_segments';

/** Samples by segment id, not checked against their checksums yet; missing ones are left out. */
export async function readSamples(
  statements: Pick<Statements, 'values'>,
  ids: readonly number[],
): Promise<Map<number, StoredBlock>> {
  if (ids.length === 0) return new Map();
  return storedBlocks(
    statements,
    `SELECT segment_id, 0 AS part, data, crc32 FROM segment_samples WHERE ${whereIdIn('segment_id', ids)}`,
  );
}

/**
 * Makes samples of stored segments in the background. Segments never change, so each is examined once. Those of archived
 * ones are in the log.
 */
export class SampleMaker {
  /** All segments up to this id were examined; null before the first read. */
  private sampledId: number | null = null;

  constructor(
    private readonly database: Database,
    private readonly archive: ArchivedBlocks,
    private readonly sample: SampleSegments = sampleHere,
  ) {}

  /**
   * Makes the samples of the next segments.
   * @param exclusive runs a transaction while no other does
   * @returns whether more segments are left to examine
   */
  async step(
    lastSegmentId: number,
    exclusive: (body: () => Promise<void>) => Promise<void>,
  ): Promise<boolean> {
    const { database } = this;
    this.sampledId ??= Number((await readMeta(database)).get(META_KEY) ?? 0);
    if (lastSegmentId - this.sampledId < LEAST_NEW_SEGMENTS) return false;
    const rows = await database.rows(
      `SELECT segment_id FROM segments
       WHERE segment_id > ${this.sampledId} AND segment_id <= ${lastSegmentId}
         AND object_id IS NULL AND octet_length(times) >= ${SNAPSHOTS_PER_SAMPLED * Uint32Array.BYTES_PER_ELEMENT}
       ORDER BY segment_id LIMIT ${SAMPLED_AT_ONCE}`,
    );
    const ids = rows.map(([id]) => id as number);
    const upTo = ids.length < SAMPLED_AT_ONCE ? lastSegmentId : ids[ids.length - 1];
    const blocks = [...(await readStoredBlocks(database, ids, this.archive)).values()];
    const samples = blocks.length === 0 ? [] : await this.sample(blocks);
    const made = samples.flatMap((sample, i) =>
      sample === null ? [] : [[blocks[i].segmentId, crc32(sample), sample] as const],
    );
    // Without samples nothing is written: after the next start these segments are examined once more.
    if (made.length > 0) {
      await exclusive(() =>
        database.transaction(async (tx) => {
          // A commit may have removed some in the meantime.
          const stored = await storedSegments(tx, ids);
          const rows = made.filter(([segmentId]) => stored.has(segmentId));
          if (rows.length > 0) await tx.append('segment_samples', rows);
          await writeMeta(tx, META_KEY, String(upTo));
        }),
      );
    }
    this.sampledId = upTo;
    return upTo < lastSegmentId;
  }
}
