/**
 * An open data directory: what commands and the server use of one. `opening.ts` makes its parts. A change goes from here
 * to the log's writer (`log/file-log-writer.ts`), or comes from a cluster's log, and `applied-log.ts` applies it.
 */
import { randomUUID } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Tier } from '../compute/market.js';
import type { Removed } from '../compute/segment/remove.js';
import { applyBundle } from './apply-bundle.js';
import { type BundleWriter, readBundle } from './bundle.js';
import type { StoreEvents } from './commit.js';
import { Checker } from './check/checker.js';
import type {
  IssuedKey,
  KeyDayUsage,
  KeyRecord,
  FoundToken,
  KeyRequest,
  KeyTerms,
  KeyPlans,
  ListedKey,
  LpSource,
  OrderSource,
  QueuedToken,
  SnapshotKey,
  TierKey,
  TokenMoment,
  TokenName,
  TokenSearch,
  TokenSymbol,
} from './contract.js';
import type {
  CollectorReport,
  CheckCursor,
  CheckStep,
  CommitReport,
  Departure,
  Shrunk,
  StoreOperations,
  StoreSummary,
  ArchivedNext,
  ArchiveStatus,
  SweptObjects,
} from './operations.js';
import {
  DATABASE_FILE,
  LOG_FOLDER,
  PROBE_FILE,
  removeMadeDirectories,
  WAL_FILE,
} from './data-directory.js';
import { fileBytes } from './disk.js';
import type { Archive } from './archive/archive.js';
import type { ArchivedDay, ArchiveWindow } from './archive/archived-day.js';
import { type ArchivedNeed, ArchivedNeeds } from './archive/archived-needs.js';
import { ObjectFaultError } from './archive/objects.js';
import { bundleOfArchived, lostObject } from './archive/restored-bundle.js';
import type { Archiver } from './archive/archiver.js';
import { ownerOf } from './archive/owner.js';
import { DepthReader } from './depth/depth-reader.js';
import { type ExportSource, StoreExports } from './export/source.js';
import { type Cutoffs, nextRetentionStep, type RetentionStep } from './depth/retention-steps.js';
import type { DiskRoom } from './duckdb/disk-room.js';
import { putBackWal } from './duckdb/opening.js';
import { shrinkStep } from './duckdb/shrink.js';
import { readRows, readRowsOf } from './flat-columns.js';
import type { AppliedLog } from './applied-log.js';
import { FileLog, removeLog } from './log/file-log.js';
import { FileLogWriter } from './log/file-log-writer.js';
import type { Settings, SettingsChange } from './log/settings.js';
import { HolderReader } from './holders/holder-tokens.js';
import type { KeyRing } from './keys/key-ring.js';
import type { UsageBook } from './keys/usage-book.js';
import { type LogMark, markOf } from './log/mark.js';
import { dlmmHours } from './lp/dlmm-hours.js';
import { dlmmPools } from './lp/dlmm-pools.js';
import { tokenHours } from './lp/token-hours.js';
import { readMeta, writeMeta } from './meta.js';
import {
  backgroundFailures,
  openParts,
  removeFiles,
  type StoreOptions,
  type StoreParts,
} from './opening.js';
import { DCA_ORDERS, dcaOrder } from './orders/dca-orders.js';
import { LIMIT_ORDERS, limitOrder } from './orders/limit-orders.js';
import type { WaitingTokens } from './queue.js';
import { searchTokens, tokensOfSymbols } from './token-search.js';
import { DiskFullError, InputError, isDiskFull, messageOf } from './errors.js';

/** Size of what probe() writes: one block of a disk. */
const PROBE_BYTES = 4096;
/** The key of `meta` for the time up to which retention may delete everything due. */
const ALLOWANCE_KEY = 'retention_allowed_to';

/** Nobody can know whether the store has everything that was acknowledged. */
class LogGoneError extends InputError {
  constructor(directory: string, why: string) {
    const wal = path.join(directory, WAL_FILE);
    super(
      `${wal} cannot be read by DuckDB (${why}), and the entries of ${path.join(directory, LOG_FOLDER)} are gone: put either back, or restore a backup; to go on without what was stored last, move ${wal} away`,
    );
  }
}

export class Store implements StoreOperations {
  readonly directory: string;
  readonly depth: DepthReader;
  readonly orders: OrderSource;
  readonly lp: LpSource;
  readonly holders: HolderReader;
  readonly exportTokens: ExportSource['exportTokens'];
  readonly exportDirectory: ExportSource['exportDirectory'];
  readonly exportBlocks: ExportSource['exportBlocks'];
  readonly exportTableParts: ExportSource['exportTableParts'];
  readonly exportTableRows: ExportSource['exportTableRows'];
  readonly exportHolderTokens: ExportSource['exportHolderTokens'];
  readonly exportHolderBlocks: ExportSource['exportHolderBlocks'];
  readonly exportHolderNames: ExportSource['exportHolderNames'];
  readonly exportHolderBlock: ExportSource['exportHolderBlock'];
  readonly exportPosition: ExportSource['exportPosition'];
  readonly exportRevised: ExportSource['exportRevised'];
  readonly keys: KeyRing;
  readonly usage: UsageBook;
  readonly queue: WaitingTokens;
  readonly events: EventEmitter<StoreEvents>;
  /** What the store has applied of its log. */
  readonly applied: AppliedLog;
  /** Makes the store's changes; null if they come from a cluster's log. */
  private writer: FileLogWriter | null = null;

  private constructor(
    private readonly parts: StoreParts,
    private readonly options: StoreOptions,
  ) {
    const { database, catalog, directories, holderTokens } = parts;
    this.directory = parts.directory;
    this.keys = parts.keys;
    this.usage = parts.usage;
    this.queue = parts.queue;
    this.events = parts.events;
    this.applied = parts.applied;
    this.depth = new DepthReader(database, catalog, directories, parts.revisions, parts.archive);
    this.orders = {
      dca: {
        of: (tokens) => readRowsOf(database, DCA_ORDERS, dcaOrder, tokens),
        all: () => readRows(database, DCA_ORDERS, dcaOrder),
      },
      limit: {
        of: (tokens) => readRowsOf(database, LIMIT_ORDERS, limitOrder, tokens),
        all: () => readRows(database, LIMIT_ORDERS, limitOrder),
      },
    };
    this.lp = {
      dlmmPools: () => dlmmPools(database),
      dlmmHours: (fromHourS, toHourS) => dlmmHours(database, fromHourS, toHourS),
      tokenHours: (fromHourS, toHourS) => tokenHours(database, fromHourS, toHourS),
    };
    this.holders = new HolderReader(database, holderTokens);
    const exports = new StoreExports({ database, catalog, directories, depth: this.depth });
    this.exportTokens = (afterId) => exports.exportTokens(afterId);
    this.exportDirectory = (request) => exports.exportDirectory(request);
    this.exportBlocks = (ids) => exports.exportBlocks(ids);
    this.exportTableParts = (...of) => exports.exportTableParts(...of);
    this.exportTableRows = (...of) => exports.exportTableRows(...of);
    this.exportHolderTokens = (after) => exports.exportHolderTokens(after);
    this.exportHolderBlocks = (address) => exports.exportHolderBlocks(address);
    this.exportHolderNames = (...of) => exports.exportHolderNames(...of);
    this.exportHolderBlock = (id) => exports.exportHolderBlock(id);
    this.exportPosition = () => exports.exportPosition();
    this.exportRevised = (...of) => exports.exportRevised(...of);
  }

  /**
   * Opens a data directory, creating it if needed.
   * @throws StoreBusyError if another process has it open
   * @throws InputError if it is damaged, not a store, or of another schema
   */
  static async open(directory: string, options: StoreOptions): Promise<Store> {
    const store = new Store(await openParts(directory, options), options);
    try {
      await store.beginLog();
      return store;
    } catch (error) {
      await store.close();
      if (error instanceof LogGoneError) await putBackWal(path.join(directory, DATABASE_FILE));
      throw error;
    }
  }

  /** Opens the store's own log, and applies what an earlier process has appended and not applied. */
  private async beginLog(): Promise<void> {
    const { parts, directory, options } = this;
    if (this.mark !== null) return this.dropLog();
    const { ownMark } = this.applied;
    // A store's first log counts the positions that clients already have.
    const newId = ownMark === null ? this.depth.commitHistory : randomUUID();
    const { log, missed } = await FileLog.open(directory, ownMark, newId);
    if (parts.database.rejectedWal !== null && ownMark !== null && log.isEmpty)
      throw new LogGoneError(directory, parts.database.rejectedWal);
    const writer = new FileLogWriter({
      store: this,
      database: parts.database,
      log,
      onDropped: backgroundFailures(options, 'applying a change in the log'),
      onWaiting: options.onWaiting,
    });
    this.applied.ownLogId = log.id;
    const onError = backgroundFailures(options, 'removing entries of the log');
    parts.database.wal.onCheckpointed = () => void writer.trim().catch(onError);
    parts.database.wal.entryBytes = () => log.bytes;
    this.writer = writer;
    await writer.begin(missed);
  }

  /** Removes the log that a single server had before it joined a cluster, once the file has all of its entries. */
  private async dropLog(): Promise<void> {
    const { database } = this.parts;
    if (!existsSync(path.join(this.directory, LOG_FOLDER))) return;
    await database.wal.writeIfRoom().then(
      () => removeLog(this.directory),
      (error: unknown) => {
        // The next opening tries again.
        if (!(error instanceof DiskFullError)) throw error;
      },
    );
  }

  /** What makes changes. @throws InputError if they come from a cluster's log */
  private get ownWriter(): FileLogWriter {
    this.applied.refuseOtherChanges();
    if (this.writer === null) throw new Error('a store that has left its log must be opened again');
    return this.writer;
  }

  /** @throws StoreUnavailableError while changes in the log wait to be applied */
  checkApplied(): void {
    this.writer?.checkApplied();
  }

  /** Bytes of the database, its WAL and the log. */
  async bytes(): Promise<number> {
    const [database, wal] = [DATABASE_FILE, WAL_FILE].map((name) =>
      fileBytes(path.join(this.directory, name)),
    );
    return (await database) + (await wal) + (this.writer?.bytes ?? 0);
  }

  /** The store's disk, and what had to wait for room on it. */
  get room(): DiskRoom {
    return this.parts.database.wal.room;
  }

  /**
   * Checks that the store can be read and written. A full disk passes: DiskRoom.checkCommits() reports it.
   * @throws Error if the store cannot be read, or if its directory cannot be written
   */
  async probe(): Promise<void> {
    this.parts.database.checkFile();
    await this.parts.database.rows('SELECT count(*) FROM meta');
    const file = path.join(this.directory, PROBE_FILE);
    await writeFile(file, new Uint8Array(PROBE_BYTES))
      .finally(() => rm(file, { force: true }))
      .catch(async (error: unknown) => {
        if (!isDiskFull(error)) throw error;
        await this.room.noteFull();
      });
  }

  isNode(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async commit(bundle: string): Promise<CommitReport> {
    return this.ownWriter.commit(bundle);
  }

  rehearse(bundle: string): Promise<CommitReport> {
    const rehearsing = this.parts.commits.rehearse(async (tools) => {
      const frames = readBundle(this.directory, bundle);
      const { segments, replaced, deleted } = await applyBundle(frames, tools);
      return { tokens: tools.stage.touched.length, segments, replaced, deleted };
    });
    return rehearsing.catch(async (error: unknown) => {
      if (!(error instanceof ObjectFaultError)) throw error;
      const needs = this.archivedNeeds();
      for await (const frame of readBundle(this.directory, bundle)) await needs.addFrame(frame);
      throw await lostObject(error, [...needs.groups()].flat(), this.parts);
    });
  }

  async tokensBefore(cutoffs: Cutoffs): Promise<TokenName[]> {
    const ids = await this.parts.directories.before(cutoffs);
    return ids.flatMap((id) => {
      const row = this.parts.catalog.tokenById(id)?.row;
      return row === undefined ? [] : { chain: row.chain, address: row.address };
    });
  }

  searchTokens(search: TokenSearch): Promise<FoundToken[]> {
    return searchTokens({ ...this.parts, depth: this.depth }, search);
  }

  tokensOfSymbols(symbols: readonly string[]): Promise<TokenSymbol[]> {
    return tokensOfSymbols(this.parts.database, symbols);
  }

  /** What collects the archived segments that a change needs. */
  archivedNeeds(): ArchivedNeeds {
    return new ArchivedNeeds(this.parts.catalog, this.parts.directories);
  }

  bundleOfArchived(needs: readonly ArchivedNeed[]): Promise<BundleWriter> {
    return bundleOfArchived(needs, this.parts);
  }

  /**
   * Takes one step of retention for a token, in one transaction.
   * @returns what it deleted; null if nothing was left to do
   */
  async retire(token: TokenName, cutoffs: Cutoffs, made: readonly Tier[]): Promise<Removed | null> {
    return this.ownWriter.retire(token, cutoffs, made);
  }

  /** The retention step that is due for a token; null if none is. */
  async dueStep(
    { chain, address }: TokenName,
    cutoffs: Cutoffs,
    made: readonly Tier[],
  ): Promise<RetentionStep | null> {
    const { catalog, directories } = this.parts;
    const entry = catalog.token(chain, address);
    return entry ? nextRetentionStep(await directories.get(entry.tokenId), cutoffs, made) : null;
  }

  async allowRetention(toS: number): Promise<void> {
    await this.parts.commits.exclusive(() =>
      this.parts.database.transaction((tx) => writeMeta(tx, ALLOWANCE_KEY, String(toS))),
    );
  }

  /** The time last passed to allowRetention(); 0 if there was none. */
  async retentionAllowance(): Promise<number> {
    return Number((await readMeta(this.parts.database)).get(ALLOWANCE_KEY) ?? 0);
  }

  /** The store's position in its cluster's log; null if it follows none. */
  get mark(): LogMark | null {
    return this.applied.mark;
  }

  async changeSettings(changed: Settings): Promise<SettingsChange> {
    this.applied.refuseOtherChanges();
    const names = Object.keys(changed).join(', ');
    return Promise.reject(
      new InputError(
        `${this.directory} belongs to no cluster: change ${names} in its configuration`,
      ),
    );
  }

  async leaveLog(): Promise<Departure | null> {
    const { mark } = this;
    if (mark === null) return null;
    // The entries of an earlier log must not be applied again.
    await this.parts.database.wal.writeIfRoom();
    await removeLog(this.directory);
    // The last step that can fail: only its result has the settings.
    const departure = await this.applied.leave(mark);
    await this.beginLog();
    return departure;
  }

  /** @param released ends the hold; otherwise closing the store does */
  async holdFile(released?: AbortSignal): Promise<number> {
    await this.writer?.settled();
    await this.usage.flush();
    const giveBack = await this.parts.database.wal.hold();
    released?.addEventListener('abort', giveBack, { once: true });
    if (released?.aborted === true) giveBack();
    return this.parts.commits
      .exclusive(async () => {
        await this.parts.database.wal.writeIfRoom();
        return markOf(await readMeta(this.parts.database))?.position ?? 0;
      })
      .catch((error: unknown) => {
        giveBack();
        throw error;
      });
  }

  checkStep(cursor: CheckCursor | null, readsArchive = false): Promise<CheckStep> {
    const { database, archive } = this.parts;
    const { outlineBlock } = this.options;
    const archived = readsArchive ? archive : null;
    return new Checker(database, this.directory, archived, outlineBlock).step(cursor);
  }

  async shrink(): Promise<Shrunk> {
    const file = path.join(this.directory, DATABASE_FILE);
    const giveBack = await this.parts.database.wal.hold();
    try {
      return await shrinkStep(this.parts.database, file, (body) =>
        this.parts.commits.exclusive(body),
      );
    } finally {
      giveBack();
    }
  }

  snapshotPrices(keys: readonly SnapshotKey[]): Promise<Float64Array> {
    return this.depth.snapshotPrices(keys);
  }

  pricesNear(moments: readonly TokenMoment[]): Promise<Float64Array> {
    return this.depth.pricesNear(moments);
  }

  snapshotTimes(key: TierKey): Promise<Uint32Array> {
    return this.depth.snapshotTimes(key);
  }

  async summary(): Promise<StoreSummary> {
    const [[segments, cells]] = await this.parts.database.rows(
      'SELECT count(*), coalesce(sum(cells), 0)::BIGINT FROM segments',
    );
    return {
      tokens: this.parts.catalog.tokenCount,
      segments: segments as number,
      cells: cells as number,
    };
  }

  async createKey(request: KeyRequest): Promise<IssuedKey> {
    return this.ownWriter.createKey(request);
  }

  plans(): Promise<KeyPlans> {
    return Promise.resolve(this.keys.plans);
  }

  listKeys(): Promise<ListedKey[]> {
    const listed = this.keys.list();
    return Promise.resolve(
      listed.map((record) => ({ ...record, lastUsedS: this.usage.lastUsedS(record.id) })),
    );
  }

  async updateKey(key: string, changes: Partial<KeyTerms>): Promise<KeyRecord> {
    return this.ownWriter.updateKey(key, changes);
  }

  async rotateKey(key: string, overlapS?: number): Promise<IssuedKey> {
    return this.ownWriter.rotateKey(key, overlapS);
  }

  monthUsage(month: number, afterId: string): Promise<KeyDayUsage[]> {
    return this.usage.ofKeys(month, afterId);
  }

  async revokeKey(key: string): Promise<KeyRecord> {
    return this.ownWriter.revokeKey(key);
  }

  reportSources(report: CollectorReport): Promise<void> {
    this.events.emit('sources', report);
    return Promise.resolve();
  }

  /** Reads archived blocks. */
  get archived(): Archive {
    return this.parts.archive;
  }

  /** null: this process archives nothing. */
  get archiver(): Archiver | null {
    return this.parts.archiver;
  }

  async archiveStatus(): Promise<ArchiveStatus> {
    const { archive, archiver, database } = this.parts;
    return {
      ...(await archive.status(database)),
      due: (await archiver?.due())?.length ?? null,
      lastError: archiver?.lastError ?? null,
    };
  }

  async archiveProblem(): Promise<string | null> {
    const { archive, database } = this.parts;
    const { objects } = archive;
    if (objects === null) return null;
    try {
      await ownerOf(objects);
      await archive.tryNewest(database);
      archive.isUnreadable = false;
      return null;
    } catch (error) {
      archive.isUnreadable = true;
      return messageOf(error);
    }
  }

  /** Has the store's log name an object of the archive. */
  archive(day: ArchivedDay): Promise<number[] | null> {
    return this.ownWriter.archive(day);
  }

  async archiveNext(beginsRun: boolean): Promise<ArchivedNext | null> {
    const { ownWriter } = this;
    return this.archiverOfCommands.next((day) => ownWriter.archive(day), { beginsRun });
  }

  /** @throws InputError if this process archives nothing */
  get archiverOfCommands(): Archiver {
    if (this.archiver !== null) return this.archiver;
    throw new InputError(
      `${this.directory}: no archive is configured: give --archive-url (to the server, if one runs)`,
    );
  }

  async archivedWindows(
    token: TokenName | null,
    fromS: number,
    toS: number,
  ): Promise<ArchiveWindow[]> {
    const { archive, catalog, database } = this.parts;
    const known = token && catalog.token(token.chain, token.address);
    if (known === undefined) return [];
    const windows = await archive.windows(database, known?.tokenId ?? null, [fromS, toS]);
    return windows.flatMap(({ tokenId, ...window }) => {
      const row = catalog.tokenById(tokenId)?.row;
      return row ? [{ ...window, token: { chain: row.chain, address: row.address } }] : [];
    });
  }

  async restoreArchived(window: ArchiveWindow): Promise<number> {
    return this.ownWriter.restore(window);
  }

  async collectObjects(keepSinceS: number | null, takesOver: boolean): Promise<number> {
    this.checkNamesAll();
    return this.archiverOfCommands.collect(keepSinceS, takesOver);
  }

  async sweepObjects(after: string | null): Promise<SweptObjects> {
    this.checkNamesAll();
    return this.archiverOfCommands.sweep(after);
  }

  /** @throws Error if there may be objects that entries name which this store has not applied, and never will alone */
  checkNamesAll(): void {
    this.applied.refuseOtherChanges();
    this.checkApplied();
  }

  listQueue(): Promise<QueuedToken[]> {
    return Promise.resolve(this.queue.list());
  }

  /** Resolves when no background work is left. */
  settled(): Promise<void> {
    return this.parts.housekeeping.settled();
  }

  /** Waits for running work, drops waiting work, and closes the database. */
  async close(): Promise<void> {
    await this.endWork().finally(() => this.parts.database.close());
  }

  /** Closes the store; removes it if this opening created it and nothing was stored. */
  async leave(): Promise<void> {
    if (!this.isUnused) return this.close();
    await this.endWork().finally(() =>
      this.parts.database.discard(() => removeFiles(this.directory)),
    );
    await removeMadeDirectories(this.directory);
  }

  /** Whether this opening created the store and nothing has been stored since. */
  private get isUnused(): boolean {
    const waits = this.writer?.waits === true;
    return this.parts.isNew && this.applied.storedPosition === 0 && !waits;
  }

  private async endWork(): Promise<void> {
    this.parts.archive.close();
    await this.writer?.close();
    await this.parts.housekeeping.close();
    await this.parts.commits.close();
    await this.usage.close();
    await this.queue.close();
  }
}
