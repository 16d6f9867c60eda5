/**
 * The log of a single server: the folder `log`, with a file for each entry. Each names the entry before: so entries of
 * another store, or of another copy of this one, are recognized.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, lstat, open, rename, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { isoOf } from '../../compute/time.js';
import { LOG_FOLDER, makeDirectory } from '../data-directory.js';
import { namesInFolder, syncFile, writeFully } from '../disk.js';
import { absent, InputError, isDiskFull, StoreUnavailableError } from '../errors.js';
import { wallMs } from '../wall-clock.js';
import {
  checkContent,
  checksumOf,
  entryAt,
  type FileEntry,
  fileOf,
  FOOT_BYTES,
  type Foot,
  footOf,
  isEntryName,
  positionsIn,
  withFoot,
} from './entry-files.js';
import type { LogMark } from './mark.js';

const RESERVE_NAME = /^\d+\.reserve$/;
/** An entry that is being written. */
const UNFINISHED_NAME = /^[0-9a-f-]{36}\.new$/;
/** Files whose space is allocated in advance: revocations and withdrawals fit in them when the disk is full. */
const RESERVES = 16;
const RESERVE_BYTES = 4096;

/** What append() takes. */
export type Appended =
  /** A bundle's file on the same disk, which the log shares from then on, with its content if that is in memory. */
  | { bundle: string; content: Uint8Array | null }
  /** The bytes of another entry. */
  | { bundle: null; content: Uint8Array };

export class FileLog {
  /** One entry is appended at a time. */
  private appending: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly folder: string,
    /** Distinguishes this log from others; a log that lacks the store's last entry is another one. */
    public id: string,
    /** Positions of the first and last entries. */
    private first: number,
    private last: number,
    private lastId: string | null,
    /** Bytes of all entries. */
    public bytes: number,
  ) {}

  /**
   * Opens the log of a store, which may have no entry yet. Nothing is written.
   * @param mark the last entry that the store has applied; null if there is none
   * @param newId of a log that begins
   * @returns the log, and the entries that the store lacks
   * @throws InputError if entries are missing or damaged, or belong to another store
   */
  static async open(
    directory: string,
    mark: LogMark | null,
    newId: string,
  ): Promise<{ log: FileLog; missed: FileEntry[] }> {
    const folder = path.join(directory, LOG_FOLDER);
    const found = await positionsIn(folder);
    const missed = await missedBy(mark, folder, found);
    const newest = missed.at(-1) ?? (await lastOfMark(folder, found, mark));
    let bytes = 0;
    for (const position of found) bytes += (await lstat(fileOf(folder, position))).size;
    const log = new FileLog(
      folder,
      newest?.logId ?? newId,
      found[0] ?? (mark?.position ?? 0) + 1,
      newest?.position ?? mark?.position ?? 0,
      newest?.id ?? mark?.entryId ?? null,
      bytes,
    );
    return { log, missed };
  }

  /** Whether the folder has no entry. */
  get isEmpty(): boolean {
    return this.bytes === 0;
  }

  /**
   * Appends an entry: it is on the disk when this resolves.
   * @param isSmall whether it may take space that was allocated in advance if the disk is full
   * @throws StoreUnavailableError if another process has appended to the log
   * @throws the system's error, with nothing appended
   */
  append(appended: Appended, isSmall = false): Promise<FileEntry> {
    const done = this.appending.then(() => this.place(appended, isSmall));
    this.appending = done.catch(() => undefined);
    return done;
  }

  private async place(appended: Appended, isSmall: boolean): Promise<FileEntry> {
    if (!existsSync(this.folder)) await makeDirectory(this.folder);
    const position = this.last + 1;
    const { bundle, content: held } = appended;
    const ofFile = bundle !== null && held === null ? await checksumOf(bundle) : null;
    const entry: FileEntry = {
      logId: this.id,
      position,
      id: randomUUID(),
      previousId: this.lastId,
      timeMs: wallMs(),
      content: bundle === null ? 'entry' : 'bundle',
      ...(ofFile ?? { bytes: held?.length ?? 0, crc32: crc32(held ?? '') }),
      file: fileOf(this.folder, position),
      held,
    };
    const made =
      appended.bundle === null
        ? await this.fileWith(Buffer.concat([appended.content, footOf(entry)]), isSmall)
        : await withFoot(appended.bundle, entry);
    try {
      // Unlike renaming, linking does not replace a file.
      await link(made, entry.file).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        throw new StoreUnavailableError(
          `${entry.file} exists: another process has appended to this log; nothing was stored`,
        );
      });
      await syncFile(this.folder).catch(async (error: unknown) => {
        await rm(entry.file, { force: true });
        throw error;
      });
    } finally {
      // A bundle's other name is removed by the command that made it.
      if (bundle === null) await rm(made, { force: true }).catch(() => undefined);
    }
    this.last = position;
    this.lastId = entry.id;
    this.bytes += entry.bytes + FOOT_BYTES;
    if (isSmall || position === this.first) await this.reserve();
    return entry;
  }

  /**
   * Withdraws an entry that changed nothing. Between others, its place stays.
   * @throws the system's error, with nothing changed
   */
  withdraw(entry: FileEntry): Promise<void> {
    const done = this.appending.then(() => this.removed(entry));
    this.appending = done.catch(() => undefined);
    return done;
  }

  private async removed(entry: FileEntry): Promise<void> {
    if (entry.position === this.last && entry.position > this.first) {
      await rm(entry.file);
      await syncFile(this.folder);
      this.last--;
      this.lastId = entry.previousId;
      this.bytes -= entry.bytes + FOOT_BYTES;
      return;
    }
    const nothing: Foot = { ...entry, content: 'void', bytes: 0, crc32: 0 };
    const made = await this.fileWith(footOf(nothing), true);
    await rename(made, entry.file);
    await syncFile(this.folder);
    this.bytes -= entry.bytes;
    await this.reserve();
  }

  /** Allocates the space of small entries, as far as there is any. */
  async reserve(): Promise<void> {
    try {
      await makeDirectory(this.folder);
      const names = new Set(await namesInFolder(this.folder));
      const wanted = Array.from({ length: RESERVES }, (_, i) => `${i}.reserve`);
      const making = wanted
        .filter((name) => !names.has(name))
        .map((name) => writtenFile(path.join(this.folder, name), Buffer.alloc(RESERVE_BYTES)));
      // At once: the file system writes them together. None is left half made.
      await Promise.allSettled(making);
    } catch {
      // Tried again after the next small entry, and at the next start.
    }
  }

  /** A file with these bytes, on the disk. */
  private async fileWith(bytes: Buffer, isSmall: boolean): Promise<string> {
    const name = path.join(this.folder, `${randomUUID()}.new`);
    try {
      await writtenFile(name, bytes);
      return name;
    } catch (error) {
      const reserve =
        isSmall && isDiskFull(error) && bytes.length <= RESERVE_BYTES
          ? await this.reserved()
          : null;
      if (reserve === null) throw error;
      await rename(reserve, name);
      const handle = await open(name, 'r+');
      try {
        await writeFully(handle, bytes, 0);
        await handle.truncate(bytes.length);
        await handle.sync();
      } finally {
        await handle.close();
      }
      return name;
    }
  }

  private async reserved(): Promise<string | null> {
    const name = (await namesInFolder(this.folder)).find((name) => RESERVE_NAME.test(name));
    return name === undefined ? null : path.join(this.folder, name);
  }

  /** The entries after a position, in order. @throws InputError if one is missing or damaged */
  async after(mark: LogMark | null): Promise<FileEntry[]> {
    const missed = await missedBy(mark, this.folder, await positionsIn(this.folder));
    const newest = missed.at(-1);
    if (newest !== undefined && newest.position > this.last) {
      // Another process has appended it.
      this.last = newest.position;
      this.lastId = newest.id;
    }
    return missed;
  }

  /** Removes the entries up to a position, which the database's file has. The newest stays: it names the log. */
  async trim(position: number): Promise<void> {
    for (; this.first <= Math.min(position, this.last - 1); this.first++) {
      const file = fileOf(this.folder, this.first);
      const found = await lstat(file).catch(() => null);
      await rm(file, { force: true });
      this.bytes -= found?.size ?? 0;
    }
  }
}

/** Whether a log has entries that its store lacks. @throws InputError if a start would refuse them */
export async function hasMissed(directory: string, mark: LogMark | null): Promise<boolean> {
  const folder = path.join(directory, LOG_FOLDER);
  return (await missedBy(mark, folder, await positionsIn(folder))).length > 0;
}

/**
 * What is wrong with the entries of a directory's log, all of which are read. A server may append and trim meanwhile.
 * @param applied the store's mark; asked for after the entries are listed
 */
export async function logFaults(
  directory: string,
  applied: () => Promise<LogMark | null>,
): Promise<string[]> {
  const folder = path.join(directory, LOG_FOLDER);
  const faults: string[] = [];
  const note = (error: unknown): void => {
    if (error instanceof InputError) faults.push(error.message);
    // A checkpoint has let it go, or a command's failure.
    else absent(error);
  };
  const found = await positionsIn(folder);
  const mark = await applied();
  for (const position of found) await entryAt(folder, position).then(checkContent).catch(note);
  if (faults.length === 0) await missedBy(mark, folder, found).catch(note);
  return faults;
}

/** Removes a log with everything that Fathom has written into it, and nothing else. */
export async function removeLog(directory: string): Promise<void> {
  const folder = path.join(directory, LOG_FOLDER);
  for (const name of await namesInFolder(folder)) {
    const isOurs = isEntryName(name) || RESERVE_NAME.test(name) || UNFINISHED_NAME.test(name);
    if (isOurs) await rm(path.join(folder, name), { force: true });
  }
  await rmdir(folder).catch(() => undefined);
}

/** The entries that a store lacks, each with a content that is whole. */
async function missedBy(
  mark: LogMark | null,
  folder: string,
  found: readonly number[],
): Promise<FileEntry[]> {
  const applied = mark?.position ?? 0;
  const missed: FileEntry[] = [];
  let previousId = mark?.entryId ?? null;
  for (const position of found) {
    if (position <= applied) continue;
    const expected = applied + 1 + missed.length;
    const entry = await entryAt(folder, position);
    if (position !== expected)
      throw gap(folder, expected, entry, missed.at(-1)?.timeMs ?? mark?.timeMs);
    if (entry.previousId !== previousId) throw foreign(folder);
    await checkContent(entry);
    missed.push(entry);
    previousId = entry.id;
  }
  return missed;
}

function gap(folder: string, expected: number, next: FileEntry, sinceMs?: number): InputError {
  const entries =
    next.position - expected === 1
      ? `entry ${expected} is`
      : `entries ${expected} to ${next.position - 1} are`;
  const since = sinceMs === undefined ? '' : `, with what was stored after ${timeOf(sinceMs)}`;
  return new InputError(
    `${folder}: ${entries} missing${since} and before ${timeOf(next.timeMs)}: put back the missing files, or the database that belongs to this log, or restore a backup`,
  );
}

function foreign(folder: string): InputError {
  return new InputError(
    `${folder} does not belong to the database beside it: it continues another store, or another copy of this one. Put back the folder that belongs to the database; to go on without what only this folder has, move it away`,
  );
}

/** The store's last entry, if the log has it. @throws InputError if the log is another store's */
async function lastOfMark(
  folder: string,
  found: readonly number[],
  mark: LogMark | null,
): Promise<FileEntry | null> {
  if (mark === null || found.length === 0) return null;
  const newest = await entryAt(folder, found[found.length - 1]);
  if (newest.logId !== mark.logId) throw foreign(folder);
  if (newest.position !== mark.position) return null;
  if (newest.id !== mark.entryId) throw foreign(folder);
  return newest;
}

/** Makes a file that is on the disk when this resolves, or none. */
async function writtenFile(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await writeFully(handle, bytes, 0);
    await handle.datasync();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

const timeOf = (ms: number): string => isoOf(Math.floor(ms / 1000));
