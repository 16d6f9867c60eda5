/**
 * Fragments of segments as files in a folder beside the store, limited in size: a cache, from which any file may
 * disappear at any time. A file's name states its segment, form and size, so no file is read at the start.
 */
import { closeSync, open, read } from 'node:fs';
import { lstat, mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { FragmentsKey } from '../compute/replay/fragment-file.js';
import {
  FRAGMENT_CODINGS,
  FRAGMENT_GROUPS,
  type FragmentCoding,
  type FragmentGroup,
} from '../compute/replay/fragments.js';
import { LargeMap } from '../compute/large-map.js';
import { countedCache } from './counted-cache.js';
import { freeBytesOf, namesInFolder } from './disk.js';
import { isDiskFull } from './errors.js';
import { Trouble } from './trouble.js';
import { listInTurns, sortInTurns, Turns } from './turns.js';

/** The folder's name within a data directory. */
export const FRAGMENTS_FOLDER = 'fragments';
const NAME = new RegExp(
  `^([1-9][0-9]{0,15})-(${FRAGMENT_GROUPS.join('|')})-([1-9][0-9]{0,9})\\.(${FRAGMENT_CODINGS.join('|')})$`,
);
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
/** How many removed segments are remembered: their fragments may still be in the making. */
const MAX_REMOVED = 65_536;

/** What a file's name states. */
export interface FragmentFile extends FragmentsKey {
  bytes: number;
}

/** The file with this name; null if this version writes no such name. */
export function fragmentFileOf(name: string): FragmentFile | null {
  const found = NAME.exec(name);
  if (found === null) return null;
  const [, segmentId, group, bytes, coding] = found;
  return {
    segmentId: Number(segmentId),
    group: group as FragmentGroup,
    coding: coding as FragmentCoding,
    bytes: Number(bytes),
  };
}

/** Whether a file with this name is one of fragments, whole or not. */
function isOurs(name: string): boolean {
  return fragmentFileOf(name.replace(PARTIAL_ENDING, '')) !== null;
}

/**
 * Deletes all files of fragments, and the folder if nothing else is there. A link in place of the folder stays, with what
 * it leads to.
 */
export async function removeFragmentFiles(directory: string): Promise<void> {
  const folder = path.join(directory, FRAGMENTS_FOLDER);
  const names = (await namesInFolder(folder)).filter(isOurs);
  for (const name of names) await removeFile(path.join(folder, name));
  await rmdir(folder).catch(() => undefined);
}

/** Never a folder, nor what a link leads to. A file that cannot be removed now is removed at the next start. */
function removeFile(file: string): Promise<void> {
  return rm(file, { force: true }).catch(() => undefined);
}

function nameOf({ segmentId, group, bytes, coding }: FragmentFile): string {
  return `${segmentId}-${group}-${bytes}.${coding}`;
}

/** A key as text. It ends with its most variable part, as LargeMap needs. */
export function textOfKey({ segmentId, group, coding }: FragmentsKey): string {
  return `${group}-${coding}-${segmentId}`;
}

/** The bytes that a file takes on the disk. */
function diskBytes({ bytes }: Pick<FragmentFile, 'bytes'>): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

interface Entry extends FragmentFile {
  /** Increases with each page made from the file; 0 if there was none since the start. */
  lastUse: number;
}

export interface FragmentFilesOptions {
  /** The data directory. */
  directory: string;
  maxBytes: number;
  /** Returns which of the ids the store has. */
  stored: (ids: readonly number[]) => Promise<ReadonlySet<number>>;
  /** Called once when files can no longer be written, and once, with null, when they can be again. */
  onTrouble: (error: unknown) => void;
  keptFreeBytes?: number;
}

export class FragmentFiles {
  private readonly folder: string;
  private readonly entries = new LargeMap<string, Entry>();
  /** Bytes of all files on the disk. */
  bytes = 0;
  private uses = 0;
  /** The next files to remove, the first at the end; some may have been used since, or be gone. */
  private victims: { entry: Entry; lastUse: number }[] = [];
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

  private constructor(private readonly options: FragmentFilesOptions) {
    this.folder = path.join(options.directory, FRAGMENTS_FOLDER);
    this.trouble = new Trouble({
      onBegan: options.onTrouble,
      onOver: () => options.onTrouble(null),
    });
  }

  /** Opens the folder, and removes files of fragments that belong to no stored segment. */
  static async open(options: FragmentFilesOptions): Promise<FragmentFiles> {
    const files = new FragmentFiles(options);
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

  has(key: FragmentsKey): boolean {
    return this.entries.has(textOfKey(key));
  }

  /** Whether this many more files of average size fit without removing one. */
  hasRoom(files: number): boolean {
    const bytes = files * (this.bytes / Math.max(1, this.count));
    return !this.trouble.lasts && this.fits(bytes, files);
  }

  /** Records that a page was made from these fragments. */
  touch(key: FragmentsKey): void {
    const entry = this.entries.get(textOfKey(key));
    if (entry !== undefined) entry.lastUse = ++this.uses;
  }

  /**
   * A file's bytes, not checked yet; null if the file is gone or has another length.
   * @param memory returns an ArrayBuffer of at least so many bytes; they begin it
   */
  async read(
    key: FragmentsKey,
    memory = (bytes: number) => new ArrayBuffer(bytes),
  ): Promise<Uint8Array | null> {
    const entry = this.entries.get(textOfKey(key));
    if (entry === undefined) return null;
    const name = path.join(this.folder, nameOf(entry));
    const bytes = await readFile(name, entry.bytes, memory);
    if (bytes === null) this.drop(key);
    else this.reads++;
    return bytes;
  }

  /** Removes a file, such as a damaged one. */
  drop(key: FragmentsKey): void {
    const entry = this.entries.get(textOfKey(key));
    if (entry === undefined) return;
    this.forget(entry);
    this.later(() => this.unlink(entry));
  }

  /** Removes the files of segments that the store no longer has. */
  remove(segmentIds: readonly number[]): void {
    for (const segmentId of segmentIds) {
      this.removed.set(segmentId, true);
      for (const group of FRAGMENT_GROUPS) {
        for (const coding of FRAGMENT_CODINGS) this.drop({ segmentId, group, coding });
      }
    }
  }

  /**
   * Whether to store fragments that no request needed: there is room, or they replace a file of an older segment that no
   * request has used since the start.
   */
  async acceptsAhead(segmentId: number, files: number): Promise<boolean> {
    if (this.hasRoom(files)) return true;
    if (this.trouble.lasts) return false;
    const victim = await this.nextVictim();
    return victim !== null && victim.lastUse === 0 && victim.segmentId < segmentId;
  }

  /** Writes a file. To stay within the limit, removes files of the oldest segments, or the least recently used. */
  async write(key: FragmentsKey, content: Uint8Array): Promise<void> {
    const entry = { ...key, bytes: content.length, lastUse: 0 };
    if (diskBytes(entry) > this.options.maxBytes) return;
    try {
      if (this.isLink) throw new Error(`${this.folder} is a link: mount a disk there instead`);
      await this.makeRoom(diskBytes(entry));
      await this.checkFree(content.length);
      await this.writeWhole(entry, content);
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
    const names = (await namesInFolder(this.folder)).filter(isOurs);
    const found: Entry[] = [];
    const strays: string[] = [];
    const turns = new Turns();
    for (const name of names) {
      const file = fragmentFileOf(name);
      if (file === null) strays.push(name);
      else found.push({ ...file, lastUse: 0 });
      await turns.take();
    }
    for (let from = 0; from < found.length; from += IDS_AT_ONCE) {
      const part = found.slice(from, from + IDS_AT_ONCE);
      const ids = [...new Set(part.map(({ segmentId }) => segmentId))];
      const stored = await this.options.stored(ids);
      for (const file of part) {
        if (stored.has(file.segmentId) && !this.has(file)) this.add(file);
        else strays.push(nameOf(file));
      }
    }
    this.later(async () => {
      for (const name of strays) await removeFile(path.join(this.folder, name));
    });
  }

  private add(entry: Entry): void {
    this.entries.set(textOfKey(entry), entry);
    this.bytes += diskBytes(entry);
  }

  private forget(entry: Entry): void {
    this.entries.delete(textOfKey(entry));
    this.bytes -= diskBytes(entry);
  }

  private async writeWhole(entry: Entry, content: Uint8Array): Promise<void> {
    const name = path.join(this.folder, nameOf(entry));
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
    if (this.removed.has(entry.segmentId)) return this.unlink(entry);
    const old = this.entries.get(textOfKey(entry));
    if (old !== undefined) {
      this.forget(old);
      if (old.bytes !== entry.bytes) await this.unlink(old);
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
      await this.unlink(victim);
    }
  }

  /** The next file to remove: an unused one of the oldest segment, otherwise the least recently used. */
  private async nextVictim(): Promise<Entry | null> {
    for (let sorts = 0; ; sorts++) {
      for (let last; (last = this.victims.at(-1)) !== undefined; this.victims.pop()) {
        const { entry, lastUse } = last;
        if (entry.lastUse === lastUse && this.entries.get(textOfKey(entry)) === entry) return entry;
      }
      if (sorts === 2 || this.entries.size === 0) return null;
      const turns = new Turns();
      const all = await listInTurns(this.entries.values());
      const order = (a: Entry, b: Entry) => a.lastUse - b.lastUse || a.segmentId - b.segmentId;
      const sorted = await sortInTurns(all, order, turns);
      // Used files are considered once no unused ones are left.
      this.victims = sorted
        .slice(0, VICTIMS_AT_ONCE)
        .filter(({ lastUse }) => lastUse === 0 || sorted[0].lastUse > 0)
        .map((entry) => ({ entry, lastUse: entry.lastUse }))
        .reverse();
    }
  }

  private unlink(entry: FragmentFile): Promise<void> {
    return removeFile(path.join(this.folder, nameOf(entry)));
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
