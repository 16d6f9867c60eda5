/**
 * Changes of a single server's store: each is appended to its log, then applied. One that cannot be applied is withdrawn.
 * If that is impossible, too, it is applied later, before any other change.
 */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DamageError, isDamage } from '../../compute/damage.js';
import { isoOf } from '../../compute/time.js';
import { bundleFile, framesOf, readBundle } from '../bundle.js';
import type { KeyRecord } from '../contract.js';
import { LOG_FOLDER } from '../data-directory.js';
import {
  DamagedDataError,
  DiskFullError,
  isDiskFull,
  messageOf,
  PendingError,
  RefusalError,
  StoreChangedError,
  StoreUnavailableError,
  UnwrittenError,
} from '../errors.js';
import type { Database } from '../duckdb/database.js';
import type { Revocation } from '../keys/key-table.js';
import type { CommitReport } from '../operations.js';
import { Trouble } from '../trouble.js';
import { type Entry, packEntry, unpackEntry } from './entry.js';
import { contentOf, type FileEntry } from './entry-files.js';
import type { Appended, FileLog } from './file-log.js';
import { type LoggedStore, LogWriter } from './log-writer.js';
import type { LogMark } from './mark.js';

/** A bundle up to this size is read once, and applied from memory. */
const MAX_HELD_BYTES = 1024 * 1024;
/** Attempts to apply an entry that fails for another reason than a full disk. */
const MAX_ATTEMPTS = 3;
const RETRY_MS = 250;
/** How often entries that wait for room are tried again. */
const CATCH_UP_EVERY_MS = 1000;

/** The log has an entry that the store must apply before any other. */
class UnappliedError extends Error {
  constructor(override readonly cause: unknown) {
    super('an entry of the log is not applied');
  }
}

interface FileLogWriterOptions {
  store: LoggedStore;
  database: Database;
  log: FileLog;
  /** Called with an entry that is dropped, although a command may have been told that it is stored. */
  onDropped: (error: DamageError) => void;
  /** Called once with the reason when entries wait to be applied, and once with null when they are. */
  onWaiting?: ((why: string | null) => void) | undefined;
}

export class FileLogWriter extends LogWriter {
  protected readonly store: LoggedStore;
  private readonly log: FileLog;
  /** Entries are applied one after the other. */
  private turn: Promise<unknown> = Promise.resolve();
  private readonly waiting: Trouble<string>;
  /** Why entries of the log wait to be applied; null if none does. */
  private whyWaiting: string | null = null;
  /** Revocations that are not in the log yet. */
  private readonly unwritten = new Map<string, Revocation>();
  private timer: NodeJS.Timeout | null = null;
  private isClosed = false;
  /** Whether the file has what was there before the log's first entry, which may take long to apply. */
  private isFileOwn = false;

  constructor(private readonly options: FileLogWriterOptions) {
    super();
    this.store = options.store;
    this.log = options.log;
    this.waiting = new Trouble({
      onBegan: (why) => options.onWaiting?.(why),
      onOver: () => options.onWaiting?.(null),
    });
  }

  /**
   * Applies what an earlier process has appended and not applied.
   * @throws the error of applying an entry, unless it is one that every attempt meets or that may pass
   */
  async begin(missed: readonly FileEntry[]): Promise<void> {
    try {
      for (const entry of missed) await this.appliedLate(entry);
    } catch (error) {
      const cause = error instanceof UnappliedError ? error.cause : error;
      if (!(cause instanceof DiskFullError)) throw cause;
      this.wait(cause);
    }
    if (!this.log.isEmpty) await this.log.reserve();
  }

  /** Whether entries of the log wait to be applied. */
  get waits(): boolean {
    return this.whyWaiting !== null;
  }

  /** @throws StoreUnavailableError while entries of the log wait to be applied */
  checkApplied(): void {
    if (this.whyWaiting === null) return;
    throw new StoreUnavailableError(
      `a change that is in the log waits to be applied, and others after it: ${this.whyWaiting}; nothing more was stored`,
    );
  }

  protected async commitOnce(bundle: string): Promise<CommitReport> {
    await this.ready();
    const { directory } = this.store;
    const file = bundleFile(directory, bundle);
    const content = (await stat(file)).size <= MAX_HELD_BYTES ? await readFile(file) : null;
    // Read to the end: a bundle that was cut short must not enter the log.
    const frames = content === null ? readBundle(directory, bundle) : framesOf(content);
    const needs = this.store.archivedNeeds();
    for await (const frame of frames) await needs.addFrame(frame);
    await this.bringBack(needs);
    return this.inTurn<CommitReport>(await this.append({ bundle: file, content }));
  }

  /** Revokes a key at once, without waiting for other changes: in memory, then in the log. */
  override async revokeKey(key: string): Promise<KeyRecord> {
    const revocation = this.store.keys.draftRevocation(key);
    this.store.keys.refuse(revocation);
    try {
      return await this.writeRevocation(revocation);
    } catch (error) {
      this.unwritten.set(revocation.id, revocation);
      this.tryLater();
      throw new UnwrittenError(revocation.id, error);
    }
  }

  /** Removes the entries that the database's file has. Call after a checkpoint. */
  async trim(): Promise<void> {
    await this.log.trim(this.store.applied.storedPosition);
  }

  /** Bytes of the log's entries. */
  get bytes(): number {
    return this.log.bytes;
  }

  /** Resolves once everything that was appended so far is applied, or waits for room. */
  async settled(): Promise<void> {
    await this.turn;
  }

  /** Waits for the entries that are being applied; those that wait are applied by the next process. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (this.timer !== null) clearTimeout(this.timer);
    await this.turn;
  }

  protected ready(): Promise<void> {
    return Promise.resolve().then(() => {
      this.checkApplied();
      this.options.database.checkFile();
    });
  }

  protected async submit<T>(_: string, entry: Entry): Promise<T> {
    await this.ready();
    const appended = await this.append({ bundle: null, content: packEntry(entry) });
    return this.inTurn<T>(appended);
  }

  private async writeRevocation(revocation: Revocation): Promise<KeyRecord> {
    this.options.database.checkFile();
    const content = packEntry({ kind: 'revocation', revocation });
    const entry = await this.append({ bundle: null, content }, true);
    this.unwritten.delete(revocation.id);
    // Not awaited: it is durable, and a long commit may be before it. What waits is applied by catchUp(), once.
    if (this.whyWaiting === null) this.inTurn(entry, false).catch(() => undefined);
    return this.store.keys.revoked(revocation.id);
  }

  private async append(appended: Appended, isSmall?: boolean): Promise<FileEntry> {
    try {
      // Without the WAL, the file must not be that of the cluster's node that the store may have been.
      if (this.store.applied.position === 0 && !this.isFileOwn) {
        await this.options.database.wal.writeIfRoom();
        this.isFileOwn = true;
      }
      return await this.log.append(appended, isSmall);
    } catch (error) {
      if (isDiskFull(error) || error instanceof DiskFullError) {
        await this.store.room.refused();
        throw new DiskFullError(path.join(this.store.directory, LOG_FOLDER));
      }
      // Another process has appended: its entries come first.
      if (error instanceof StoreUnavailableError) this.wait(error);
      throw error;
    }
  }

  /**
   * Applies an entry after those before it.
   * @param isAwaited whether a command learns of it if the entry is withdrawn
   * @throws PendingError if it has to wait
   */
  private inTurn<T>(entry: FileEntry, isAwaited = true): Promise<T> {
    const done = this.turn.then(async () => {
      if (this.whyWaiting !== null) throw this.pending(entry);
      try {
        return (await this.applied(entry, isAwaited)) as T;
      } catch (error) {
        if (!(error instanceof UnappliedError)) throw error;
        this.wait(error.cause);
        throw this.pending(entry);
      }
    });
    this.turn = done.catch(() => undefined);
    return done;
  }

  private pending({ position }: FileEntry): PendingError {
    return new PendingError(
      `it is entry ${position} in the log, not yet applied: ${this.whyWaiting}; it is applied as soon as that is over, before any other change`,
    );
  }

  /**
   * Applies an entry. One that cannot be applied is withdrawn, if the command that made it learns of it.
   * @throws UnappliedError if it has to be applied later; otherwise the error of applying it
   */
  private async applied(entry: FileEntry, isAwaited: boolean): Promise<unknown> {
    const { applied } = this.store;
    const mark = markAt(entry);
    for (let attempt = 1; ; attempt++) {
      try {
        if (entry.content === 'void') return applied.skip(mark);
        if (entry.content === 'bundle') {
          return await applied.applyBundle(entry.held ?? entry.file, mark);
        }
        return await applied.apply(unpackEntry(await contentOf(entry)), mark);
      } catch (error) {
        const isFinal = isRefused(error) || error instanceof DiskFullError;
        if (!isFinal && attempt < MAX_ATTEMPTS) {
          await sleep(RETRY_MS * attempt);
          continue;
        }
        if (isAwaited && (await this.isWithdrawn(entry))) throw error;
        if (!isRefused(error)) throw new UnappliedError(error);
        // It changes nothing, however often it is applied.
        applied.skip(mark);
        throw error;
      }
    }
  }

  /** Applies an entry of which no command awaits the outcome: if it is refused, the command has learned of it, or has ended. */
  private async appliedLate(entry: FileEntry): Promise<void> {
    try {
      await this.applied(entry, false);
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (!isOfDamage(error)) return;
      const dropped = `entry ${entry.position} of the log, of ${isoOf(entry.timeMs / 1000)}, is dropped: load again what it held`;
      this.options.onDropped(new DamageError(`${dropped} (${messageOf(error)})`, { cause: error }));
    }
  }

  private isWithdrawn(entry: FileEntry): Promise<boolean> {
    return this.log.withdraw(entry).then(
      () => true,
      () => false,
    );
  }

  private wait(error: unknown): void {
    this.whyWaiting = messageOf(error);
    this.waiting.began('waiting', this.whyWaiting);
    this.tryLater();
  }

  private tryLater(): void {
    if (this.timer !== null || this.isClosed) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.turn = this.turn.then(() => this.catchUp());
    }, CATCH_UP_EVERY_MS).unref();
  }

  private async catchUp(): Promise<void> {
    if (this.isClosed) return;
    try {
      for (const revocation of this.unwritten.values()) {
        await this.writeRevocation(revocation).catch(() => this.tryLater());
      }
      if (this.whyWaiting === null) return;
      // Each attempt on a full disk would open the database again.
      await this.store.room.checkCommits();
      for (const entry of await this.log.after(this.store.applied.ownMark)) {
        await this.appliedLate(entry);
      }
      this.whyWaiting = null;
      this.waiting.over();
    } catch (error) {
      this.wait(error instanceof UnappliedError ? error.cause : error);
    }
  }
}

function markAt({ logId, position, id, timeMs }: FileEntry): LogMark {
  return { logId, position, entryId: id, timeMs, isOwn: true };
}

/** Whether the entry fails for what it or the store holds: another attempt fails too. */
function isRefused(error: unknown): boolean {
  return error instanceof RefusalError || error instanceof StoreChangedError || isOfDamage(error);
}

function isOfDamage(error: unknown): boolean {
  return error instanceof DamagedDataError || isDamage(error);
}
