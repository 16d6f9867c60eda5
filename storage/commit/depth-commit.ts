/** Lays segments over the stored ones of their token and tier, within one transaction. */
import { crc32 } from 'node:zlib';
import { TIERS, type Tier } from '../../compute/market/market.js';
import type { EncodedSegment } from '../../compute/segment/split.js';
import type { RewriteInput, RewriteResult } from '../../compute/segment/task.js';
import { overlapping, type SegmentRef } from '../catalog/directory.js';
import { StoreChangedError } from '../errors.js';
import type { SegmentFrame } from '../bundle/frames.js';
import type { SegmentIds } from './segment-ids.js';
import type { Stage, StagedToken } from './stage.js';

/** Runs compute's rewriteSegments, in a pool where there is one. */
export type Rewrite = (input: RewriteInput) => Promise<RewriteResult>;

export class DepthCommit {
  constructor(
    private readonly stage: Stage,
    private readonly ids: SegmentIds,
    private readonly rewrite: Rewrite,
  ) {}

  /**
   * Adds one segment's snapshots: in mode `replace` over those of the same `t`, in mode `merge`
   * market by market into them.
   * @throws StoreChangedError where the price that a merge was binned against is not the stored one
   */
  async add(frame: SegmentFrame, mode: RewriteInput['mode']): Promise<void> {
    const token = await this.stage.token(frame.chain, frame.address);
    const map = await this.stage.marketIndexes(token, frame.markets);
    const directory = (await this.stage.directory(token))[frame.tier];
    const times = frame.segment.times;
    const { from, to } = overlapping(directory, times[0], times[times.length - 1]);
    const renumbered = map.some((index, i) => index !== i);
    if (from === to && !renumbered && mode === 'replace') {
      await this.put(token, frame.tier, from, [], [frame.segment]);
      return;
    }
    const replaced = directory.slice(from, to);
    const stored = await this.readBlocks(replaced);
    const result = await this.rewrite({
      stored,
      added: frame.segment.block,
      marketMap: renumbered ? map : null,
      mode,
    });
    if (result.status === 'price-conflict') throw new StoreChangedError(result.t);
    if (sameBlocks(stored, result.segments)) return;
    await this.put(token, frame.tier, from, replaced, result.segments);
  }

  /** Joins neighbouring segments `from <= i < to` of a tier into larger ones. */
  async join(token: StagedToken, tier: Tier, from: number, to: number): Promise<void> {
    const replaced = (await this.stage.directory(token))[tier].slice(from, to);
    const result = await this.rewrite({
      stored: await this.readBlocks(replaced),
      added: null,
      marketMap: null,
      mode: 'replace',
    });
    if (result.status !== 'done') throw new Error('joining stored segments cannot conflict');
    await this.put(token, tier, from, replaced, result.segments);
  }

  private async put(
    token: StagedToken,
    tier: Tier,
    at: number,
    replaced: readonly SegmentRef[],
    segments: readonly EncodedSegment[],
  ): Promise<void> {
    const refs: SegmentRef[] = [];
    for (const segment of segments) {
      const segmentId = this.ids.next();
      await this.stage.tx.run('INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)', [
        segmentId,
        token.tokenId,
        TIERS.indexOf(tier),
        segment.cells,
        bytesOf(segment.times),
        bytesOf(segment.bandCells),
        crc32(segment.block),
        segment.block,
      ]);
      const { cells, times, bandCells } = segment;
      refs.push({ segmentId, tier, cells, times, bandCells });
    }
    if (replaced.length > 0) {
      await this.stage.tx.run(`DELETE FROM segments WHERE segment_id IN (${idList(replaced)})`);
    }
    const directory = await this.stage.directory(token);
    directory[tier].splice(at, replaced.length, ...refs);
  }

  private async readBlocks(refs: readonly SegmentRef[]): Promise<Uint8Array[]> {
    if (refs.length === 0) return [];
    const rows = await this.stage.tx.rows(
      `SELECT segment_id, data FROM segments WHERE segment_id IN (${idList(refs)})`,
    );
    const blocks = new Map(rows.map(([id, data]) => [id as number, data as Uint8Array]));
    return refs.map(({ segmentId }) => {
      const block = blocks.get(segmentId);
      if (block === undefined) throw new Error(`segment ${segmentId} is in no table`);
      return block;
    });
  }
}

const idList = (refs: readonly SegmentRef[]): string => refs.map((r) => r.segmentId).join(',');

function bytesOf(column: Uint32Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}

function sameBlocks(stored: readonly Uint8Array[], made: readonly EncodedSegment[]): boolean {
  return (
    stored.length === made.length &&
    stored.every((block, i) => Buffer.compare(block, made[i].block) === 0)
  );
}
