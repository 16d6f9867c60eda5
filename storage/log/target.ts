/** How a store applies the entries of a log. */
import type { Removed } from '../../compute/segment/remove.js';
import type { Frame } from '../bundle.js';
import type { KeyRecord } from '../contract.js';
import type { CommitReport } from '../operations.js';
import type { KeyUpdate, StoredKey } from '../keys/key-ring.js';
import type { Revocation } from '../keys/revocations.js';
import type { Entry } from './entry.js';
import type { LogMark } from './mark.js';
import type { Settings } from './settings.js';

/** An entry that may share a transaction with others. */
export type SharedEntry = Extract<Entry, { kind: 'bundle' | 'retirement' }>;

/** Each change is written together with its mark in one transaction. */
export interface LogTarget {
  /** Whether it holds neither tokens nor keys. */
  isEmpty(): boolean;
  bundle(frames: () => AsyncIterable<Frame>, mark: LogMark): Promise<CommitReport>;
  retirement(entry: Extract<Entry, { kind: 'retirement' }>, mark: LogMark): Promise<Removed>;
  /** Applies several entries in one transaction, with the result of applying one by one; if one fails, none is applied. */
  several(entries: readonly SharedEntry[], mark: LogMark): Promise<void>;
  key(stored: StoredKey, isNew: boolean, mark: LogMark): Promise<void>;
  keyUpdate(update: KeyUpdate, mark: LogMark): Promise<KeyRecord>;
  revocation(revocation: Revocation, mark: LogMark): Promise<KeyRecord>;
  settings(settings: Settings, mark: LogMark): Promise<void>;
  /** Writes the mark alone: the entry changes nothing. */
  pass(mark: LogMark): Promise<void>;
}
