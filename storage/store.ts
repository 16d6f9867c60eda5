/** A data directory, open: the one place where its parts come together. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Catalog } from './catalog/catalog.js';
import { Directories } from './catalog/directories.js';
import { applyBundle } from './commit/apply-bundle.js';
import { findSmallRun } from './commit/compaction.js';
import { DepthCommit, type Rewrite } from './commit/depth-commit.js';
import { SegmentIds } from './commit/segment-ids.js';
import { Stage } from './commit/stage.js';
import { DepthReader } from './depth-reader.js';
import { Database, DatabaseDamagedError, DatabaseLockedError } from './duckdb/database.js';
import { Lanes } from './duckdb/lanes.js';
import { InputError, StoreBusyError } from './errors.js';
import { KeyRing, type IssuedKey, type KeyRequest } from './keys/key-ring.js';
import type {
  CommitReport,
  SnapshotKey,
  StoreOperations,
  StoreSummary,
  TierKey,
} from './operations.js';
import { SCHEMA_VERSION, migrate } from './schema/migrations.js';
import type { KeyRecord } from './seams.js';
import { snapshotPrices } from './snapshot-prices.js';

/** The database's name within a data directory. */
export const DATABASE_FILE = 'fathom.duckdb';

export interface StoreOptions {
  /** Runs compute's rewriteSegments, in a pool where there is one. */
  rewrite: Rewrite;
  /** Told of a failure in work that nobody waits for. */
  onBackgroundError?: (error: unknown) => void;
  /** DuckDB's own memory bound. */
  memoryLimitMiB?: number;
  threads?: number;
}

const DEFAULT_MEMORY_LIMIT_MIB = 512;
const DEFAULT_THREADS = 2;

/** Called with the tokens that a commit touched, once readers see it. */
export type ChangeListener = (tokenIds: readonly number[]) => void;

export class Store implements StoreOperations {
  readonly depth: DepthReader;
  private readonly commits = new Lanes([null]);
  private readonly listeners: ChangeListener[] = [];
  private readonly toCompact = new Set<number>();
  private compacting: Promise<void> = Promise.resolve();
  private closing = false;

  private constructor(
    readonly directory: string,
    private readonly database: Database,
    private readonly catalog: Catalog,
    private readonly directories: Directories,
    private readonly ids: SegmentIds,
    readonly keys: KeyRing,
    private readonly options: StoreOptions,
  ) {
    this.depth = new DepthReader(database, catalog, directories);
  }

  /**
   * Opens a data directory, made where there is none, and brings it to this build's schema.
   * @throws StoreBusyError while another process has it open
   * @throws InputError where it is damaged, no store, or a newer Fathom's
   */
  static async open(directory: string, options: StoreOptions): Promise<Store> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const file = path.join(directory, DATABASE_FILE);
    const database = await openDatabase(file, directory, options);
    try {
      await migrate(database, file);
      const catalog = await Catalog.load(database);
      const keys = await KeyRing.load(database, directory);
      const ids = await SegmentIds.load(database);
      const directories = new Directories(database);
      return new Store(directory, database, catalog, directories, ids, keys, options);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  /** Registers a listener for committed changes. */
  onChange(listener: ChangeListener): void {
    this.listeners.push(listener);
  }

  /** @throws InputError | StoreChangedError; the store is then as it was */
  async commit(bundle: string): Promise<CommitReport> {
    const { result, touched } = await this.change((stage, depth) =>
      applyBundle(this.directory, bundle, stage, depth),
    );
    for (const listener of this.listeners) listener(touched);
    for (const tokenId of touched) this.toCompact.add(tokenId);
    this.compacting = this.compacting.then(() => this.compactWaiting());
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

  /** Resolves when no join of small segments is under way or waiting. */
  async settled(): Promise<void> {
    await this.compacting;
  }

  /** Waits for what runs, leaves what waits, and closes the database. */
  async close(): Promise<void> {
    this.closing = true;
    await this.compacting;
    await this.commits.close();
    await this.database.close();
  }

  /** One transaction; readers see it as soon as this resolves. */
  private async change<T>(
    body: (stage: Stage, depth: DepthCommit) => Promise<T>,
  ): Promise<{ result: T; touched: number[] }> {
    return this.commits.use(async () => {
      let stage: Stage | undefined;
      const result = await this.database.transaction(async (tx) => {
        stage = new Stage(this.catalog, this.directories, tx);
        return body(stage, new DepthCommit(stage, this.ids, this.options.rewrite));
      });
      stage?.publish();
      return { result, touched: Array.from(stage?.touched ?? [], ({ tokenId }) => tokenId) };
    });
  }

  private async compactWaiting(): Promise<void> {
    for (const tokenId of this.toCompact) {
      this.toCompact.delete(tokenId);
      const entry = this.catalog.tokenById(tokenId);
      while (!this.closing && entry !== undefined) {
        const joined = await this.change(async (stage, depth) => {
          const token = await stage.token(entry.row.chain, entry.row.address);
          const run = findSmallRun(await stage.directory(token));
          if (run === null) return false;
          await depth.join(token, run.tier, run.from, run.to);
          return true;
        }).catch((error: unknown) => {
          this.options.onBackgroundError?.(error);
          return { result: false };
        });
        if (!joined.result) break;
      }
    }
  }
}

async function openDatabase(
  file: string,
  directory: string,
  options: StoreOptions,
): Promise<Database> {
  try {
    return await Database.openFile(file, {
      memoryLimitMiB: options.memoryLimitMiB ?? DEFAULT_MEMORY_LIMIT_MIB,
      threads: options.threads ?? DEFAULT_THREADS,
    });
  } catch (error) {
    if (error instanceof DatabaseLockedError) {
      throw new StoreBusyError(`${directory} is in use by another Fathom process`);
    }
    if (error instanceof DatabaseDamagedError) throw new InputError(error.message);
    throw error;
  }
}
