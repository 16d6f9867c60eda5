/**
 * Files about segments in a folder beside the store, limited in size: a cache, from which any file may disappear at any
 * time. A file's name states its key and size, so no file is read at the start.
 */
import { closeSync, open, read } from 'node:fs';
import { lstat, mkdir, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { LargeMap } from '../compute/large-map.js';
import { countedCache } from './counted-cache.js';
import { freeBytesOf, namesInFolder } from './disk.js';
import { isDiskFull } from './errors.js';
import { Trouble } from './trouble.js';
import { listInTurns, sortInTurns, Turns } from './turns.js';

/** Suffix of a file's name while it is being written, after a number. */
const PARTIAL = '.new';
const PARTIAL_ENDING = /\.[1-9][0-9]{0,15}\.new$/;
/** Free bytes on the disk that are left to the store. */
const KEPT_FREE_BYTES = 2 ** 30;
/** The disk's unit: a file takes a whole number of blocks. */
const BLOCK_BYTES = 4096;
/** Each takes about 250 bytes of memory. */
const MAX_FILES = 2 ** 20;
/** Segments looked up in the store at once. */
const IDS_AT_ONCE = 4096;
/** How many files to remove next are found by one sort of all files. */
const VICTIMS_AT_ONCE = 1024;
/** How many removed segments are remembered: their files may still be in the making. */
const MAX_REMOVED = 65_536;

/** A key has the segment that the file is about: without it the file goes. */
interface SegmentKey {
  segmentId: number;
}

/** What a file's name states. */
export type NamedFile<K extends SegmentKey> = K & { bytes: number };

/** One kind of files: their folder, names and content. */
export interface FileKind<K extends SegmentKey, C> {
  /** The folder's name within a data directory. */
  folder: string;
  nameOf(file: NamedFile<K>): string;
  /** What a name states; null if it is not exactly one that nameOf() gives: such files are never touched. */
  fileOf(name: string): NamedFile<K> | null;
  /** A key as text. It ends with its most variable part, as LargeMap needs. */
  textOf(key: K): string;
  /** All keys that a segment may have. */
  keysOf(segmentId: number): K[];
  /** A file's content; null if its checksum does not match, or if it belongs to another key or version. */
  unpack(bytes: Uint8Array, key: K): C | null;
}

/** Of a kind, what tells its files from others. */
interface Names {
  folder: string;
  fileOf(name: string): object | null;
}

/** Whether a file with this name is one of a kind, whole or not. */
function isOf(kind: Names, name: string): boolean {
  return kind.fileOf(name.replace(PARTIAL_ENDING, '')) !== null;
}

/**
 * Deletes all files of a kind, and the folder if nothing else is there. A link in place of the folder stays, with what it
 * leads to.
 */
export async function removeFiles(kind: Names, directory: string): Promise<void> {
  const folder = path.join(directory, kind.folder);
  const names = (await namesInFolder(folder)).filter((name) => isOf(kind, name));
  for (const name of names) await removeFile(path.join(folder, name));
  await rmdir(folder).catch(() => undefined);
}

/** Never a folder, nor what a link leads to. A file that cannot be removed now is removed at the next start. */
function removeFile(file: string): Promise<void> {
  return unlink(file).catch(() => undefined);
}

/** The bytes that a file takes on the disk. */
function diskBytes(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

interface Entry<K extends SegmentKey> {
  file: NamedFile<K>;
  /** Increases with each use of the file; 0 if there was none since the start. */
  lastUse: number;
}

/** A file that was read: its bytes, and what they hold. */
interface ReadFile<C> {
  bytes: Uint8Array;
  content: C;
}

export interface FileCacheOptions {
  /** The data directory. */
  directory: string;
  maxBytes: number;
  /** Returns which of the ids the store has. */
  stored: (ids: readonly number[]) => Promise<ReadonlySet<number>>;
  /** Called once when files can no longer be written, and once, with null, when they can be again. */
  onTrouble: (error: unknown) => void;
  keptFreeBytes?: number;
}

export class FileCache<K extends SegmentKey, C> {
  private readonly folder: string;
  private readonly entries = new LargeMap<string, Entry<K>>();
  /** Bytes of all files on the disk. */
  bytes = 0;
  private uses = 0;
  /** The next files to remove, the first at the end; some may have been used since, or be gone. */
  private victims: { entry: Entry<K>; lastUse: number }[] = [];
  private readonly removed = countedCache<number, true>(MAX_REMOVED);
  private written = 0;
  /** The folder is a link: files there may be another program's, and none is read, written or deleted. */
  private isLink = false;
  /** Number of files read since the start. */
  reads = 0;
  /** Number of files that could not be written since the start. */
  failures = 0;
  private readonly trouble: Trouble<unknown>;
  /** Removals in the background. */
  private working: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly kind: FileKind<K, C>,
    private readonly options: FileCacheOptions,
  ) {
    this.folder = path.join(options.directory, kind.folder);
    this.trouble = new Trouble({
      onBegan: options.onTrouble,
      onOver: () => options.onTrouble(null),
    });
  }

  /** Opens the folder, and removes files of this kind that belong to no stored segment. */
  static async open<K extends SegmentKey, C>(
    kind: FileKind<K, C>,
    options: FileCacheOptions,
  ): Promise<FileCache<K, C>> {
    const files = new FileCache(kind, options);
    await files.list();
    return files;
  }

  get count(): number {
    return this.entries.size;
  }

  /** Whether files cannot be written at the moment. */
  get inTrouble(): boolean {
    return this.trouble.lasts;
  }

  has(key: K): boolean {
    return this.entries.has(this.kind.textOf(key));
  }

  /** Whether this many more files of average size fit without removing one. */
  hasRoom(files: number): boolean {
    const bytes = files * (this.bytes / Math.max(1, this.count));
    return !this.trouble.lasts && this.fits(bytes, files);
  }

  /** Records that a file was of use. */
  touch(key: K): void {
    const entry = this.entries.get(this.kind.textOf(key));
    if (entry !== undefined) entry.lastUse = ++this.uses;
  }

  /**
   * A file's bytes and content; null, and the file is dropped, if it is gone, has another length or is damaged.
   * @param memory returns an ArrayBuffer of at least so many bytes; they begin it
   */
  async read(
    key: K,
    memory = (bytes: number) => new ArrayBuffer(bytes),
  ): Promise<ReadFile<C> | null> {
    const entry = this.entries.get(this.kind.textOf(key));
    if (entry === undefined) return null;
    const name = path.join(this.folder, this.kind.nameOf(entry.file));
    const bytes = await readFile(name, entry.file.bytes, memory);
    if (bytes !== null) this.reads++;
    const content = bytes && this.kind.unpack(bytes, key);
    if (bytes === null || content === null) {
      // Not a file that has replaced it in the meantime.
      if (this.entries.get(this.kind.textOf(key)) === entry) this.drop(key);
      return null;
    }
    return { bytes, content };
  }

  /** Removes a file. */
  drop(key: K): void {
    const entry = this.entries.get(this.kind.textOf(key));
    if (entry === undefined) return;
    this.forget(entry);
    this.later(() => this.unlink(entry.file));
  }

  /** Removes the files of segments that the store no longer has. */
  remove(segmentIds: readonly number[]): void {
    for (const segmentId of segmentIds) {
      this.removed.set(segmentId, true);
      for (const key of this.kind.keysOf(segmentId)) this.drop(key);
    }
  }

  /**
   * Whether to store files that no request needed: there is room, or they replace a file of an older segment that no
   * request has used since the start.
   */
  async acceptsAhead(segmentId: number, files: number): Promise<boolean> {
    if (this.hasRoom(files)) return true;
    if (this.trouble.lasts) return false;
    const victim = await this.nextVictim();
    return victim !== null && victim.lastUse === 0 && victim.file.segmentId < segmentId;
  }

  /** Writes a file. To stay within the limit, removes files of the oldest segments, or the least recently used. */
  async write(key: K, content: Uint8Array): Promise<void> {
    const taken = diskBytes(content.length);
    if (taken > this.options.maxBytes) return;
    try {
      if (this.isLink) throw new Error(`${this.folder} is a link: mount a disk there instead`);
      await this.makeRoom(taken);
      await this.checkFree(content.length);
      await this.writeWhole({ file: { ...key, bytes: content.length }, lastUse: 0 }, content);
      this.trouble.over();
    } catch (error) {
      this.failures++;
      this.trouble.began(isDiskFull(error) ? 'full' : 'other', error);
    }
  }

  /** Resolves once all files dropped so far are gone. */
  async settled(): Promise<void> {
    await this.working;
  }

  private async list(): Promise<void> {
    this.isLink = (await lstat(this.folder).catch(() => null))?.isSymbolicLink() === true;
    const names = (await namesInFolder(this.folder)).filter((name) => isOf(this.kind, name));
    const found: NamedFile<K>[] = [];
    const strays: string[] = [];
    const turns = new Turns();
    for (const name of names) {
      const file = this.kind.fileOf(name);
      if (file === null) strays.push(name);
      else found.push(file);
      await turns.take();
    }
    for (let from = 0; from < found.length; from += IDS_AT_ONCE) {
      const part = found.slice(from, from + IDS_AT_ONCE);
      const ids = [...new Set(part.map(({ segmentId }) => segmentId))];
      const stored = await this.options.stored(ids);
      for (const file of part) {
        if (stored.has(file.segmentId) && !this.has(file)) this.add({ file, lastUse: 0 });
        else strays.push(this.kind.nameOf(file));
      }
    }
    this.later(async () => {
      for (const name of strays) await removeFile(path.join(this.folder, name));
    });
  }

  private add(entry: Entry<K>): void {
    this.entries.set(this.kind.textOf(entry.file), entry);
    this.bytes += diskBytes(entry.file.bytes);
  }

  private forget(entry: Entry<K>): void {
    this.entries.delete(this.kind.textOf(entry.file));
    this.bytes -= diskBytes(entry.file.bytes);
  }

  private async writeWhole(entry: Entry<K>, content: Uint8Array): Promise<void> {
    const name = path.join(this.folder, this.kind.nameOf(entry.file));
    const partial = `${name}.${++this.written}${PARTIAL}`;
    try {
      // Not synced: a file truncated by a crash is recognized by its checksum.
      await writeFile(partial, content, { mode: 0o600 }).catch(async (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        await mkdir(this.folder, { recursive: true, mode: 0o700 });
        await writeFile(partial, content, { mode: 0o600 });
      });
      await rename(partial, name);
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw error;
    }
    // The segment may have been removed in the meantime.
    if (this.removed.has(entry.file.segmentId)) return this.unlink(entry.file);
    const old = this.entries.get(this.kind.textOf(entry.file));
    if (old !== undefined) {
      this.forget(old);
      if (old.file.bytes !== entry.file.bytes) await this.unlink(old.file);
    }
    this.add(entry);
  }

  /** @throws if the disk has too little room, like the system if it has none */
  private async checkFree(bytes: number): Promise<void> {
    const { keptFreeBytes = KEPT_FREE_BYTES, directory } = this.options;
    const freeBytes = await freeBytesOf(directory);
    if (freeBytes >= bytes + keptFreeBytes) return;
    const text = `the disk has ${freeBytes} bytes free: ${keptFreeBytes} are left to the store`;
    throw Object.assign(new Error(text), { code: 'ENOSPC' });
  }

  private fits(bytes: number, files: number): boolean {
    return this.bytes + bytes <= this.options.maxBytes && this.count + files <= MAX_FILES;
  }

  private async makeRoom(bytes: number): Promise<void> {
    while (!this.fits(bytes, 1)) {
      const victim = await this.nextVictim();
      if (victim === null) return;
      this.victims.pop();
      this.forget(victim);
      await this.unlink(victim.file);
    }
  }

  /** The next file to remove: an unused one of the oldest segment, otherwise the least recently used. */
  private async nextVictim(): Promise<Entry<K> | null> {
    for (let sorts = 0; ; sorts++) {
      for (let last; (last = this.victims.at(-1)) !== undefined; this.victims.pop()) {
        const { entry, lastUse } = last;
        if (entry.lastUse === lastUse && this.entries.get(this.kind.textOf(entry.file)) === entry)
          return entry;
      }
      if (sorts === 2 || this.entries.size === 0) return null;
      const turns = new Turns();
      const all = await listInTurns(this.entries.values());
      const order = (a: Entry<K>, b: Entry<K>) =>
        a.lastUse - b.lastUse || a.file.segmentId - b.file.segmentId;
      const sorted = await sortInTurns(all, order, turns);
      // Used files are considered once no unused ones are left.
      this.victims = sorted
        .slice(0, VICTIMS_AT_ONCE)
        .filter(({ lastUse }) => lastUse === 0 || sorted[0].lastUse > 0)
        .map((entry) => ({ entry, lastUse: entry.lastUse }))
        .reverse();
    }
  }

  private unlink(file: NamedFile<K>): Promise<void> {
    return removeFile(path.join(this.folder, this.kind.nameOf(file)));
  }

  private later(work: () => Promise<void>): void {
    this.working = this.working.then(work);
  }
}

/** A file with exactly this many bytes; null if it has another length or cannot be read. Cheaper than node:fs/promises. */
function readFile(
  name: string,
  bytes: number,
  memory: (bytes: number) => ArrayBuffer,
): Promise<Uint8Array | null> {
  return new Promise((resolve) => {
    open(name, 'r', (error, file) => {
      if (error !== null) return resolve(null);
      // One byte more than expected, to recognize a longer file.
      const content = new Uint8Array(memory(bytes + 1));
      read(file, content, 0, bytes + 1, 0, (failure, length) => {
        // Waking another thread for it would take longer.
        closeSync(file);
        resolve(failure === null && length === bytes ? content.subarray(0, bytes) : null);
      });
    });
  });
}
