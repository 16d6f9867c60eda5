/** Opens a data directory and the parts of its store; `store.ts` then opens the log, and applies what it lacks. */
import { EventEmitter } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Archive } from './archive/archive.js';
import { Archiver, type ArchiveTimes } from './archive/archiver.js';
import { BLOCK_FILES } from './archive/block-files.js';
import { type ArchivePlace, knownPlace, openObjects } from './archive/open-objects.js';
import type { OutlineBlock } from './check/checker.js';
import { type CommitOptions, Commits, type StoreEvents } from './commit.js';
import { sampleHere, SampleMaker, type SampleSegments } from './depth/samples.js';
import {
  DATABASE_FILE,
  holdsStore,
  LOG_FOLDER,
  makeDirectory,
  makePrivate,
  refuseRemains,
  removeMadeDirectories,
  STORE_FILES,
} from './data-directory.js';
import { Catalog } from './depth/catalog.js';
import { Directories } from './depth/directories.js';
import { storedSegments } from './depth/segments.js';
import { Revisions } from './depth/revisions.js';
import { Database } from './duckdb/database.js';
import {
  DatabaseDamagedError,
  DatabaseLockedError,
  type FaultListeners,
  namedError,
} from './duckdb/opening.js';
import { DiskFullError, InputError, StoreBusyError, StoreUnavailableError } from './errors.js';
import { AppliedLog } from './applied-log.js';
import { FileCache } from './file-cache.js';
import { HolderTokens } from './holders/holder-tokens.js';
import { Housekeeping } from './housekeeping.js';
import type { KeyPlans } from './keys/contract.js';
import { KeyRing } from './keys/key-ring.js';
import { UsageBook } from './keys/usage-book.js';
import { removeLog } from './log/file-log.js';
import { type Meta, readMeta } from './meta.js';
import { WaitingTokens } from './queue.js';
import { ensureSchema } from './schema.js';
import { wallS } from './wall-clock.js';

export interface StoreOptions extends CommitOptions, FaultListeners {
  /** Called with what an operator should know. */
  onNotice?: ((text: string) => void) | undefined;
  /** Called when background work fails; `work` names it for the log. */
  onBackgroundError?: (error: unknown, work: string) => void;
  /** Runs compute's outlineOfBlock; on this thread by default. */
  outlineBlock?: OutlineBlock;
  /** Runs compute's sampleSegments; on this thread by default. */
  sampleSegments?: SampleSegments;
  memory?: StoreMemory;
  threads?: number;
  /** Called once with the reason when changes in the log wait to be applied, and with null when they are. */
  onWaiting?: (why: string | null) => void;
  /** Plans that keys can be given; default: the tiers. */
  plans?: KeyPlans;
  /** Without it, the store archives nothing, and reads what it has archived where the last process did. */
  archive?: ArchiveOptions | null | undefined;
  /** Bytes of the files that keep blocks of objects beside the store, wherever those are; default: none. */
  archiveCacheBytes?: number;
}

/** How a process archives. */
export interface ArchiveOptions extends ArchiveTimes {
  place: ArchivePlace;
  /** The clock by which days are due, in epoch seconds; by default the system's. */
  nowS?: () => number;
  /** How long after a failure further reads of objects fail at once. */
  failsForMs?: number;
}

/** Memory limits of a store, in bytes. */
interface StoreMemory {
  /** For DuckDB itself. */
  database?: number;
  directories?: number;
  /** Entries of the newest segments. */
  newestSegments?: number;
  /** Owners of the holder histories that the latest commits changed. */
  owners?: number;
}

const DEFAULT_MEMORY_LIMIT_MIB = 1024;
const DEFAULT_THREADS = 2;

/** The parts of an open store. */
export interface StoreParts {
  directory: string;
  database: Database;
  catalog: Catalog;
  directories: Directories;
  holderTokens: HolderTokens;
  commits: Commits;
  housekeeping: Housekeeping;
  keys: KeyRing;
  usage: UsageBook;
  queue: WaitingTokens;
  events: EventEmitter<StoreEvents>;
  /** What the store has applied of its log. */
  applied: AppliedLog;
  revisions: Revisions;
  archive: Archive;
  /** null: the process archives nothing. */
  archiver: Archiver | null;
  /** Whether this opening created the store. */
  isNew: boolean;
}

/** A listener for failures of work that is retried later. */
export function backgroundFailures(
  { onBackgroundError }: StoreOptions,
  work: string,
): (error: unknown) => void {
  return (error) => {
    // onFault() or onShortage() has reported the reason.
    if (error instanceof StoreUnavailableError || error instanceof DiskFullError) return;
    onBackgroundError?.(error, work);
  };
}

/** What Store.open() does, with the same errors. */
export async function openParts(directory: string, options: StoreOptions): Promise<StoreParts> {
  await makeDirectory(directory);
  // Files that this process creates are private: DuckDB creates some at any time.
  process.umask(0o077);
  const file = path.join(directory, DATABASE_FILE);
  const heldStore = await holdsStore(directory);
  if (!heldStore) await refuseRemains(directory);
  let database: Database | null = null;
  try {
    database = await Database.openFile(file, databaseOptions(options));
    const isEmpty = await ensureSchema(database, file);
    // Only now: a directory whose database is no store stays as it is.
    await makePrivate(directory);
    const meta = await readMeta(database);
    await database.countCommits(meta);
    // Setting a WAL aside may empty a store that this opening did not create.
    const parts = await partsOf(directory, database, meta, isEmpty && !heldStore, options);
    // The file is a store even without its WAL.
    if (isEmpty) await database.checkpoint();
    return parts;
  } catch (error) {
    const named = openingError(error, directory, file);
    const isLeftOver = !heldStore && named instanceof DiskFullError;
    await (isLeftOver ? database?.discard(() => removeFiles(directory)) : database?.close());
    if (isLeftOver) await removeMadeDirectories(directory);
    throw named;
  }
}

function databaseOptions(options: StoreOptions): Parameters<typeof Database.openFile>[1] {
  const { memory = {}, onNotice, onFault, onLost, onShortage } = options;
  return {
    memoryLimitMiB:
      memory.database === undefined
        ? DEFAULT_MEMORY_LIMIT_MIB
        : Math.floor(memory.database / 2 ** 20),
    threads: options.threads ?? DEFAULT_THREADS,
    onNotice,
    onFault,
    onLost,
    onShortage,
  };
}

async function partsOf(
  directory: string,
  database: Database,
  meta: Meta,
  isNew: boolean,
  options: StoreOptions,
): Promise<StoreParts> {
  const { memory = {} } = options;
  const failures = (work: string): ((error: unknown) => void) => backgroundFailures(options, work);
  const catalog = await Catalog.load(database);
  const directories = await Directories.load(database, meta, failures('reading segments'), memory);
  const holderTokens = await HolderTokens.load(database, memory.owners);
  const keys = await KeyRing.load(database, directory);
  if (options.plans !== undefined) keys.plans = options.plans;
  const events = new EventEmitter<StoreEvents>();
  const queue = await WaitingTokens.load(database, {
    hasRecord: (chain, address) => catalog.token(chain, address) !== undefined,
    onError: failures('writing the queue'),
  });
  const archive = await openArchive(directory, database, meta, options);
  events.on('segments', (removed) => archive.files?.remove(removed));
  const stored = { directory, database, archive, catalog, directories, holderTokens, keys, queue };
  const shared = { ...stored, events, revisions: await Revisions.load(database, meta) };
  const onChanged = (tokenIds: readonly number[]): void => housekeeping.after(tokenIds);
  const commits = new Commits({ ...shared, onChanged }, options);
  const sample = options.sampleSegments ?? sampleHere;
  const samples = new SampleMaker(database, archive, sample);
  const onError = failures('joining small segments');
  const housekeeping = new Housekeeping({ ...shared, commits }, samples, onError);
  const { rewrite } = options;
  const exclusive = <T>(body: () => Promise<T>): Promise<T> => commits.exclusive(body);
  const archiver = options.archive
    ? new Archiver({
        ...shared,
        rewrite,
        sample,
        exclusive,
        place: options.archive.place,
        times: options.archive,
        nowS: options.archive.nowS ?? wallS,
        logId: () => applied.logId,
      })
    : null;
  const parts = { ...shared, commits, housekeeping, archiver };
  const applied = new AppliedLog(parts, meta);
  return {
    ...parts,
    applied,
    usage: await UsageBook.load(database, failures('writing counts of calls')),
    isNew,
  };
}

/** The archive that the options name, or else the one in which the store has objects. */
async function openArchive(
  directory: string,
  database: Database,
  meta: Meta,
  { archive, archiveCacheBytes = 0, onBackgroundError }: StoreOptions,
): Promise<Archive> {
  const place = archive?.place ?? knownPlace(meta);
  if (place === null) return new Archive();
  const objects = await openObjects(place);
  if (archiveCacheBytes === 0) return new Archive(objects, null, archive?.failsForMs);
  const files = await FileCache.open(BLOCK_FILES, {
    directory,
    maxBytes: archiveCacheBytes,
    stored: (ids) => storedSegments(database, ids),
    onTrouble: (error) => {
      if (error !== null) onBackgroundError?.(error, 'keeping blocks of the archive');
    },
  });
  return new Archive(objects, files, archive?.failsForMs);
}

export async function removeFiles(directory: string): Promise<void> {
  await removeLog(directory);
  for (const file of STORE_FILES) {
    if (file !== LOG_FOLDER) await rm(path.join(directory, file), { force: true });
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
