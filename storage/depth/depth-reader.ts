/** Reads tokens, their segments and their newest snapshots from the catalogue and DuckDB. */
import { isDamage } from '../../compute/damage.js';
import { type Chain, type Market, TIERS } from '../../compute/market.js';
import { checkedBlock, decodeSegment, type StoredBlock } from '../../compute/segment/segment.js';
import {
  readStored,
  SegmentGoneError,
  type DepthSource,
  type DepthView,
  type FollowedDepth,
  type MarketSource,
  type NewestSnapshots,
  type PagePlan,
  type SegmentEntry,
  type SegmentRange,
  type SegmentSource,
  type PlanRequest,
  type StoredHistory,
  type StoredTimes,
  type SnapshotKey,
  type SnapshotRef,
  type TierKey,
  type TokenMoment,
  type TokenRecord,
} from '../contract.js';
import type { Database } from '../duckdb/database.js';
import type { Catalog, TokenEntry } from './catalog.js';
import { directoriesAround, type Directories } from './directories.js';
import {
  joinedTimes,
  newestShownAt,
  newestSnapshots,
  snapshotNear,
  planSnapshots,
  planSnapshotsAt,
  rowAt,
  timeAfter,
  visibleTimes,
} from './directory.js';
import { marketSpans } from './history.js';
import type { Revisions } from './revisions.js';
import { IS_TINY } from './compaction.js';
import { readSamples } from './samples.js';
import {
  type ArchivedBlocks,
  damagedSegments,
  readStoredBlocks,
  storedSegments,
} from './segments.js';

/** Tokens per query in allNewestSnapshots(). */
const TOKENS_AT_ONCE = 5000;

export class DepthReader implements DepthSource, MarketSource, SegmentSource, FollowedDepth {
  constructor(
    private readonly database: Database,
    private readonly catalog: Catalog,
    private readonly directories: Directories,
    private readonly revisions: Revisions,
    private readonly archive: ArchivedBlocks,
  ) {}

  token(chain: Chain, address: string): TokenRecord | null {
    return tokenRecord(this.catalog.token(chain, address));
  }

  mainchainLeg(token: TokenRecord): TokenRecord | null {
    if (token.asset === null || token.chain === 'mainchain') return null;
    return tokenRecord(this.catalog.leg(token.asset, 'mainchain'));
  }

  directory(tokenId: number): object | null {
    return this.directories.inMemory(tokenId) ?? null;
  }

  async plan(request: PlanRequest): Promise<PagePlan> {
    const directory = await this.directories.get(request.tokenId);
    // The markets are read after the directory: a commit in between only appends markets.
    return { ...planSnapshots(directory, request), markets: this.markets(request.tokenId) };
  }

  get commitHistory(): string {
    return this.revisions.history;
  }

  get position(): number {
    return this.revisions.position;
  }

  remembers(position: number): boolean {
    return this.revisions.remembers(position);
  }

  async view(tokenId: number): Promise<DepthView> {
    const { revisions } = this;
    for (;;) {
      const { history, position } = revisions;
      const lastRevision = revisions.lastOf(tokenId);
      const directory = await this.directories.get(tokenId);
      // A commit has revised the token in the meantime: the directory may have either state.
      if (revisions.history !== history || revisions.lastOf(tokenId) !== lastRevision) continue;
      const markets = this.markets(tokenId);
      return {
        history,
        position,
        lastRevision,
        newestT: (nowS) => newestShownAt(directory, nowS, nowS)?.t ?? null,
        nextT: (nowS) => {
          const t = timeAfter(directory, nowS);
          return t === Infinity ? null : t;
        },
        plan: ({ fromS, nowS, maxSnapshots }) => {
          // Future snapshots already hide coarser ones: revisions count them as shown.
          const window = { fromS, toS: nowS + 1, nowS: Infinity, maxSnapshots };
          return { ...planSnapshots(directory, window), markets };
        },
        planAt: (times) => ({ ...planSnapshotsAt(directory, times), markets }),
        revised: async ({ after, upTo, fromS, toS }) => {
          const range = { tokenId, after, upTo, last: lastRevision };
          const revised = await revisions.times(range, fromS, toS);
          const isOther = revisions.history !== history;
          return isOther || revisions.hasForgotten(tokenId, after) ? null : revised;
        },
      };
    }
  }

  async firstSnapshotT(tokenId: number, nowS: number): Promise<number | null> {
    const directory = await this.directories.get(tokenId);
    const first = Math.min(...TIERS.map((tier) => directory[tier][0]?.times[0] ?? Infinity));
    return first <= nowS ? first : null;
  }

  async times(tokenId: number, nowS: number): Promise<StoredTimes> {
    return visibleTimes(await this.directories.get(tokenId), nowS);
  }

  async history(tokenId: number, nowS: number): Promise<StoredHistory> {
    const { directory, spans } = await readStored(async () => {
      const directory = await this.directories.get(tokenId);
      return {
        directory,
        spans: await marketSpans(this.database, this.archive, tokenId, directory, nowS),
      };
    });
    const markets = this.markets(tokenId).flatMap((market, index) => {
      const span = spans.get(index);
      return span === undefined ? [] : [{ market, ...span }];
    });
    return { times: visibleTimes(directory, nowS), markets };
  }

  async readSegments(ids: readonly number[]): Promise<Uint8Array[]> {
    const recent = this.directories.recentBlocks.get(ids);
    const others = ids.filter((id) => !recent.has(id));
    const stored = await readStoredBlocks(this.database, others, this.archive);
    return inOrder(ids, new Map([...recent, ...stored])).map(checkedBlock);
  }

  readSamples(ids: readonly number[]): Promise<Map<number, StoredBlock>> {
    return readSamples(this.database, ids);
  }

  get lastSegmentId(): number {
    return this.directories.lastSegmentId;
  }

  async segmentsBetween(
    { above, below, tiny }: SegmentRange,
    limit: number,
  ): Promise<SegmentEntry[]> {
    const rows = await this.database.rows(
      `SELECT segment_id, token_id FROM segments
       WHERE segment_id > ${above} AND segment_id < ${below} AND (${tiny} OR NOT (${IS_TINY}))
       ORDER BY segment_id DESC LIMIT ${limit}`,
    );
    return (rows as [number, number][]).map(([segmentId, tokenId]) => {
      return { segmentId, markets: this.markets(tokenId) };
    });
  }

  async storedSegments(ids: readonly number[]): Promise<ReadonlySet<number>> {
    return storedSegments(this.database, ids);
  }

  *tokenIds(): Iterable<number> {
    const end = this.catalog.nextTokenId;
    for (let tokenId = 0; tokenId < end; tokenId++) {
      if (this.catalog.tokenById(tokenId) !== undefined) yield tokenId;
    }
  }

  tokenById(tokenId: number): TokenRecord | null {
    return tokenRecord(this.catalog.tokenById(tokenId));
  }

  markets(tokenId: number): readonly Market[] {
    return this.catalog.tokenById(tokenId)?.markets ?? [];
  }

  async newestSnapshots(tokenId: number, nowS: number, delayS: number): Promise<NewestSnapshots> {
    return newestSnapshots(await this.directories.get(tokenId), nowS, delayS);
  }

  async newestShownAt(tokenId: number, atS: number, nowS: number): Promise<SnapshotRef | null> {
    return newestShownAt(await this.directories.get(tokenId), atS, nowS);
  }

  async *allNewestSnapshots(
    nowS: number,
    delayS: number,
  ): AsyncIterable<Map<number, NewestSnapshots>> {
    const end = this.catalog.nextTokenId;
    for (let first = 0; first < end; first += TOKENS_AT_ONCE) {
      const directories = await directoriesAround(
        this.database,
        [first, first + TOKENS_AT_ONCE - 1],
        [nowS, nowS - delayS],
        this.directories.lists.listedId,
      );
      yield new Map(
        Array.from(directories, ([tokenId, directory]) => [
          tokenId,
          newestSnapshots(directory, nowS, delayS),
        ]),
      );
    }
  }

  async snapshotTimes({ chain, address, tier }: TierKey): Promise<Uint32Array> {
    const token = this.catalog.token(chain, address);
    if (token === undefined) return new Uint32Array(0);
    const directory = await this.directories.get(token.tokenId);
    return joinedTimes(directory[tier].map(({ times }) => times));
  }

  /** Consecutive `keys` in the same segment share one read. */
  async snapshotPrices(keys: readonly SnapshotKey[]): Promise<Float64Array> {
    const prices = new Float64Array(keys.length).fill(NaN);
    let segmentId = 0;
    let priceAt = new Map<number, number>();
    for (const [i, { chain, address, tier, t }] of keys.entries()) {
      const token = this.catalog.token(chain, address);
      if (token === undefined) continue;
      prices[i] = await readStored(async () => {
        const directory = (await this.directories.get(token.tokenId))[tier];
        const ref = rowAt(directory, t)?.ref;
        if (ref === undefined) return NaN;
        if (ref.segmentId !== segmentId) {
          priceAt = await this.pricesIn(ref.segmentId).catch(async (error: unknown) => {
            throw await damagedSegments(error, this.database, token.row, [ref], this.archive);
          });
          segmentId = ref.segmentId;
        }
        return priceAt.get(t) ?? NaN;
      });
    }
    return prices;
  }

  async pricesNear(moments: readonly TokenMoment[]): Promise<Float64Array> {
    const prices = new Float64Array(moments.length).fill(NaN);
    for (const [i, { chain, address, t }] of moments.entries()) {
      const token = this.catalog.token(chain, address);
      if (token === undefined) continue;
      prices[i] = await readStored(async () => {
        const near = snapshotNear(await this.directories.get(token.tokenId), t);
        return near === null ? NaN : (await this.pricesIn(near.segmentId)).get(near.t)!;
      }).catch((error: unknown) => {
        if (isDamage(error)) return NaN;
        throw error;
      });
    }
    return prices;
  }

  private async pricesIn(segmentId: number): Promise<Map<number, number>> {
    const [block] = await this.readSegments([segmentId]);
    const run = decodeSegment(block);
    return new Map(Array.from(run.t, (time, row) => [time, run.priceUsd[row]]));
  }
}

/** @throws SegmentGoneError */
function inOrder<T>(ids: readonly number[], found: ReadonlyMap<number, T>): T[] {
  return ids.map((id) => {
    const one = found.get(id);
    if (one === undefined) throw new SegmentGoneError(`segment ${id} was replaced`);
    return one;
  });
}

function tokenRecord(entry: TokenEntry | undefined): TokenRecord | null {
  return entry === undefined ? null : { tokenId: entry.tokenId, ...entry.row };
}
