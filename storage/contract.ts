/**
 * What the server reads from `storage`, and the types of the results. operations.ts has the operations of commands.
 * Nothing here depends on DuckDB.
 */
import type { TokenHours } from '../compute/lp/fee-density.js';
import type { PoolHours } from '../compute/lp/dlmm-board.js';
import type { OwnerNames } from '../compute/holders/owners.js';
import type { DlmmPool } from '../compute/lp/dlmm-pool.js';
import type { Chain, Market, Tier } from '../compute/market.js';
import type { DcaOrder } from '../compute/orders/dca-orders.js';
import type { LimitOrder } from '../compute/orders/limit-orders.js';
import type { RunKey } from '../compute/segment/run.js';
import type { StoredBlock } from '../compute/segment/segment.js';

export * from './keys/contract.js';

export const COVERAGES = ['full', 'depth_only', 'excluded'] as const;
export type Coverage = (typeof COVERAGES)[number];

/** Names one token. */
export interface TokenName {
  readonly chain: Chain;
  /** In canonical form. */
  readonly address: string;
}

/** A row of dataset `tokens`. For a token known only from snapshots, only its chain, address and coverage are set. */
export interface TokenRow extends TokenName {
  symbol: string | null;
  name: string | null;
  icon: string | null;
  decimals: number | null;
  /** Tokens with the same asset are legs of one asset. */
  asset: string | null;
  coverage: Coverage;
  /** A snapshot's price takes precedence. */
  price_usd: number | null;
  mcap: number | null;
  liquidity_usd: number | null;
  /** Epoch seconds. */
  last_refresh: number | null;
}

/** A token known from a row of `tokens` or from a snapshot. */
export interface TokenRecord extends TokenRow {
  tokenId: number;
}

/** One visible snapshot of a plan: row `row` of segment `segmentIds[segment]`. */
export interface PlannedSnapshot {
  segment: number;
  row: number;
  t: number;
  tier: Tier;
  /** Cells of the snapshot in the default band, ungrouped. */
  bandCells: number;
  /** A digest of the snapshot's content. */
  digest: number;
}

/** The next visible snapshots of a token, ascending in `t`. */
export interface PagePlan {
  /** Ids in the order that `PlannedSnapshot.segment` indexes. */
  segmentIds: number[];
  snapshots: PlannedSnapshot[];
  /** `t` of the snapshot that would come after the planned ones within the window, or null. */
  nextT: number | null;
  /** The token's markets in order of first arrival; segments' market columns index it. */
  markets: readonly Market[];
}

export interface PlanRequest {
  tokenId: number;
  /** Epoch seconds: `fromS <= t < toS`. */
  fromS: number;
  toS: number;
  /** The service's now: later snapshots are not visible. */
  nowS: number;
  maxSnapshots: number;
  /** Only the newest snapshot of each step of this length is planned (docs/definitions.md#steps). */
  stepS?: number;
}

/** Times of a token's snapshots by tier, ascending, in parts that are not empty. */
export type StoredTimes = Readonly<Record<Tier, readonly Uint32Array[]>>;

/** The history of a token up to a moment. */
export interface StoredHistory {
  times: StoredTimes;
  /** Markets with cells, in order of first arrival. */
  markets: { market: Market; firstT: number; lastT: number }[];
}

/** A planned segment was replaced: plan again. */
export class SegmentGoneError extends Error {}

/** Attempts to read segments that a commit or a join in the background may replace. */
const MAX_READS = 10;

/**
 * Runs `read`, which looks up segments and reads them; repeats it if they were replaced in between.
 * @throws SegmentGoneError | what `read` throws
 */
export async function readStored<T>(read: () => Promise<T>): Promise<T> {
  for (let reads = 1; ; reads++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof SegmentGoneError) || reads === MAX_READS) throw error;
    }
  }
}

export interface DepthSource {
  /** The token's record, or null if it is unknown. `address` is in canonical form. */
  token(chain: Chain, address: string): TokenRecord | null;
  /** The mainchain leg of the asset, for an evmchain token that has one; otherwise null. */
  mainchainLeg(token: TokenRecord): TokenRecord | null;
  plan(request: PlanRequest): Promise<PagePlan>;
  /** The token's markets in order of first arrival; segments' market columns index it. */
  markets(tokenId: number): readonly Market[];
  /**
   * Stands for the token's stored snapshots, if they are known at once: a commit that changes them, or how they are
   * stored, replaces it.
   */
  directory(tokenId: number): object | null;
  /** Time of the token's first snapshot up to `nowS`; null if there is none. */
  firstSnapshotT(tokenId: number, nowS: number): Promise<number | null>;
  /** Times of the stored snapshots of one token and tier, ascending, including future ones. */
  snapshotTimes(key: TierKey): Promise<Uint32Array>;
  /** Times of the token's snapshots up to `nowS`. */
  times(tokenId: number, nowS: number): Promise<StoredTimes>;
  /** The token's history up to `nowS`. */
  history(tokenId: number, nowS: number): Promise<StoredHistory>;
  /**
   * The segments' LZ4 blocks in the order of `ids`, each in a separate ArrayBuffer.
   * @throws SegmentGoneError; DamageError if a checksum does not match
   */
  readSegments(ids: readonly number[]): Promise<Uint8Array[]>;
  /** Samples by segment id, unchecked; segments without a sample are missing. */
  readSamples(ids: readonly number[]): Promise<Map<number, StoredBlock>>;
}

/** Times that revisions of a token have changed. */
export interface RevisedTimes {
  /** Times at which a different snapshot, or none, is shown now; ascending, equal for all requests of some days. */
  times: Uint32Array;
  /** The requested ones: `first <= i < end`. */
  first: number;
  end: number;
  /** Later times may follow from here on; Infinity: none do. */
  nextS: number;
  /** Time of the token's last snapshot if one of the revisions moved it back (-1: none is left); otherwise null. */
  lastT: number | null;
}

interface RevisedRequest {
  after: number;
  upTo: number;
  fromS: number;
  toS: number;
}

/** A token's depth as shown at one moment. Later commits do not change it. */
export interface DepthView {
  /** What the position counts: FollowedDepth.commitHistory. */
  history: string;
  /** The view includes all commits up to this position. */
  position: number;
  /** Position of the token's newest revision; 0 if none is remembered. */
  lastRevision: number;
  /** Time of the newest snapshot at `nowS`; null if there is none. */
  newestT(nowS: number): number | null;
  /** Time of the first snapshot after `nowS`; null if there is none. */
  nextT(nowS: number): number | null;
  /** The next snapshots from a time up to now, ascending. */
  plan(request: { fromS: number; nowS: number; maxSnapshots: number }): PagePlan;
  /** Plans the snapshots at the given times; those without one are left out. */
  planAt(times: Iterable<number>): PagePlan;
  /**
   * The first times in `fromS <= t < toS` that revisions after `after` and up to `upTo` have changed, without those that
   * later ones changed too; null if some of these revisions are forgotten.
   */
  revised(request: RevisedRequest): Promise<RevisedTimes | null>;
}

/** Tokens' depth, and how commits change the shown snapshots. */
export interface FollowedDepth {
  /** The name of the sequence that positions count. */
  readonly commitHistory: string;
  readonly position: number;
  /**
   * Whether every revision after a position is remembered, or will be. In a cluster, the position may come from a node
   * that is ahead.
   */
  remembers(position: number): boolean;
  view(tokenId: number): Promise<DepthView>;
}

/** Stored segments by id. A new segment gets a greater id than all earlier ones. */
export interface SegmentSource {
  /** The last id that was assigned. */
  readonly lastSegmentId: number;
  /** The newest segments in the range, newest first, at most `limit`. */
  segmentsBetween(range: SegmentRange, limit: number): Promise<SegmentEntry[]>;
  /** Which of the ids are stored. */
  storedSegments(ids: readonly number[]): Promise<ReadonlySet<number>>;
}

/** Segments `above < id < below`. */
export interface SegmentRange {
  above: number;
  below: number;
  /** Whether to include tiny segments, which are likely to be joined soon. */
  tiny: boolean;
}

/** A stored segment, and the markets of its token. */
export interface SegmentEntry {
  segmentId: number;
  markets: readonly Market[];
}

/** A stored snapshot: row `row` of a segment. */
export interface SnapshotRef {
  segmentId: number;
  row: number;
  t: number;
  tier: Tier;
}

/** A token's newest snapshots at a moment. */
export interface NewestSnapshots {
  newest: SnapshotRef | null;
  /** The newest that is at least `delayS` old. */
  delayed: SnapshotRef | null;
  /** When the passage of time alone changes one of these; null: never. */
  nextChangeS: number | null;
}

/** Every token and its newest snapshots, from which the server builds its state in memory. */
export interface MarketSource extends Pick<DepthSource, 'token' | 'markets' | 'readSegments'> {
  /** Ids of all tokens, ascending; may miss tokens that a commit adds during the iteration. */
  tokenIds(): Iterable<number>;
  tokenById(tokenId: number): TokenRecord | null;
  newestSnapshots(tokenId: number, nowS: number, delayS: number): Promise<NewestSnapshots>;
  /** The newest snapshot at or before `atS` that pages show at `nowS`; null if there is none. */
  newestShownAt(tokenId: number, atS: number, nowS: number): Promise<SnapshotRef | null>;
  /** newestSnapshots() of every token that has snapshots, a few thousand tokens at a time. */
  allNewestSnapshots(
    nowS: number,
    delayS: number,
  ): AsyncIterable<ReadonlyMap<number, NewestSnapshots>>;
}

/** What a commit changed; listeners get it once readers see the change. */
export interface StoreChange {
  /** Tokens whose row or depth changed. */
  tokenIds: readonly number[];
  /** Mints whose DCA orders changed. */
  dcaTokens: readonly string[];
  /** Addresses (of either chain) whose limit orders changed. */
  limitTokens: readonly string[];
  /** Mints whose holder snapshots changed. */
  holderTokens: readonly string[];
  /** Whether any row of these datasets changed. */
  dlmmPools: boolean;
  dlmmHours: boolean;
  tokenHours: boolean;
}

/** The datasets whose rows are kept in a table of the same name. */
export const FLAT_DATASETS = [
  'dca_orders',
  'limit_orders',
  'dlmm_pools',
  'dlmm_hours',
  'token_hours',
] as const;
export type FlatDataset = (typeof FLAT_DATASETS)[number];

/** Active orders, neither closed nor used up, in no order. */
export interface ActiveOrders<Order> {
  of(tokenAddresses: readonly string[]): Promise<Order[]>;
  /** A few thousand at a time. */
  all(): AsyncIterable<Order[]>;
}

export interface OrderSource {
  readonly dca: ActiveOrders<DcaOrder>;
  readonly limit: ActiveOrders<LimitOrder>;
}

export interface LpSource {
  dlmmPools(): Promise<DlmmPool[]>;
  /** Rows of hours `fromHourS <= hour <= toHourS`, in no order. */
  dlmmHours(fromHourS: number, toHourS: number): Promise<PoolHours>;
  /** Hours of mainchain tokens, like dlmmHours(). */
  tokenHours(fromHourS: number, toHourS: number): Promise<TokenHours>;
}

/** Tokens' holder history, thinned (docs/definitions.md#holder-retention). */
export interface HolderSource {
  /** Times of a mint's stored snapshots, ascending. */
  times(tokenAddress: string): Promise<Uint32Array>;
  /**
   * The stored blocks that contain the snapshots at `times`, and the names of their owners, for
   * compute's decodeHolderBlock.
   */
  read(tokenAddress: string, times: readonly number[]): Promise<HolderBlocks>;
}

export interface HolderBlocks {
  names: OwnerNames;
  /** Each in a separate ArrayBuffer. */
  blocks: Uint8Array[];
}

/** A token that was requested before the store knew it. */
export interface QueuedToken extends TokenName {
  /** Epoch seconds of the first request. */
  requestedAtS: number;
  requests: number;
}

export interface TokenQueue {
  /**
   * Counts a request for an unknown token, and writes the count within a second.
   * @returns whether the token is new in the queue
   */
  request(chain: Chain, address: string): boolean;
  /** Oldest first. */
  list(): QueuedToken[];
}

/** A token by its symbol. */
export interface TokenSymbol extends TokenName {
  symbol: string;
}

export interface TokenSearch {
  /** Case does not matter, except in base58 addresses; '' finds all. */
  query: string;
  /** null: all. */
  chain: Chain | null;
  /** Epoch seconds: later snapshots do not count. */
  nowS: number;
  /** At most 1,000. */
  limit: number;
}

export interface FoundToken extends TokenName {
  symbol: string | null;
  name: string | null;
  /** Whether it has a score (docs/definitions.md#status). */
  isScored: boolean;
  /** Of its newest snapshot, otherwise of its row. */
  priceUsd: number | null;
  /** Times of its first and newest snapshot, epoch seconds; null without one. */
  firstT: number | null;
  lastT: number | null;
}

/** A token at a time, epoch seconds. */
export interface TokenMoment extends TokenName {
  t: number;
}

/** Names one token's snapshots of one tier. */
export type TierKey = RunKey;

/** Names one snapshot. */
export interface SnapshotKey extends TierKey {
  t: number;
}
