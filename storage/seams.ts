/**
 * What everything above `storage` may ask of it: a token's segments by time, and keys and calls.
 * DuckDB stands behind both today; nothing reaches around them.
 */
import type { Chain, Market, Tier } from '../compute/market.js';
import type { StoredBlock } from '../compute/segment/stored-block.js';
import type { OwnerNames } from '../compute/holders/history.js';
import type { DcaOrder } from '../compute/orders/dca-order.js';
import type { LimitOrder } from '../compute/orders/limit-order.js';
import type { DlmmPool } from '../compute/lp/dlmm-pool.js';
import type { Coverage } from './catalog/token-row.js';

/** A token that a tokens row or a snapshot has named. */
export interface TokenRecord {
  tokenId: number;
  chain: Chain;
  address: string;
  symbol: string | null;
  name: string | null;
  /** Tokens with the same asset are legs of one asset. */
  asset: string | null;
}

/** One visible snapshot of a plan: row `row` of segment `segmentIds[segment]`. */
export interface PlannedSnapshot {
  segment: number;
  row: number;
  t: number;
  tier: Tier;
  /** Cells of the snapshot in the default band, ungrouped. */
  bandCells: number;
}

/** The next visible snapshots of a token from a moment on, ascending in `t`. */
export interface PagePlan {
  /** Ids in the order that `PlannedSnapshot.segment` indexes. */
  segmentIds: number[];
  snapshots: PlannedSnapshot[];
  /** `t` of the first visible snapshot after the planned ones within the window, or null. */
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
  /** At most this many snapshots are planned. */
  maxSnapshots: number;
}

/** A planned segment was replaced since: plan again. */
export class SegmentGoneError extends Error {}

export interface DepthSource {
  /** The token's record, or null where nothing has named it. `address` is in canonical form. */
  token(chain: Chain, address: string): TokenRecord | null;
  /** The asset's leg on mainchain for an evmchain token that has one, else null. */
  mainchainLeg(token: TokenRecord): TokenRecord | null;
  plan(request: PlanRequest): Promise<PagePlan>;
  /**
   * The segments' LZ4 blocks in the order of `ids`, each in an ArrayBuffer of its own.
   * @throws SegmentGoneError
   */
  readSegments(ids: readonly number[]): Promise<Uint8Array[]>;
  /**
   * The same, for callers who hold the blocks against their checksums in another thread.
   * @throws SegmentGoneError
   */
  readStoredBlocks(ids: readonly number[]): Promise<StoredBlock[]>;
  /** CRC-32 of the blocks of those of the segments that are stored, by id. */
  segmentChecksums(ids: readonly number[]): Promise<Map<number, number>>;
}

/** All that is known of a token; a field without its data is null. */
export interface TokenDetails extends TokenRecord {
  icon: string | null;
  decimals: number | null;
  coverage: Coverage;
  /** Of the tokens row alone: a snapshot's price takes precedence. */
  priceUsd: number | null;
  mcap: number | null;
  liquidityUsd: number | null;
  lastRefreshS: number | null;
}

/** Where a stored snapshot lies. */
export interface SnapshotPlace {
  segmentId: number;
  row: number;
  t: number;
  tier: Tier;
}

/** A token's newest snapshots at a moment. */
export interface NewestPlaces {
  newest: SnapshotPlace | null;
  /** The newest that is at least as old as asked for. */
  delayed: SnapshotPlace | null;
  /** When, by the clock alone, one of them will be another one; null: not before a commit. */
  nextChangeS: number | null;
}

/** What the state in memory is made of: every token, and its newest snapshots. */
export interface MarketSource {
  /** Ids of all tokens, ascending; ones that a commit adds meanwhile may be missing. */
  tokenIds(): Iterable<number>;
  /** Whether anything has named the token. `address` is in canonical form. */
  hasRecord(chain: Chain, address: string): boolean;
  tokenDetails(tokenId: number): TokenDetails | null;
  /** The token's markets in order of first arrival; segments' market columns index it. */
  markets(tokenId: number): readonly Market[];
  newestPlaces(tokenId: number, nowS: number, delayS: number): Promise<NewestPlaces>;
  /** The same for every token that has a snapshot, some thousands at a time. */
  allNewestPlaces(nowS: number, delayS: number): AsyncIterable<ReadonlyMap<number, NewestPlaces>>;
  /** As DepthSource has it. @throws SegmentGoneError */
  readSegments(ids: readonly number[]): Promise<Uint8Array[]>;
}

/** What a commit changed, told once readers see it. */
export interface StoreChange {
  /** Tokens whose row or depth changed. */
  tokenIds: readonly number[];
  /** Mints whose DCA orders changed. */
  dcaTokens: readonly string[];
  /** Addresses (either chain's) whose limit orders changed. */
  limitTokens: readonly string[];
  /** Mints whose holder snapshots changed. */
  holderTokens: readonly string[];
  /** Whether any DLMM pool, any hour of one, any hour of a token changed. */
  dlmmPools: boolean;
  dlmmHours: boolean;
  tokenHours: boolean;
}

/** A change of nothing. */
export function noChange(): StoreChange {
  return {
    tokenIds: [],
    dcaTokens: [],
    limitTokens: [],
    holderTokens: [],
    dlmmPools: false,
    dlmmHours: false,
    tokenHours: false,
  };
}

/** The active orders: those that are neither closed nor used up. */
export interface OrderSource {
  dcaOrders(tokenAddresses: readonly string[]): Promise<DcaOrder[]>;
  /** Some thousands at a time, in no order. */
  allDcaOrders(): AsyncIterable<DcaOrder[]>;
  limitOrders(tokenAddresses: readonly string[]): Promise<LimitOrder[]>;
  allLimitOrders(): AsyncIterable<LimitOrder[]>;
}

/** Hours of pools as columns; row i is index i of each. */
export interface DlmmHourColumns {
  pubkeys: string[];
  /** Index into `pubkeys`. */
  pool: Uint32Array;
  /** Start of the hour, epoch seconds. */
  hour: Uint32Array;
  feesUsd: Float64Array;
  volumeUsd: Float64Array;
  tvlUsd: Float64Array;
}

/** Hours of mainchain tokens as columns; row i is index i of each. */
export interface TokenHourColumns {
  addresses: string[];
  /** Index into `addresses`. */
  token: Uint32Array;
  /** Start of the hour, epoch seconds. */
  hour: Uint32Array;
  organicVolumeUsd: Float64Array;
}

export interface LpSource {
  dlmmPools(): Promise<DlmmPool[]>;
  /** Rows of hours `fromHourS <= hour <= toHourS`, in no order. */
  dlmmHours(fromHourS: number, toHourS: number): Promise<DlmmHourColumns>;
  /** The same of mainchain tokens. */
  tokenHours(fromHourS: number, toHourS: number): Promise<TokenHourColumns>;
}

/** A token's holder history: what is stored of it after thinning. */
export interface HolderSource {
  /** Times of a mint's stored snapshots, ascending; empty where it has none. */
  times(tokenAddress: string): Promise<Uint32Array>;
  /**
   * The stored blocks that hold the snapshots at `times`, and the names of their owners, for
   * compute's decodeHolderBlock.
   */
  read(tokenAddress: string, times: readonly number[]): Promise<HolderBlocks>;
}

export interface HolderBlocks {
  names: OwnerNames;
  /** Each in an ArrayBuffer of its own. */
  blocks: Uint8Array[];
}

/** A token that was asked for before anything has named it, and waits for data. */
export interface QueuedToken {
  chain: Chain;
  address: string;
  /** Epoch seconds of the first request. */
  requestedAtS: number;
  requests: number;
}

export interface TokenQueue {
  /**
   * Counts a request for a token without a record; it is written within the second.
   * @returns whether the token is new in the queue
   */
  request(chain: Chain, address: string): boolean;
  /** The tokens that wait, oldest first. */
  list(): QueuedToken[];
}

export const KEY_TIERS = ['premium', 'enterprise'] as const;
export type KeyTier = (typeof KEY_TIERS)[number];

/** A key as it is listed: never the key itself. */
export interface KeyRecord {
  id: string;
  name: string | null;
  tier: KeyTier;
  /** Prefix and last four characters, enough to recognise a key one has. */
  hint: string;
  /** Requests a minute in place of the plan's figures: null = the plan's, Infinity = unlimited. */
  requestsPerMinute: number | null;
  /** Calls a month in place of the plan's: null = the plan's, Infinity = unlimited. */
  monthlyQuota: number | null;
  createdAtS: number;
  revokedAtS: number | null;
}

export interface KeySource {
  /** The live key that this text is, or null where it is none, revoked or mistyped. */
  verify(key: string): KeyRecord | null;
}

/** Calls of one key in one UTC month. */
export interface UsageCounter {
  readonly calls: number;
  /** Counts at once; it is written within the second. */
  add(calls: number): void;
}

export interface UsageSource {
  /** The count of a key in a month, as 202611; the same object for the same month. */
  counter(keyId: string, month: number): UsageCounter;
}
