/** An open data directory. */
import { existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Tier } from '../compute/market.js';
import type { Removed } from '../compute/segment/remove.js';
import { applyBundle, type Brought, type CommitOptions, Commits, retireAll } from './commit.js';
import { type Frame, framesOf, readBundle } from './bundle.js';
import { Checker, type OutlineBlock } from './check/checker.js';
import type {
  CheckCursor,
  CheckStep,
  CommitReport,
  IssuedKey,
  KeyRecord,
  KeyRequest,
  LpSource,
  OrderSource,
  QueuedToken,
  Shrunk,
  SnapshotKey,
  StoreChange,
  StoreOperations,
  StoreSummary,
  TierKey,
  TokenName,
} from './contract.js';
import {
  DATABASE_FILE,
  holdsStore,
  leftOfStore,
  LOG_FILE,
  makeDirectory,
  makePrivate,
  PARTIAL_FILE,
  PROBE_FILE,
  removeMadeDirectories,
  STORE_FILES,
} from './data-directory.js';
import { Catalog } from './depth/catalog.js';
import { DepthReader } from './depth/depth-reader.js';
import { Directories } from './depth/directories.js';
import { type Cutoffs, nextStep, type RetentionStep } from './depth/retention-steps.js';
import { Database, type FaultListeners } from './duckdb/database.js';
import type { DiskFigures, DiskRoom } from './duckdb/disk-room.js';
import type { LogOptions } from './duckdb/log-mending.js';
import { shrinkStep } from './duckdb/shrink.js';
import { DatabaseDamagedError, DatabaseLockedError, namedError } from './duckdb/opening.js';
import { DiskFullError, InputError, StoreBusyError, StoreUnavailableError } from './errors.js';
import { HolderReader, HolderTokens } from './holders/holder-tokens.js';
import { Housekeeping } from './housekeeping.js';
import { KeyRing } from './keys/key-ring.js';
import { UsageBook } from './keys/usage.js';
import { type LogMark, readMark, removeMark, writeMark } from './log/mark.js';
import { type KnownSettings, readSettings, writeSettings } from './log/settings.js';
import type { LogTarget } from './log/target.js';
import { dlmmHours } from './lp/dlmm-hours.js';
import { dlmmPools } from './lp/dlmm-pools.js';
import { tokenHours } from './lp/token-hours.js';
import { migrate, oldSchema, SCHEMA_VERSION } from './migrations.js';
import { allDcaOrders, dcaOrdersOf } from './orders/dca-orders.js';
import { allLimitOrders, limitOrdersOf } from './orders/limit-orders.js';
import { WaitingTokens } from './queue.js';
import { readAllowance, writeAllowance } from './retention-allowance.js';
import { copyBeforeMigration } from './schema-copy.js';
import { Turns } from './turns.js';

export interface StoreOptions extends CommitOptions, LogOptions, FaultListeners {
  /** Called when work in the background fails; `work` names it for the log. */
  onBackgroundError?: (error: unknown, work: string) => void;
  /** Told when an older store is brought to this build's schema, and where its copy is. */
  onMigration?: (text: string) => void;
  /** Runs compute's outlineOfBlock; on this thread by default. */
  outlineBlock?: OutlineBlock;
  memory?: StoreMemory;
  threads?: number;
}

/** Bytes that a store may take. */
export interface StoreMemory {
  /** DuckDB for itself. */
  database?: number;
  /** Tokens' directories. */
  directories?: number;
  /** Entries of the newest segments. */
  newestSegments?: number;
  /** Owners of the holder histories that the latest commits changed. */
  owners?: number;
}

const DEFAULT_MEMORY_LIMIT_MIB = 1024;
const DEFAULT_THREADS = 2;
/** Bounds a transaction of completeDigests(). */
const SEGMENTS_COMPLETED_AT_ONCE = 64;
/** Tokens that listeners hear of at once. */
const TOKENS_AT_ONCE = 256;
const NO_CHANGE: StoreChange = {
  tokenIds: [],
  dcaTokens: [],
  limitTokens: [],
  holderTokens: [],
  dlmmPools: false,
  dlmmHours: false,
  tokenHours: false,
};

/** What probe() writes: a block of a disk. */
const PROBE_BYTES = 4096;

type KeyChange = 'created' | 'rotated' | 'revoked';
type KeyListener = (change: KeyChange, key: Pick<KeyRecord, 'id' | 'tier'>) => void;

export class Store implements StoreOperations {
  readonly depth: DepthReader;
  readonly orders: OrderSource;
  readonly lp: LpSource;
  readonly holders: HolderReader;
  private readonly housekeeping: Housekeeping;
  private readonly listeners: ((change: StoreChange) => void)[] = [];
  private readonly keyListeners: KeyListener[] = [];
  private readonly commitListeners: ((brought: Brought, tookMs: number) => void)[] = [];

  private constructor(
    readonly directory: string,
    private readonly database: Database,
    private readonly catalog: Catalog,
    private readonly commits: Commits,
    private readonly directories: Directories,
    holderTokens: HolderTokens,
    readonly keys: KeyRing,
    readonly usage: UsageBook,
    readonly queue: WaitingTokens,
    /** Made when it was opened, and nothing was stored since. */
    private isUnused: boolean,
    private logMark: LogMark | null,
    private readonly outlineBlock: OutlineBlock | undefined,
    private knownSettings: KnownSettings,
    onHousekeepingError: (error: unknown) => void,
  ) {
    this.housekeeping = new Housekeeping(
      database,
      catalog,
      directories,
      commits,
      onHousekeepingError,
    );
    this.depth = new DepthReader(database, catalog, directories);
    this.orders = {
      dcaOrders: (tokens) => dcaOrdersOf(database, tokens),
      allDcaOrders: () => allDcaOrders(database),
      limitOrders: (tokens) => limitOrdersOf(database, tokens),
      allLimitOrders: () => allLimitOrders(database),
    };
    this.lp = {
      dlmmPools: () => dlmmPools(database),
      dlmmHours: (fromHourS, toHourS) => dlmmHours(database, fromHourS, toHourS),
      tokenHours: (fromHourS, toHourS) => tokenHours(database, fromHourS, toHourS),
    };
    this.holders = new HolderReader(database, holderTokens);
  }

  /**
   * Opens a data directory, creating it if needed, and brings it to this build's schema.
   * @throws StoreBusyError while another process has it open
   * @throws InputError if it is damaged, not a store, or written by a newer Fathom
   */
  static async open(directory: string, options: StoreOptions): Promise<Store> {
    await makeDirectory(directory);
    await makePrivate(directory);
    const file = path.join(directory, DATABASE_FILE);
    const heldStore = await holdsStore(directory);
    if (!heldStore && existsSync(path.join(directory, PARTIAL_FILE))) {
      throw new InputError(`${directory} holds a backup that was not completed`);
    }
    const left = heldStore ? null : await leftOfStore(directory);
    if (left !== null) {
      throw new InputError(
        `${directory} held a store, and its database is gone: ${left} is there, ${DATABASE_FILE} is not. Put it back, or restore a backup into an empty directory; for a new store, move ${left} away`,
      );
    }
    const onFailed = (work: string) => (error: unknown) => {
      // It is done again; why it could not be, onFault() or onShortage() has said.
      if (error instanceof StoreUnavailableError || error instanceof DiskFullError) return;
      options.onBackgroundError?.(error, work);
    };
    const { memory = {} } = options;
    const limitMiB =
      memory.database === undefined
        ? DEFAULT_MEMORY_LIMIT_MIB
        : Math.floor(memory.database / 2 ** 20);
    let database: Database | null = null;
    try {
      const opening = {
        memoryLimitMiB: limitMiB,
        threads: options.threads ?? DEFAULT_THREADS,
        acceptDamagedLog: options.acceptDamagedLog,
        onLogNotice: options.onLogNotice,
        onFault: options.onFault,
        onLost: options.onLost,
        onShortage: options.onShortage,
      };
      database = await Database.openFile(file, opening);
      const schema = await oldSchema(database, file);
      if (schema !== null) {
        await database.checkpoint();
        await database.whileClosed(async () =>
          options.onMigration?.(await copyBeforeMigration(file, schema)),
        );
      }
      const isNew = await migrate(database, file);
      await database.countCommits();
      const catalog = await Catalog.load(database);
      const keys = await KeyRing.load(database, directory, onFailed('writing a revocation'));
      const usage = await UsageBook.load(database, onFailed('writing counts of calls'));
      const queue = await WaitingTokens.load(database, {
        hasRecord: (chain, address) => catalog.token(chain, address) !== undefined,
        onError: onFailed('writing the queue'),
      });
      const directories = await Directories.load(database, onFailed('reading segments'), memory);
      const holderTokens = await HolderTokens.load(database, memory.owners);
      const commits = new Commits(database, catalog, directories, holderTokens, {
        onDamage: onFailed('reading a segment'),
        ...options,
      });
      return new Store(
        directory,
        database,
        catalog,
        commits,
        directories,
        holderTokens,
        keys,
        usage,
        queue,
        // One whose log was cut may have nothing left, and yet is not ours to remove.
        isNew && !heldStore,
        await readMark(database),
        options.outlineBlock,
        await readSettings(database),
        onFailed('joining small segments'),
      );
    } catch (error) {
      const named = openingError(error, directory, file);
      const isLeftOver = !heldStore && named instanceof DiskFullError;
      await (isLeftOver ? database?.discard(() => removeFiles(directory)) : database?.close());
      if (isLeftOver) await removeMadeDirectories(directory);
      throw named;
    }
  }

  /** Calls `listener` with what each bundle brought, and how long its commit took. */
  onCommit(listener: (brought: Brought, tookMs: number) => void): void {
    this.commitListeners.push(listener);
  }

  /** Bytes of the database and of its log. */
  async bytes(): Promise<number> {
    const sizes = [DATABASE_FILE, LOG_FILE].map((name) =>
      stat(path.join(this.directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  /** The disk that it is on, and what waited for room there. */
  disk(): Promise<DiskFigures> {
    return this.room.figures();
  }

  /** @throws StoreUnavailableError while commits are refused because the disk is full */
  checkCommits(): Promise<void> {
    return this.room.checkCommits();
  }

  private get room(): DiskRoom {
    const { room } = this.database;
    if (room === null) throw new Error('a store in memory');
    return room;
  }

  /** @throws Error if the store cannot be read, or nothing can be written to it or beside it */
  async probe(): Promise<void> {
    this.database.checkFile();
    await this.database.rows('SELECT count(*) FROM meta');
    const file = path.join(this.directory, PROBE_FILE);
    await writeFile(file, new Uint8Array(PROBE_BYTES)).finally(() => rm(file, { force: true }));
  }

  /** Calls `listener` with each change of a key, once it is written. */
  onKeyChange(listener: KeyListener): void {
    this.keyListeners.push(listener);
  }

  private tellKeyChange(change: KeyChange, { id, tier }: KeyRecord): void {
    for (const listener of this.keyListeners) listener(change, { id, tier });
  }

  /** Calls `listener` with what each commit changed, once readers see it. */
  onChange(listener: (change: StoreChange) => void): void {
    this.listeners.push(listener);
  }

  /** @throws InputError | StoreChangedError, with the store unchanged */
  async commit(bundle: string): Promise<CommitReport> {
    this.refuseBesideLog();
    return this.commitFrames(() => readBundle(this.directory, bundle));
  }

  /** @param mark written with it */
  private async commitFrames(
    frames: () => AsyncIterable<Frame>,
    mark?: LogMark,
  ): Promise<CommitReport> {
    const beganMs = performance.now();
    const { result, change } = await this.commits.run(
      (tools) => applyBundle(frames(), tools),
      mark,
    );
    this.isUnused = false;
    await this.tell(change);
    const { brought, ...applied } = result;
    this.tellCommit(brought, performance.now() - beganMs);
    return { tokens: change.tokenIds.length, ...applied };
  }

  private tellCommit(brought: Brought, tookMs: number): void {
    for (const listener of this.commitListeners) listener(brought, tookMs);
  }

  /** Tells listeners what a commit changed, and starts the work that is due after it. */
  private async tell(change: StoreChange): Promise<void> {
    const touched = change.tokenIds;
    const turns = new Turns();
    for (const part of changesInTurns(change)) {
      for (const listener of this.listeners) listener(part);
      const rows = part.tokenIds.flatMap((id) => this.catalog.tokenById(id)?.row ?? []);
      this.queue.settle(rows);
      await turns.take();
    }
    this.housekeeping.after(touched);
  }

  async tokensBefore(cutoffs: Cutoffs): Promise<TokenName[]> {
    const ids = await this.directories.before(cutoffs);
    return ids.flatMap((id) => {
      const row = this.catalog.tokenById(id)?.row;
      return row === undefined ? [] : { chain: row.chain, address: row.address };
    });
  }

  /**
   * Takes one step of retention for a token, in one transaction.
   * @returns what it deleted; null if nothing was left to do
   */
  async retire(
    { chain, address }: TokenName,
    cutoffs: Cutoffs,
    made: readonly Tier[],
  ): Promise<Removed | null> {
    this.refuseBesideLog();
    // Looked up before a transaction is opened: for most tokens nothing is left to do.
    if ((await this.dueStep({ chain, address }, cutoffs, made)) === null) return null;
    const { result, change } = await this.commits.run(async ({ stage, depth }) => {
      const token = stage.token(chain, address);
      const step = nextStep(await stage.directory(token), cutoffs, made);
      return step && depth.retire(token, step);
    });
    await this.tell(change);
    return result;
  }

  async allowRetention(toS: number): Promise<void> {
    await this.commits.exclusive(() => this.database.transaction((tx) => writeAllowance(tx, toS)));
  }

  /** What allowRetention() was told last; 0: nothing. */
  retentionAllowance(): Promise<number> {
    return readAllowance(this.database);
  }

  /** The step of retention that is due for a token; null: none is. */
  async dueStep(
    { chain, address }: TokenName,
    cutoffs: Cutoffs,
    made: readonly Tier[],
  ): Promise<RetentionStep | null> {
    const entry = this.catalog.token(chain, address);
    return entry ? nextStep(await this.directories.get(entry.tokenId), cutoffs, made) : null;
  }

  /** Where it stands in a log; null: it follows none. */
  get mark(): LogMark | null {
    return this.logMark;
  }

  /**
   * Writes segments of an earlier version again, which have no digests of their snapshots: entity tags rest on these,
   * and nodes join segments each at its own time.
   */
  async completeDigests(stop: AbortSignal): Promise<void> {
    const rows = await this.database.rows(
      'SELECT token_id, segment_id FROM segments WHERE digests IS NULL ORDER BY token_id',
    );
    for (let from = 0; from < rows.length && !stop.aborted;) {
      const [tokenId] = rows[from];
      const ids = new Set<unknown>();
      for (; rows[from]?.[0] === tokenId && ids.size < SEGMENTS_COMPLETED_AT_ONCE; from++) {
        ids.add(rows[from][1]);
      }
      const entry = this.catalog.tokenById(tokenId as number);
      if (entry === undefined) continue;
      await this.commits.run(({ stage, depth }) =>
        depth.rewriteEach(stage.token(entry.row.chain, entry.row.address), ids),
      );
    }
  }

  /** What it knows of the settings that nodes share. */
  get settings(): KnownSettings {
    return this.knownSettings;
  }

  async saveOwnSettings(own: KnownSettings['own']): Promise<void> {
    await this.commits.exclusive(() =>
      this.database.transaction((tx) => writeSettings(tx, 'own', own)),
    );
    this.knownSettings = { ...this.knownSettings, own };
  }

  /** What a log's entries do to it, each with its mark in one transaction. */
  readonly log: LogTarget = {
    isEmpty: () => this.catalog.tokenCount === 0 && this.keys.count === 0,
    bundle: (frames, mark) => this.marked(mark, () => this.commitFrames(frames, mark)),
    retirement: (entry, mark) =>
      this.marked(mark, async () => {
        const { result, change } = await this.commits.run((tools) => retireAll(entry, tools), mark);
        await this.tell(change);
        return result;
      }),
    several: (entries, mark) =>
      this.marked(mark, async () => {
        const beganMs = performance.now();
        const { result, change } = await this.commits.run(async (tools) => {
          const brought: Brought[] = [];
          for (const entry of entries) {
            if (entry.kind === 'retirement') await retireAll(entry, tools);
            else brought.push((await applyBundle(framesOf(entry.bundle), tools)).brought);
          }
          return brought;
        }, mark);
        await this.tell(change);
        const tookMs = (performance.now() - beganMs) / entries.length;
        for (const brought of result) this.tellCommit(brought, tookMs);
      }),
    key: (stored, isNew, mark) =>
      this.marked(mark, async () => {
        await this.commits.exclusive(() => this.keys.adopt(stored, isNew, mark));
        this.tellKeyChange(isNew ? 'created' : 'rotated', stored.record);
      }),
    revocation: (revocation, mark) =>
      this.marked(mark, async () => {
        const adopted = this.commits.exclusive(() => this.keys.adoptRevocation(revocation, mark));
        this.tellKeyChange('revoked', await adopted);
        return adopted;
      }),
    settings: (settings, mark) =>
      this.marked(mark, async () => {
        await this.commits.exclusive(() =>
          this.database.transaction(async (tx) => {
            await writeSettings(tx, 'log', settings);
            await writeMark(tx, mark);
          }),
        );
        this.knownSettings = { ...this.knownSettings, log: settings };
      }),
    pass: (mark) =>
      this.marked(mark, () =>
        this.commits.exclusive(() => this.database.transaction((tx) => writeMark(tx, mark))),
      ),
  };

  private async marked<T>(mark: LogMark, apply: () => Promise<T>): Promise<T> {
    const result = await apply();
    this.logMark = mark;
    this.isUnused = false;
    return result;
  }

  async leaveLog(): Promise<number | null> {
    const position = this.logMark?.position ?? null;
    await this.commits.exclusive(() =>
      this.database.transaction(async (tx) => {
        await removeMark(tx);
        await writeSettings(tx, 'log', null);
        await writeSettings(tx, 'own', null);
      }),
    );
    this.logMark = null;
    this.knownSettings = { log: null, own: null };
    return position;
  }

  /** @throws InputError where it follows a log: what is not in the log would be on this node alone */
  private refuseBesideLog(): void {
    if (this.logMark === null) return;
    throw new InputError(
      `${this.directory} belongs to a node of a cluster: start the node (fathom serve --cluster ... --node ...), through which commands reach the log`,
    );
  }

  /** @param released ends it; else it ends with the store */
  async holdFile(released?: AbortSignal): Promise<number | null> {
    await this.keys.flush();
    await this.usage.flush();
    const giveBack = await this.database.hold();
    released?.addEventListener('abort', giveBack, { once: true });
    if (released?.aborted === true) giveBack();
    return this.commits
      .exclusive(async () => {
        await this.database.checkpointIfRoom();
        return (await readMark(this.database))?.position ?? null;
      })
      .catch((error: unknown) => {
        giveBack();
        throw error;
      });
  }

  checkStep(cursor: CheckCursor | null): Promise<CheckStep> {
    return new Checker(this.database, this.directory, this.outlineBlock).step(cursor);
  }

  async shrink(): Promise<Shrunk> {
    const file = path.join(this.directory, DATABASE_FILE);
    const giveBack = await this.database.hold();
    try {
      return await shrinkStep(this.database, file, (body) => this.commits.exclusive(body));
    } finally {
      giveBack();
    }
  }

  /** @throws InputError | StoreChangedError */
  rehearse(bundle: string): Promise<CommitReport> {
    return this.commits.rehearse(async (tools) => {
      const { segments, replaced, deleted } = await applyBundle(
        readBundle(this.directory, bundle),
        tools,
      );
      return { tokens: tools.stage.touched.length, segments, replaced, deleted };
    });
  }

  snapshotPrices(keys: readonly SnapshotKey[]): Promise<Float64Array> {
    return this.depth.snapshotPrices(keys);
  }

  snapshotTimes(key: TierKey): Promise<Uint32Array> {
    return this.depth.snapshotTimes(key);
  }

  async summary(): Promise<StoreSummary> {
    const [[segments, cells]] = await this.database.rows(
      'SELECT count(*), coalesce(sum(cells), 0)::BIGINT FROM segments',
    );
    return {
      schemaVersion: SCHEMA_VERSION,
      tokens: this.catalog.tokenCount,
      segments: segments as number,
      cells: cells as number,
    };
  }

  async createKey(request: KeyRequest): Promise<IssuedKey> {
    this.refuseBesideLog();
    const issued = await this.keys.create(request);
    this.isUnused = false;
    this.tellKeyChange('created', issued);
    return issued;
  }

  listKeys(): Promise<KeyRecord[]> {
    return Promise.resolve(this.keys.list());
  }

  async rotateKey(id: string): Promise<IssuedKey> {
    this.refuseBesideLog();
    const issued = await this.keys.rotate(id);
    this.tellKeyChange('rotated', issued);
    return issued;
  }

  async revokeKey(id: string): Promise<KeyRecord> {
    this.refuseBesideLog();
    const record = await this.keys.revoke(id);
    this.tellKeyChange('revoked', record);
    return record;
  }

  listQueue(): Promise<QueuedToken[]> {
    return Promise.resolve(this.queue.list());
  }

  /** Resolves when the work in the background is done. */
  settled(): Promise<void> {
    return this.housekeeping.settled();
  }

  /** Waits for running work, drops waiting work, and closes the database. */
  async close(): Promise<void> {
    await this.endWork().finally(() => this.database.close());
  }

  /** Closes it; where it was made when it was opened and nothing was stored, no trace of it stays. */
  async leave(): Promise<void> {
    if (!this.isUnused) return this.close();
    await this.endWork().finally(() => this.database.discard(() => removeFiles(this.directory)));
    await removeMadeDirectories(this.directory);
  }

  private async endWork(): Promise<void> {
    await this.housekeeping.close();
    await this.commits.close();
    await this.keys.close();
    await this.usage.close();
    await this.queue.close();
  }
}

async function removeFiles(directory: string): Promise<void> {
  for (const file of STORE_FILES) await rm(path.join(directory, file), { force: true });
}

/** A change in parts of few tokens; the first part has all of the rest. */
function* changesInTurns(change: StoreChange): Generator<StoreChange> {
  const { tokenIds, dcaTokens, limitTokens, holderTokens } = change;
  const lists = [tokenIds, dcaTokens, limitTokens, holderTokens];
  const longest = Math.max(...lists.map(({ length }) => length));
  for (let from = 0; from === 0 || from < longest; from += TOKENS_AT_ONCE) {
    const part = <T>(list: readonly T[]): T[] => list.slice(from, from + TOKENS_AT_ONCE);
    yield {
      ...(from === 0 ? change : NO_CHANGE),
      tokenIds: part(tokenIds),
      dcaTokens: part(dcaTokens),
      limitTokens: part(limitTokens),
      holderTokens: part(holderTokens),
    };
  }
}

/** The error to report when the store cannot be opened. */
function openingError(error: unknown, directory: string, file: string): unknown {
  if (error instanceof InputError) return error;
  const named = namedError(error, file);
  if (named instanceof DatabaseLockedError) {
    return new StoreBusyError(`${directory} is in use by another Fathom process`);
  }
  return named instanceof DatabaseDamagedError ? new InputError(named.message) : error;
}
