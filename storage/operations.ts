/**
 * What a command may do with a store. The table below has each operation once; the contract of stores, the control
 * socket of a running server and the operations of a cluster's node are derived from it.
 */
import type { Tier } from '../compute/market.js';
import type { Removed } from '../compute/segment/remove.js';
import type {
  FoundToken,
  IssuedKey,
  KeyDayUsage,
  KeyPlans,
  KeyRecord,
  KeyRequest,
  KeyTerms,
  ListedKey,
  QueuedToken,
  SnapshotKey,
  TierKey,
  TokenMoment,
  TokenName,
  TokenSearch,
  TokenSymbol,
} from './contract.js';
import type { ArchiveWindow } from './archive/archived-day.js';
import type { ExportSource } from './export/source.js';
import type { Settings, SettingsChange } from './log/settings.js';

/** `F` is the operation's signature. */
interface Operation<By, F> {
  readonly by: By;
  readonly signature?: F;
}
/** An operation that a node passes to its store. */
const ofStore = <F>(): Operation<'store', F> => ({ by: 'store' });
/** An operation that a node performs itself, because other nodes take part. */
const ofNode = <F>(): Operation<'node', F> => ({ by: 'node' });
/** A change of what is stored, which a node makes through its cluster's log. */
const ofLog = <F>(): Operation<'log', F> => ({ by: 'log' });

const OPERATIONS = {
  /** Whether a node of a cluster performs the operations. */
  isNode: ofNode<() => Promise<boolean>>(),
  /** Commits a finished bundle of the staging folder in one transaction. */
  commit: ofLog<(bundle: string) => Promise<CommitReport>>(),
  /** Like commit(), with the same report and errors, but leaves the store unchanged. */
  rehearse: ofStore<(bundle: string) => Promise<CommitReport>>(),
  /** Price of each snapshot, NaN if it is not stored. */
  snapshotPrices: ofStore<(keys: readonly SnapshotKey[]) => Promise<Float64Array>>(),
  /** Price of each token's newest snapshot by a time, otherwise of its first one after it; NaN if none can be read. */
  pricesNear: ofStore<(moments: readonly TokenMoment[]) => Promise<Float64Array>>(),
  /** Times of the stored snapshots of one token and tier, ascending. */
  snapshotTimes: ofStore<(key: TierKey) => Promise<Uint32Array>>(),
  /** Tokens with snapshots of a tier before the tier's time. */
  tokensBefore: ofStore<(times: Readonly<Record<Tier, number>>) => Promise<TokenName[]>>(),
  /** Tokens whose symbol, name or address begins with a text, as GET /tokens finds and sorts them. */
  searchTokens: ofStore<(search: TokenSearch) => Promise<FoundToken[]>>(),
  /** Tokens with one of some symbols, given in lower case; the case of the tokens' symbols does not matter. */
  tokensOfSymbols: ofStore<(symbols: readonly string[]) => Promise<TokenSymbol[]>>(),
  /** Bytes of the database, its WAL and the log. */
  bytes: ofStore<() => Promise<number>>(),
  /**
   * Writes all commits into the database's file, then keeps the file unchanged until `released` aborts or the caller
   * disconnects, unless the WAL gets too long. One caller at a time.
   * @returns the position of the last entry of the log that the file includes; 0 if there is none
   */
  holdFile: ofStore<(released?: AbortSignal) => Promise<number>>(),
  /**
   * Takes the next step of a check of the whole store, or the first one if the cursor is null.
   * @param readsArchive whether it reads archived segments, too
   */
  checkStep: ofStore<(cursor: CheckCursor | null, readsArchive?: boolean) => Promise<CheckStep>>(),
  /** Takes one step that returns the database's free space to the disk. */
  shrink: ofStore<() => Promise<Shrunk>>(),
  summary: ofStore<() => Promise<StoreSummary>>(),
  createKey: ofLog<(request: KeyRequest) => Promise<IssuedKey>>(),
  /** The plans that keys can have, as the server has them, or the command that opened the store. */
  plans: ofStore<() => Promise<KeyPlans>>(),
  listKeys: ofStore<() => Promise<ListedKey[]>>(),
  /** Changes the given terms of a key, found by its id or its name. */
  updateKey: ofLog<(key: string, changes: Partial<KeyTerms>) => Promise<KeyRecord>>(),
  /** Replaces a key's text; the old one stays valid for `overlapS` seconds (default 0). */
  rotateKey: ofLog<(key: string, overlapS?: number) => Promise<IssuedKey>>(),
  revokeKey: ofLog<(key: string) => Promise<KeyRecord>>(),
  /** Calls in a month (202611) of up to 1,000 keys with ids after `afterId`, in the order of the ids. */
  monthUsage: ofStore<(month: number, afterId: string) => Promise<KeyDayUsage[]>>(),
  /** Changes the given settings of the cluster. */
  changeSettings: ofLog<(changed: Settings) => Promise<SettingsChange>>(),
  /** Detaches a store from its cluster's log; null if it followed none. */
  leaveLog: ofNode<() => Promise<Departure | null>>(),
  /** Lets retention delete everything due by `toS` (epoch seconds), however much that is. */
  allowRetention: ofStore<(toS: number) => Promise<void>>(),
  /** What is in the archive, and what waits to be. */
  archiveStatus: ofStore<() => Promise<ArchiveStatus>>(),
  /** Tries the archive's place and its newest object. @returns why they cannot be read; null: they can, or there is none */
  archiveProblem: ofStore<() => Promise<string | null>>(),
  /**
   * Archives the next day that is due; null if none is left. The first call of a run (`beginsRun`) also tries those days
   * again that could not be archived before.
   */
  archiveNext: ofLog<(beginsRun: boolean) => Promise<ArchivedNext | null>>(),
  /** The archived windows with a snapshot in `fromS <= t < toS`, of one token or of all. */
  archivedWindows:
    ofStore<(token: TokenName | null, fromS: number, toS: number) => Promise<ArchiveWindow[]>>(),
  /** Brings archived snapshots back into the store. @returns how many segments that were */
  restoreArchived: ofLog<(window: ArchiveWindow) => Promise<number>>(),
  /**
   * Removes some of the objects that nothing has named within the archive's grace, nor since `keepSinceS`, which the
   * store remembers; null: as last given. Refuses if the objects are another store's, unless this one takes them over.
   */
  collectObjects: ofNode<(keepSinceS: number | null, takesOver: boolean) => Promise<number>>(),
  /**
   * Removes objects that were written before the archive's grace, and which the store has never named: those of processes
   * that were killed before the log had their entry, but also those of other stores. One step of the list, after an object
   * or from the first one on. Refuses unless the objects are this store's.
   */
  sweepObjects: ofNode<(after: string | null) => Promise<SweptObjects>>(),
  /** Tells the server how a collector's sources do. */
  reportSources: ofStore<(report: CollectorReport) => Promise<void>>(),
  /** See ExportSource. */
  exportTokens: ofStore<ExportSource['exportTokens']>(),
  exportDirectory: ofStore<ExportSource['exportDirectory']>(),
  exportBlocks: ofStore<ExportSource['exportBlocks']>(),
  exportTableParts: ofStore<ExportSource['exportTableParts']>(),
  exportTableRows: ofStore<ExportSource['exportTableRows']>(),
  exportHolderTokens: ofStore<ExportSource['exportHolderTokens']>(),
  exportHolderBlocks: ofStore<ExportSource['exportHolderBlocks']>(),
  exportHolderNames: ofStore<ExportSource['exportHolderNames']>(),
  exportHolderBlock: ofStore<ExportSource['exportHolderBlock']>(),
  exportPosition: ofStore<ExportSource['exportPosition']>(),
  exportRevised: ofStore<ExportSource['exportRevised']>(),
  /** The tokens in the queue, oldest first. */
  listQueue: ofStore<() => Promise<QueuedToken[]>>(),
};

type Operations = typeof OPERATIONS;
export type OperationName = keyof Operations;

/** What a command may do with a store that it, or a running server, has opened. */
export type StoreOperations = {
  [N in OperationName]: Operations[N] extends Operation<string, infer F> ? F : never;
};

/** Runs `body` with the store: opened for this purpose, or through the server that has it open. */
export type UseStore = <T>(body: (store: StoreOperations) => Promise<T>) => Promise<T>;

/** What a node of a cluster performs itself. */
type NodeOperations = {
  [N in OperationName as Operations[N] extends { by: 'store' } ? never : N]: StoreOperations[N];
};

export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name);
}

/** Whether an operation changes what is stored: if its outcome is unknown, the change may have been made. */
export function isChange(name: OperationName): boolean {
  return OPERATIONS[name].by === 'log';
}

/** All operations, each made from its name. */
export function operationsBy(make: (name: OperationName) => unknown): StoreOperations {
  const names = Object.keys(OPERATIONS) as OperationName[];
  return Object.fromEntries(names.map((name) => [name, make(name)])) as StoreOperations;
}

/** The operations of a node: its own, and otherwise those of its store. */
export function operationsOfNode(store: StoreOperations, own: NodeOperations): StoreOperations {
  return operationsBy((name) =>
    OPERATIONS[name].by === 'store' ? store[name].bind(store) : own[name as keyof NodeOperations],
  );
}

/** Stored snapshots that a commit replaced, and their cells (docs/definitions.md#replaced). */
export interface Replaced {
  snapshots: number;
  cellsBefore: number;
  cellsAfter: number;
}

/** Where a store left its cluster's log. */
export interface Departure {
  /** The last entry that it had applied. */
  position: number;
  /** The cluster's settings, which the store's server no longer takes from the log. */
  settings: Settings;
}

/** What committing a bundle changed. */
export interface CommitReport {
  tokens: number;
  segments: number;
  replaced: Replaced;
  deleted: Removed;
}

/** The database's file after a step of shrinking it. */
export interface Shrunk {
  /** Bytes of the file. */
  bytes: number;
  /** Unused bytes of the file. */
  freeBytes: number;
  /** Whether no further step can make it smaller. */
  isDone: boolean;
}

/** What a store has in its archive. */
export interface ArchiveStatus {
  /** Where its objects are; null: it has no archive. */
  place: string | null;
  objects: number;
  /** Of all objects that segments name. */
  bytes: number;
  /** Objects that nothing names any more, which stay for the archive's grace. */
  unused: number;
  /** Days of a token and tier that are due; null if this process archives nothing. */
  due: number | null;
  /** Why archiving in the background failed, or a day of it, when the process last tried; null: nothing failed. */
  lastError: string | null;
  /** Since the process's start: reads of objects, their bytes, and failures. */
  reads: number;
  readBytes: number;
  failures: number;
  /** Files that keep blocks of objects beside the store. */
  files: number;
  fileBytes: number;
}

/** A step of looking for objects that the store has never named. */
export interface SweptObjects {
  removed: number;
  /** The last object that was looked at; null after the last step. */
  next: string | null;
}

/** A day that was archived, or could not be. */
export interface ArchivedNext {
  token: TokenName;
  tier: Tier;
  dayS: number;
  /** 0 if it could not be archived. */
  bytes: number;
  /** Why it could not be archived; null if it was. */
  failure: string | null;
  /** Days that are still due. */
  left: number;
}

/** How the sources of a collector do; counts are since its report before. */
export interface CollectorReport {
  /** Seconds until the next report. */
  everyS: number;
  /** Snapshots stored. */
  snapshots: number;
  /** Whether each source had a sample. */
  sources: { id: string; isUp: boolean }[];
  /** How often a source started over, and why. */
  resyncs: { source: string; cause: string; count: number }[];
}

/** A fault in a store. */
export interface Damage {
  dataset: string;
  /** CHAIN:ADDRESS; null if there is no token, or an unknown one. */
  token: string | null;
  /** First and last time of the damaged data. */
  from: number | null;
  to: number | null;
  what: string;
}

/** Where a check resumes. */
export interface CheckCursor {
  part: number;
  after: number;
}

export interface CheckStep {
  damages: Damage[];
  /** Number of segments read. */
  segments: number;
  /** Files to which nothing refers; they are harmless. */
  strays: string[];
  /** Completed share of the check, 0 to 1. */
  done: number;
  /** null after the last step. */
  next: CheckCursor | null;
}

export interface StoreSummary {
  tokens: number;
  segments: number;
  cells: number;
}
