/** A data directory, open: the one place where its parts come together. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { rewriteHolderBlocks } from '../compute/holders/rewrite.js';
import { Checkpoints } from './checkpoints.js';
import { applyBundle, type CommitParts } from './commit.js';
import {
  type CommitReport,
  type IssuedKey,
  type KeyRecord,
  type KeyRequest,
  noChange,
  type QueuedToken,
  type SnapshotKey,
  type StoreChange,
  type StoreOperations,
  type StoreSummary,
  type TierKey,
} from './contract.js';
import { Catalog } from './depth/catalog.js';
import { findSmallRun } from './depth/compaction.js';
import { DepthCommit, type Rewrite, SegmentIds } from './depth/depth-commit.js';
import { DepthReader, MarketReader, snapshotPrices } from './depth/depth-reader.js';
import { Directories } from './depth/directories.js';
import { SegmentLists } from './depth/segment-lists.js';
import { Stage } from './depth/stage.js';
import { UnlistedSegments } from './depth/unlisted-segments.js';
import { Database } from './duckdb/database.js';
import { Lanes } from './duckdb/lanes.js';
import { DatabaseDamagedError, DatabaseLockedError, namedError } from './duckdb/opening.js';
import { InputError, StoreBusyError } from './errors.js';
import { FlatCommit } from './flat-tables.js';
import { HolderCommit, type RewriteHolders } from './holders/holder-commit.js';
import { HolderReader } from './holders/holder-reader.js';
import { HolderRegistry } from './holders/holder-tokens.js';
import { KeyRing } from './keys/key-ring.js';
import { UsageBook } from './keys/usage.js';
import { LpReader } from './lp/lp-reader.js';
import { migrate, SCHEMA_VERSION } from './migrations.js';
import { OrderReader } from './orders/order-reader.js';
import { WaitingTokens } from './queue.js';

/** The database's name within a data directory. */
export const DATABASE_FILE = 'fathom.duckdb';

export interface StoreOptions {
  /** Runs compute's rewriteSegments, in a pool where there is one. */
  rewrite: Rewrite;
  /** Runs compute's rewriteHolderBlocks; on this thread where it is left out. */
  rewriteHolders?: RewriteHolders;
  /** Told of a failure in work that nobody waits for. */
  onBackgroundError?: (error: unknown) => void;
  /** Told of counts of calls that could not be written yet. */
  onUsageError?: (error: unknown) => void;
  /** Told of queued tokens that could not be written yet. */
  onQueueError?: (error: unknown) => void;
  /** DuckDB's own memory bound. */
  memoryLimitMiB?: number;
  threads?: number;
}

const DEFAULT_MEMORY_LIMIT_MIB = 1024;
const DEFAULT_THREADS = 2;
/** How often the log is looked at where no commit does: counts of calls make it grow too. */
const LOG_CHECK_MS = 60_000;

/** Called with what a commit changed, once readers see it. */
export type ChangeListener = (change: StoreChange) => void;

const rewriteHere: RewriteHolders = (input) => Promise.resolve(rewriteHolderBlocks(input));

export class Store implements StoreOperations {
  readonly depth: DepthReader;
  readonly market: MarketReader;
  readonly orders: OrderReader;
  readonly lp: LpReader;
  readonly holders: HolderReader;
  private readonly commits = new Lanes([null]);
  private readonly listeners: ChangeListener[] = [];
  private readonly toCompact = new Set<number>();
  private readonly checkpoints: Checkpoints;
  private tidying: Promise<void> = Promise.resolve();
  private readonly logCheck = setInterval(() => this.tidyLater(), LOG_CHECK_MS).unref();
  private closing = false;

  private constructor(
    readonly directory: string,
    private readonly database: Database,
    private readonly catalog: Catalog,
    private readonly directories: Directories,
    private readonly ids: SegmentIds,
    private readonly holderRegistry: HolderRegistry,
    readonly keys: KeyRing,
    readonly usage: UsageBook,
    readonly queue: WaitingTokens,
    private readonly options: StoreOptions,
  ) {
    this.depth = new DepthReader(database, catalog, directories);
    this.checkpoints = new Checkpoints(database, path.join(directory, DATABASE_FILE));
    this.market = new MarketReader(database, catalog, directories, this.depth);
    this.orders = new OrderReader(database);
    this.lp = new LpReader(database);
    this.holders = new HolderReader(database, holderRegistry);
  }

  /**
   * Opens a data directory, made where there is none, and brings it to this build's schema.
   * @throws StoreBusyError while another process has it open
   * @throws InputError where it is damaged, no store, or a newer Fathom's
   */
  static async open(directory: string, options: StoreOptions): Promise<Store> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const file = path.join(directory, DATABASE_FILE);
    let database: Database | null = null;
    try {
      database = await Database.openFile(file, {
        memoryLimitMiB: options.memoryLimitMiB ?? DEFAULT_MEMORY_LIMIT_MIB,
        threads: options.threads ?? DEFAULT_THREADS,
      });
      await migrate(database, file);
      const catalog = await Catalog.load(database);
      const keys = await KeyRing.load(database, directory);
      const usage = await UsageBook.load(database, (error) => options.onUsageError?.(error));
      const queue = await WaitingTokens.load(database, {
        hasRecord: (chain, address) => catalog.token(chain, address) !== undefined,
        onError: (error) => options.onQueueError?.(error),
      });
      const lists = await SegmentLists.load(database);
      const ids = await SegmentIds.load(database, lists.listedId);
      const unlisted = await UnlistedSegments.load(database, lists.listedId);
      const directories = new Directories(database, lists, unlisted);
      return new Store(
        directory,
        database,
        catalog,
        directories,
        ids,
        await HolderRegistry.load(database),
        keys,
        usage,
        queue,
        options,
      );
    } catch (error) {
      await database?.close();
      throw openingError(error, directory, file);
    }
  }

  /** Registers a listener for committed changes. */
  onChange(listener: ChangeListener): void {
    this.listeners.push(listener);
  }

  /** @throws InputError | StoreChangedError; the store is then as it was */
  async commit(bundle: string): Promise<CommitReport> {
    const { result, change } = await this.change((parts) =>
      applyBundle(this.directory, bundle, parts),
    );
    const touched = change.tokenIds;
    this.queue.settle(touched.flatMap((tokenId) => this.catalog.tokenById(tokenId)?.row ?? []));
    for (const listener of this.listeners) listener(change);
    for (const tokenId of touched) this.toCompact.add(tokenId);
    this.tidyLater();
    return { tokens: touched.length, segments: result };
  }

  snapshotPrices(keys: readonly SnapshotKey[]): Promise<Float64Array> {
    return snapshotPrices(keys, this.catalog, this.directories, this.depth);
  }

  async snapshotTimes({ chain, address, tier }: TierKey): Promise<Uint32Array> {
    const token = this.catalog.token(chain, address);
    if (token === undefined) return new Uint32Array(0);
    const segments = (await this.directories.get(token.tokenId))[tier];
    const times = new Uint32Array(segments.reduce((sum, segment) => sum + segment.times.length, 0));
    let at = 0;
    for (const segment of segments) {
      times.set(segment.times, at);
      at += segment.times.length;
    }
    return times;
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

  createKey(request: KeyRequest): Promise<IssuedKey> {
    return this.keys.create(request);
  }

  listKeys(): Promise<KeyRecord[]> {
    return Promise.resolve(this.keys.list());
  }

  rotateKey(id: string): Promise<IssuedKey> {
    return this.keys.rotate(id);
  }

  revokeKey(id: string): Promise<KeyRecord> {
    return this.keys.revoke(id);
  }

  listQueue(): Promise<QueuedToken[]> {
    return Promise.resolve(this.queue.list());
  }

  /** Resolves when what commits leave to be done behind them is done. */
  async settled(): Promise<void> {
    await this.tidying;
  }

  /** Waits for what runs, leaves what waits, and closes the database. */
  async close(): Promise<void> {
    this.closing = true;
    clearInterval(this.logCheck);
    await this.tidying;
    await this.commits.close();
    await this.usage.close();
    await this.queue.close();
    await this.database.close();
  }

  /** One transaction; readers see it as soon as this resolves. */
  private async change<T>(
    body: (parts: CommitParts) => Promise<T>,
  ): Promise<{ result: T; change: StoreChange }> {
    return this.commits.use(async () => {
      await this.checkpoints.shortenLog();
      let endCommit = (): void => undefined;
      try {
        const { result, stage, flat, holders } = await this.database.transaction(async (tx) => {
          const stage = new Stage(this.catalog, this.directories, tx);
          const depth = new DepthCommit(stage, this.ids, this.options.rewrite);
          const flat = new FlatCommit(tx);
          const holders = new HolderCommit({
            tx,
            registry: this.holderRegistry,
            rewrite: this.options.rewriteHolders ?? rewriteHere,
          });
          const result = await body({ stage, depth, flat, holders });
          await stage.write();
          endCommit = this.directories.beginCommit(stage.touched);
          return { result, stage, flat, holders };
        });
        stage.publish();
        holders.publish();
        const holderTokens = holders.changedTokens;
        return {
          result,
          change: { ...noChange(), tokenIds: stage.touched, ...flat.change, holderTokens },
        };
      } finally {
        endCommit();
      }
    });
  }

  private tidyLater(): void {
    this.tidying = this.tidying.then(() => this.tidy());
  }

  /** Joins small segments of the tokens that were touched, then writes the log into the file. */
  private async tidy(): Promise<void> {
    for (const tokenId of this.toCompact) {
      this.toCompact.delete(tokenId);
      await this.inBackground(async () => {
        while (!this.closing && (await this.joinSmallRun(tokenId)));
      });
    }
    await this.inBackground(async () => {
      while (!this.closing && (await this.listOldSegments()));
    });
    await this.inBackground(async () => {
      if (!this.closing) await this.commits.use(() => this.checkpoints.shortenLog());
    });
  }

  /** @returns whether there were segments to be listed */
  private async listOldSegments(): Promise<boolean> {
    const { lists } = this.directories;
    if (lists.due(this.ids.latest) === null) return false;
    return this.commits.use(async () => {
      const toId = lists.due(this.ids.latest);
      if (toId === null) return false;
      await this.checkpoints.shortenLog();
      await this.database.transaction((tx) => lists.add(tx, toId));
      await this.directories.publishListed(toId);
      return true;
    });
  }

  private async inBackground(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.options.onBackgroundError?.(error);
    }
  }

  /** @returns whether there was a run of small segments to be joined */
  private async joinSmallRun(tokenId: number): Promise<boolean> {
    const entry = this.catalog.tokenById(tokenId);
    if (entry === undefined) return false;
    // Looked for before there is a transaction: most commits leave nothing to join.
    if (findSmallRun(await this.directories.get(tokenId)) === null) return false;
    const { result } = await this.change(async ({ stage, depth }) => {
      const token = stage.token(entry.row.chain, entry.row.address);
      const run = findSmallRun(await stage.directory(token));
      if (run !== null) await depth.join(token, run.tier, run.from, run.to);
      return run !== null;
    });
    return result;
  }
}

/** What a failure to open the store means to whoever asked for it. */
function openingError(error: unknown, directory: string, file: string): unknown {
  if (error instanceof InputError) return error;
  const named = namedError(error, file);
  if (named instanceof DatabaseLockedError) {
    return new StoreBusyError(`${directory} is in use by another Fathom process`);
  }
  return named instanceof DatabaseDamagedError ? new InputError(named.message) : error;
}
