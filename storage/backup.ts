/**
 * Copies a store while a server may have it open and change it. After a checkpoint, DuckDB changes no block of the
 * file until the next one: later commits go into the WAL and into free blocks. So a copy has the store's state at the
 * checkpoint, unless another checkpoint follows during the copy, which the file's changed head reveals.
 */
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  DATABASE_FILE,
  makeDirectory,
  makePrivate,
  PARTIAL_FILE,
  PEPPER_FILE,
  removeMadeDirectories,
} from './data-directory.js';
import { freeBytesOf, readFully, syncFile, writeFully, writeWhole } from './disk.js';
import { absent, DiskFullError, InputError, isDiskFull } from './errors.js';
import type { ArchiveStatus, UseStore } from './operations.js';

/** The beginning of a DuckDB file: its head, and the heads of its last two checkpoints. */
const HEAD_BYTES = 3 * 4096;
/** Bytes copied at once. */
const COPIED_AT_ONCE = 4 * 1024 * 1024;
/** Attempts to copy the file: a WAL that grows too long during a copy forces a checkpoint. */
const MAX_ATTEMPTS = 3;
/** Free bytes to leave on the disk. */
const SPARE_BYTES = 16 * 1024 * 1024;
/** Small files beside the database; the last is the demo's. */
const SMALL_FILES = [PEPPER_FILE, 'demo.json'];
/** What a killed backup may leave in its directory. */
const LEFT_OVERS = [
  ...SMALL_FILES.flatMap((name) => [name, `${name}.new`]),
  // Last: this file shows that the others are left over.
  PARTIAL_FILE,
];
/** What a file system has in its root: a separate disk counts as empty. */
const DISK_ROOT = 'lost+found';

interface Copied {
  bytes: number;
  /** Of the last entry of the log that it includes; 0 if there is none. */
  position: number;
  /** The objects of the archive that its days are in: they stay where they are. */
  archived: Pick<ArchiveStatus, 'place' | 'objects' | 'bytes'>;
}

interface BackupRequest {
  /** The data directory; it holds a store. */
  directory: string;
  /** Where the copy goes: a directory that is empty, or that does not exist. */
  out: string;
  useStore: UseStore;
  /** @param share of the bytes that are copied, 0 to 1 */
  onProgress?: (share: number) => void | Promise<void>;
}

/**
 * Copies the store into a directory. The database has another name until the whole copy is on the disk: only then
 * does the directory hold a store.
 * @throws InputError if the directory is not empty or inside the store's, or if its disk has too little room
 */
export async function backupStore(request: BackupRequest): Promise<Copied> {
  const { directory, out } = request;
  await checkOut(directory, out);
  await makeDirectory(out);
  const partial = path.join(out, PARTIAL_FILE);
  let target: FileHandle | null = null;
  try {
    await makePrivate(out);
    // Another backup may have left this file, or may be writing it.
    await rm(partial, { force: true });
    target = await open(partial, 'wx', 0o600);
    const copied = await copyInto(target, request);
    if (!(await isNameOf(target, partial))) {
      throw new InputError(`out: another backup is writing to ${out}`);
    }
    await rename(partial, path.join(out, DATABASE_FILE));
    await syncFile(out);
    await syncFile(path.dirname(out));
    return copied;
  } catch (error) {
    if (target !== null && (await isNameOf(target, partial))) {
      for (const name of LEFT_OVERS) await rm(path.join(out, name), { force: true });
    }
    await removeMadeDirectories(out);
    throw isDiskFull(error) ? new DiskFullError(out) : error;
  } finally {
    await target?.close();
  }
}

/** Whether this is still the name of an open file. */
async function isNameOf(file: FileHandle, name: string): Promise<boolean> {
  const named = await stat(name).catch(() => null);
  return named?.ino === (await file.stat()).ino;
}

async function checkOut(directory: string, out: string): Promise<void> {
  const below = path.relative(directory, out);
  if (!below.startsWith('..') && !path.isAbsolute(below)) {
    throw new InputError(`out: expected a directory outside of ${directory}`);
  }
  const names: string[] = await readdir(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    if (error.code === 'ENOTDIR') throw new InputError(`out: ${out} is a file, or lies below one`);
    throw error;
  });
  const known = names.includes(PARTIAL_FILE) ? [...LEFT_OVERS, DISK_ROOT] : [DISK_ROOT];
  if (names.some((name) => !known.includes(name))) {
    throw new InputError(
      `out: ${out} is not empty: expected an empty directory, or one that does not exist`,
    );
  }
}

async function copyInto(target: FileHandle, request: BackupRequest): Promise<Copied> {
  const { directory, out, useStore, onProgress } = request;
  // If DuckDB has the file open in this process, this handle must stay open until DuckDB has closed it: closing any
  // handle ends DuckDB's lock.
  const source = await open(path.join(directory, DATABASE_FILE), 'r');
  try {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const copied = await useStore(async (store) => {
        const position = await store.holdFile();
        const archived = await store.archiveStatus();
        await checkRoom(out, (await source.stat()).size);
        const small = await copySmallFiles(directory, out);
        const large = await copyDatabase(source, target, onProgress);
        return large === null ? null : { bytes: small + large, position, archived };
      });
      if (copied !== null) return copied;
    }
  } finally {
    await source.close();
  }
  throw new InputError(
    `${directory} receives more data during a copy than its WAL holds: back it up when less arrives, or to a faster disk`,
  );
}

async function copySmallFiles(directory: string, out: string): Promise<number> {
  let bytes = 0;
  for (const name of SMALL_FILES) {
    const content = await readFile(path.join(directory, name)).catch(absent);
    if (content === null) continue;
    await writeWhole(path.join(out, name), content);
    bytes += content.length;
  }
  return bytes;
}

/** @returns the bytes of the copy; null if the file changed during the copy */
async function copyDatabase(
  source: FileHandle,
  target: FileHandle,
  onProgress: BackupRequest['onProgress'],
): Promise<number | null> {
  const { size } = await source.stat();
  const head = await headOf(source);
  await target.truncate(size);
  const buffer = Buffer.allocUnsafe(COPIED_AT_ONCE);
  for (let at = 0; at < size; at += buffer.length) {
    await onProgress?.(at / size);
    const part = buffer.subarray(0, Math.min(buffer.length, size - at));
    if ((await readFully(source, part, at)) < part.length) return null;
    await writeFully(target, part, at);
  }
  await writeFully(target, head, 0);
  await target.sync();
  return (await headOf(source)).equals(head) ? size : null;
}

async function headOf(source: FileHandle): Promise<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES);
  return head.subarray(0, await readFully(source, head, 0));
}

/** @throws InputError if a disk has too little room */
async function checkRoom(directory: string, bytes: number): Promise<void> {
  const [needed, free] = [bytes + SPARE_BYTES, await freeBytesOf(directory)];
  if (free >= needed) return;
  const mib = (value: number): string => `${Math.ceil(value / 2 ** 20)} MiB`;
  throw new InputError(`out: the backup needs ${mib(needed)}, and its disk has ${mib(free)} free`);
}
