/** Adds segments to the stored ones of their token and tier, or deletes snapshots, within one transaction. */
import { crc32 } from 'node:zlib';
import { type Tier, TIERS } from '../../compute/market.js';
import type { Removal, Removed } from '../../compute/segment/remove.js';
import type { ReplacedSnapshots } from '../../compute/segment/replaced.js';
import type { RewriteInput, RewriteResult } from '../../compute/segment/rewrite.js';
import type { EncodedSegment } from '../../compute/segment/segment.js';
import { isoOf } from '../../compute/time.js';
import { type ArchivedDay, columnsOfWindow, digestOfWindow } from '../archive/archived-day.js';
import type { DeleteFrame, RestoredFrame, SegmentFrame } from '../bundle.js';
import type { Database } from '../duckdb/database.js';
import type { SqlValue } from '../duckdb/statements.js';
import { ArchivedSegmentsError, RefusalError, StoreChangedError } from '../errors.js';
import { coverageText, firstT, lastT, overlapping, type SegmentRef } from './directory.js';
import { archivedBlocks } from './archived-blocks.js';
import { marketsNamed } from './market-names.js';
import type { Replacements } from './replacements.js';
import type { RetentionStep } from './retention-steps.js';
import { MAX_REWRITTEN, type RewriteGroup, rewriteGroups } from './rewrite-groups.js';
import { type ArchivedBlocks, damagedSegments, deleteSegments, readAllBlocks } from './segments.js';
import type { Stage, StagedToken } from './stage.js';
import { uint16Of } from '../typed-arrays.js';

/** Runs compute's rewriteSegments. */
export type Rewrite = (input: RewriteInput) => Promise<RewriteResult>;

/** Where nothing archived is read. */
const NO_ARCHIVE: ArchivedBlocks = { blocks: () => Promise.resolve([]) };
/** Stored segments deleted by one statement. */
const MAX_DELETED_AT_ONCE = 1024;

export class DepthCommit {
  constructor(
    private readonly stage: Stage,
    private readonly rewrite: Rewrite,
    private readonly database: Database,
    /** null: a change of a log, which never reads the archive (archive/archived-needs.ts). */
    private readonly archive: ArchivedBlocks | null,
  ) {}

  /**
   * Adds one segment's snapshots. Mode `replace` replaces stored snapshots of the same `t`, mode `merge`
   * merges into them market by market (docs/definitions.md#merging).
   * @param replacements counts the stored snapshots that are replaced
   * @throws StoreChangedError if a merge was binned against another price than the stored one
   * @throws RefusalError if a merged snapshot would exceed a limit, or a market contradicts the store
   */
  async add(
    frame: SegmentFrame,
    mode: RewriteInput['mode'],
    replacements?: Replacements,
  ): Promise<void> {
    const token = this.stage.token(frame.chain, frame.address);
    const map = await this.stage.marketIndexes(token, frame.markets);
    const marketMap = map.some((index, i) => index !== i) ? map : null;
    const directory = (await this.stage.directory(token))[frame.tier];
    let shift = 0;
    for (const group of rewriteGroups(directory, frame.segment.times)) {
      const before = directory.length;
      const at = { ...group, from: group.from + shift, to: group.to + shift };
      const replaced = await this.addGroup(token, frame, at, mode, marketMap);
      if (replaced !== null) replacements?.add(token, frame.tier, replaced);
      shift += directory.length - before;
    }
  }

  /**
   * Deletes a token's snapshots, or their cells in some markets.
   * @throws RefusalError if there is nothing to delete, or the store does not know the token or a market
   */
  async delete({ chain, address, markets, ...frame }: DeleteFrame): Promise<Removed> {
    const name = `${chain}:${address}`;
    const token = this.stage.knownToken(chain, address);
    if (token === null) throw new RefusalError(`token: the store does not know ${name}`);
    const mask = markets && marketsNamed(markets, token.markets, name);
    const removal = { fromS: frame.fromS, toS: frame.toS, markets: mask };
    const stored = coverageText(await this.stage.directory(token));
    const all = nothingRemoved();
    for (const tier of frame.tier === null ? TIERS : [frame.tier]) {
      addRemoved(all, await this.deleteOf(token, tier, removal));
    }
    if (!frame.needsAny || all.snapshots + all.changedSnapshots > 0) return all;
    const what = markets === null ? 'snapshot' : 'cell of these markets';
    throw new RefusalError(`nothing to delete: ${name} has no ${what} in the window; ${stored}`);
  }

  /**
   * Copies snapshots of a tier into coarser tiers as the step says, then deletes the tier's snapshots before the step's
   * time.
   */
  async retire(token: StagedToken, { tier, toS, copies }: RetentionStep): Promise<Removed> {
    if (copies.length > 0) await this.copy(token, copies);
    return this.deleteOf(token, tier, { fromS: 0, toS, markets: null });
  }

  private async copy(token: StagedToken, copies: RetentionStep['copies']): Promise<void> {
    const refs = [...new Set(copies.map(({ from }) => from))];
    const result = await this.rewrite({
      stored: await this.blocksOf(token, refs),
      added: null,
      copies: copies.map(({ from, ...copy }) => ({ block: refs.indexOf(from), ...copy })),
      mode: 'replace',
    });
    if (result.status !== 'copied') throw new Error('copying snapshots cannot conflict');
    const { chain, address } = token.row;
    const of = { kind: 'segment', chain, address, markets: token.markets } as const;
    for (const { tier, segments } of result.tiers) {
      for (const segment of segments) await this.add({ ...of, tier, segment }, 'replace');
    }
  }

  /**
   * Has an object of the archive hold a window's snapshots in place of the store.
   * @returns the ids of the object's segments
   * @throws RefusalError if the store has other snapshots there than the object
   */
  async archiveWindow(day: ArchivedDay): Promise<number[]> {
    const { tier, fromS, toS } = day;
    const { chain, address } = day.token;
    const token = this.stage.knownToken(chain, address);
    const before = token === null ? [] : (await this.stage.directory(token))[tier];
    const columns = columnsOfWindow(before, day);
    const inObject = day.segments.reduce((sum, { snapshots }) => sum + snapshots, 0);
    const isSame = Buffer.compare(digestOfWindow(columns), day.digest) === 0;
    if (token === null || !isSame || columns.times.length !== inObject) {
      throw new RefusalError(
        `the ${tier} snapshots of ${chain}:${address} from ${isoOf(fromS)} to ${isoOf(toS)} have changed since their object was made`,
      );
    }
    const index = await this.cutOut(token, tier, { fromS, toS });
    const objectId = await this.stage.objectId(day);
    const refs: SegmentRef[] = [];
    let row = 0;
    const samples: SqlValue[][] = [];
    for (const segment of day.segments) {
      const { snapshots, cells, at, bytes, crc32: checksum, marketRows, sample } = segment;
      const segmentId = this.stage.nextSegmentId();
      const of = (column: Uint32Array): Uint32Array => column.slice(row, row + snapshots);
      const { times, bandCells, digests } = columns;
      const own = { times: of(times), bandCells: of(bandCells), digests: of(digests), cells };
      await this.stage.segments.addArchived(
        { segmentId, tokenId: token.tokenId, tier },
        { ...own, marketRows: uint16Of(marketRows), crc32: checksum, objectId, at, bytes },
      );
      if (sample !== null) samples.push([segmentId, crc32(sample), sample]);
      refs.push({ ...own, segmentId, tier, isArchived: true });
      row += snapshots;
    }
    if (samples.length > 0) await this.stage.tx.append('segment_samples', samples);
    const directory = (await this.stage.directory(token))[tier];
    directory.splice(index, 0, ...refs);
    return refs.map(({ segmentId }) => segmentId);
  }

  /**
   * Deletes the snapshots of a window, and cuts segments at its ends, so that none spans it.
   * @returns where segments of the window belong in the directory
   */
  private async cutOut(
    token: StagedToken,
    tier: Tier,
    { fromS, toS }: { fromS: number; toS: number },
  ): Promise<number> {
    const directory = (await this.stage.directory(token))[tier];
    const { from, to } = overlapping(directory, fromS, toS - 1);
    if (from === to) return from;
    const [first, last] = [directory[from], directory[to - 1]];
    const before =
      firstT(first) < fromS ? await this.partOf(token, first, { fromS: 0, toS: fromS }) : [];
    const after =
      lastT(last) >= toS ? await this.partOf(token, last, { fromS: toS, toS: Infinity }) : [];
    for (let end = to; end > from;) {
      const begin = Math.max(from, end - MAX_DELETED_AT_ONCE);
      const parts = begin === from ? [...before, ...after] : [];
      await this.put(token, tier, begin, directory.slice(begin, end), parts);
      end = begin;
    }
    return from + before.length;
  }

  /** The snapshots of a window of a segment, as segments. */
  private async partOf(
    token: StagedToken,
    ref: SegmentRef,
    window: { fromS: number; toS: number },
  ): Promise<EncodedSegment[]> {
    const stored = await this.blocksOf(token, [ref]);
    const result = await this.rewrite({ stored, added: null, window, mode: 'replace' });
    if (result.status !== 'done') throw new Error('cutting a stored segment cannot conflict');
    return result.segments;
  }

  /** Brings archived segments back into the store. @returns how many that were */
  async restore({ chain, address, tier, segments }: RestoredFrame): Promise<number> {
    const token = this.stage.knownToken(chain, address);
    if (token === null || segments.length === 0) return 0;
    const directory = (await this.stage.directory(token))[tier];
    const blocks = await archivedBlocks(this.stage, directory, segments);
    const firsts = segments.map(({ firstS }) => firstS);
    const { from, to } = overlapping(directory, Math.min(...firsts), Math.max(...firsts));
    // From last to first, to keep the indexes of earlier segments valid.
    for (let last = to, first; last > from; last = first) {
      first = last - 1;
      const isNext = (i: number): boolean => i >= from && blocks.has(directory[i].segmentId);
      if (!isNext(first)) continue;
      while (isNext(first - 1) && last - first < MAX_REWRITTEN) first--;
      const replaced = directory.slice(first, last);
      const stored = replaced.map(({ segmentId }) => blocks.get(segmentId)!);
      await this.joinBlocks(token, tier, first, replaced, stored);
    }
    return blocks.size;
  }

  /** Deletes snapshots of a tier, or their cells in some markets. */
  private async deleteOf(token: StagedToken, tier: Tier, removal: Removal): Promise<Removed> {
    const { fromS, toS } = removal;
    const removed = nothingRemoved();
    const directory = (await this.stage.directory(token))[tier];
    const { from, to } = overlapping(directory, fromS, toS - 1);
    const isWhole = directory.map((ref) => isInside(ref, removal));
    // From last to first, to keep the indexes of earlier segments valid.
    for (let last = to, first; last > from; last = first) {
      const whole = isWhole[last - 1];
      const most = whole ? MAX_DELETED_AT_ONCE : MAX_REWRITTEN;
      for (first = last - 1; first > from && last - first < most;) {
        if (isWhole[first - 1] !== whole) break;
        first--;
      }
      addRemoved(
        removed,
        whole
          ? await this.deleteWhole(token, tier, [first, last])
          : await this.deleteFrom(token, tier, [first, last], removal),
      );
    }
    return removed;
  }

  /** Deletes segments without reading their blocks. */
  private async deleteWhole(
    token: StagedToken,
    tier: Tier,
    [from, to]: readonly [number, number],
  ): Promise<Removed> {
    const refs = (await this.stage.directory(token))[tier].slice(from, to);
    await this.put(token, tier, from, refs, []);
    return {
      snapshots: refs.reduce((sum, { times }) => sum + times.length, 0),
      changedSnapshots: 0,
      cells: refs.reduce((sum, { cells }) => sum + cells, 0),
    };
  }

  private async deleteFrom(
    token: StagedToken,
    tier: Tier,
    [from, to]: readonly [number, number],
    removal: Removal,
  ): Promise<Removed> {
    const refs = (await this.stage.directory(token))[tier].slice(from, to);
    const stored = await this.blocksOf(token, refs);
    const result = await this.rewrite({ stored, added: null, removal, mode: 'replace' });
    if (result.status !== 'removed') throw new Error('deleting cells cannot conflict');
    const { segments, removed } = result;
    if (removed.snapshots + removed.changedSnapshots > 0) {
      await this.put(token, tier, from, refs, segments);
    }
    return removed;
  }

  /** Joins neighbouring segments `from <= i < to` of a tier into larger ones. */
  async join(token: StagedToken, tier: Tier, from: number, to: number): Promise<void> {
    const replaced = (await this.stage.directory(token))[tier].slice(from, to);
    await this.joinBlocks(token, tier, from, replaced, await this.blocksOf(token, replaced));
  }

  private async joinBlocks(
    token: StagedToken,
    tier: Tier,
    at: number,
    replaced: readonly SegmentRef[],
    stored: Uint8Array[],
  ): Promise<void> {
    const result = await this.rewrite({ stored, added: null, mode: 'replace' });
    if (result.status !== 'done') throw new Error('joining stored segments cannot conflict');
    await this.put(token, tier, at, replaced, result.segments);
  }

  /** @returns the stored snapshots that it replaced */
  private async addGroup(
    token: StagedToken,
    { chain, tier, address, segment }: SegmentFrame,
    { fromRow, toRow, from, to }: RewriteGroup,
    mode: RewriteInput['mode'],
    marketMap: Uint16Array | null,
  ): Promise<ReplacedSnapshots | null> {
    const isWhole = toRow - fromRow === segment.times.length;
    if (isWhole && from === to && marketMap === null && mode === 'replace') {
      await this.put(token, tier, from, [], [segment]);
      return null;
    }
    const replaced = (await this.stage.directory(token))[tier].slice(from, to);
    const result = await this.rewrite({
      stored: await this.blocksOf(token, replaced),
      added: { block: segment.block, fromRow, toRow, marketMap },
      mode,
    });
    switch (result.status) {
      case 'done':
        await this.put(token, tier, from, replaced, result.segments);
        return result.replaced;
      case 'unchanged':
        return result.replaced;
      case 'removed':
      case 'copied':
        throw new Error('nothing was to be removed or copied');
      case 'price-conflict':
        throw new StoreChangedError(result.t);
      case 'too-large':
        throw new RefusalError(
          `markets: the snapshot of ${address} (${chain}) at ${result.t} (${tier}) would hold more than ${result.limit} after merging`,
        );
    }
  }

  private async put(
    token: StagedToken,
    tier: Tier,
    at: number,
    replaced: readonly SegmentRef[],
    segments: readonly EncodedSegment[],
  ): Promise<void> {
    const { tokenId } = token;
    const refs: SegmentRef[] = [];
    for (const segment of segments) {
      const segmentId = this.stage.nextSegmentId();
      await this.stage.segments.add({ segmentId, tokenId, tier }, segment);
      const { cells, times, bandCells, digests } = segment;
      refs.push({ segmentId, tier, cells, times, bandCells, digests, isArchived: false });
    }
    const old = idsOf(replaced);
    await this.stage.segments.settle(old);
    await deleteSegments(this.stage.tx, old);
    this.stage.removedSegments.push(...old);
    await this.stage.unlist(token, replaced);
    const directory = await this.stage.directory(token);
    directory[tier].splice(at, replaced.length, ...refs);
  }

  /**
   * @throws DamagedSpanError if one is damaged
   * @throws ArchivedSegmentsError if one is archived, and a log has the change
   */
  private async blocksOf({ row }: StagedToken, refs: readonly SegmentRef[]): Promise<Uint8Array[]> {
    const { archive } = this;
    const archived = refs.find(({ isArchived }) => isArchived);
    if (archived !== undefined && archive === null) {
      throw new ArchivedSegmentsError(
        `the ${archived.tier} snapshots of ${row.chain}:${row.address} from ${isoOf(firstT(archived))} have gone to the archive meanwhile: try again`,
      );
    }
    const ids = idsOf(refs);
    await this.stage.segments.settle(ids);
    const readable = archive ?? NO_ARCHIVE;
    return readAllBlocks(this.stage.tx, ids, readable).catch(async (error: unknown) => {
      const stored = refs.filter(({ segmentId }) => !this.stage.hasMade(segmentId));
      throw await damagedSegments(error, this.database, row, stored, readable);
    });
  }
}

/** Whether a removal deletes the whole segment. */
export function isInside(ref: SegmentRef, { fromS, toS, markets }: Removal): boolean {
  return markets === null && firstT(ref) >= fromS && lastT(ref) < toS;
}

/** The initial sum for addRemoved(). */
export const nothingRemoved = (): Removed => ({ snapshots: 0, changedSnapshots: 0, cells: 0 });

/** Adds up what was removed. */
export function addRemoved(sum: Removed, removed: Removed): void {
  sum.snapshots += removed.snapshots;
  sum.changedSnapshots += removed.changedSnapshots;
  sum.cells += removed.cells;
}

const idsOf = (refs: readonly SegmentRef[]): number[] => refs.map(({ segmentId }) => segmentId);
