/** What a command may ask of a store, whether it opened it itself or a running server keeps it. */
import type { Chain, Tier } from '../compute/market.js';
import type { IssuedKey, KeyRequest } from './keys/key-ring.js';
import type { KeyRecord, QueuedToken } from './seams.js';

/** Names one token's snapshots of one tier. */
export interface TierKey {
  chain: Chain;
  address: string;
  tier: Tier;
}

/** Names one snapshot. */
export interface SnapshotKey extends TierKey {
  t: number;
}

/** What committing a bundle changed. */
export interface CommitReport {
  tokens: number;
  segments: number;
}

export interface StoreOperations {
  /** Commits a finished bundle of the staging folder in one transaction. */
  commit(bundle: string): Promise<CommitReport>;
  /** Price of each stored snapshot, NaN where there is none: what --merge bins against. */
  snapshotPrices(keys: readonly SnapshotKey[]): Promise<Float64Array>;
  /** Times of the stored snapshots of one token and tier, ascending. */
  snapshotTimes(key: TierKey): Promise<Uint32Array>;
  /** How much is stored. */
  summary(): Promise<StoreSummary>;
  createKey(request: KeyRequest): Promise<IssuedKey>;
  listKeys(): Promise<KeyRecord[]>;
  rotateKey(id: string): Promise<IssuedKey>;
  revokeKey(id: string): Promise<KeyRecord>;
  /** The tokens that wait for data, oldest first. */
  listQueue(): Promise<QueuedToken[]>;
}

export interface StoreSummary {
  schemaVersion: number;
  tokens: number;
  segments: number;
  cells: number;
}
