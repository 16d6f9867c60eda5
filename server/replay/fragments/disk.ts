/**
 * Packs on disk, one a file, the latest used, within a bound. The folder may be deleted at any time,
 * as a whole or in part: what is not there, or not whole, is made again.
 */
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readPack, type Pack } from '../../../compute/fragments/pack.js';
import { keyOfName, nameOf, type PackKey } from './key.js';

const SUFFIX = '.pack';
const UNFINISHED = '.tmp';
/** A folder with more files than this takes too long to look through. */
const MAX_FILES = 65_536;
/** Files looked at, and segments whose checksums are asked for, at once. */
const SWEPT_AT_ONCE = 256;
/** Smaller packs are made again about as fast as they are read. */
const MIN_PACK_BYTES = 16 * 1024;

/** CRC-32 of the stored segments' blocks, by id. */
export type Checksums = (segmentIds: readonly number[]) => Promise<Map<number, number>>;

interface PackFile {
  file: string;
  bytes: number;
}

interface FoundFile extends PackFile {
  key: PackKey;
  sourceCrc: number;
  changedMs: number;
}

export class PackDisk {
  /** By name; the files that are known to be there and to fit their segments, oldest first. */
  private readonly files = new Map<string, PackFile>();
  private ownBytes = 0;

  constructor(
    readonly directory: string,
    readonly maxBytes: number,
  ) {}

  /** Bytes in use. */
  get bytes(): number {
    return this.ownBytes;
  }

  has(name: string): boolean {
    return this.files.has(name);
  }

  /**
   * Takes over what an earlier run has left. Ids may have been given to other segments since, so a
   * pack counts only where its segment's checksum is the one that it was made of.
   */
  async sweep(checksums: Checksums): Promise<void> {
    const found = await this.list();
    const fitting: FoundFile[] = [];
    for (let first = 0; first < found.length; first += SWEPT_AT_ONCE) {
      const part = found.slice(first, first + SWEPT_AT_ONCE);
      const stored = await checksums([...new Set(part.map(({ key }) => key.segmentId))]);
      for (const one of part) {
        if (stored.get(one.key.segmentId) === one.sourceCrc) fitting.push(one);
        else await this.remove(one.file);
      }
    }
    fitting.sort((a, b) => a.changedMs - b.changedMs);
    for (const one of fitting) {
      if (!this.has(nameOf(one.key))) this.add(nameOf(one.key), one);
    }
    await this.evict();
  }

  /** A pack as it was written; null where it is not there any more, or damaged. */
  async load(key: PackKey): Promise<Pack | null> {
    const name = nameOf(key);
    const entry = this.files.get(name);
    if (entry === undefined) return null;
    try {
      // A copy in memory of its own, where numbers lie as they have to.
      const pack = readPack(new Uint8Array(await readFile(this.path(entry.file))));
      const named = { segmentId: key.segmentId, group: pack.group, coding: pack.coding };
      if (fileOf(named, pack.sourceCrc) !== entry.file) throw new Error('a pack of another name');
      this.forget(name);
      this.add(name, entry);
      return pack;
    } catch {
      this.forget(name);
      await this.remove(entry.file);
      return null;
    }
  }

  /**
   * Writes a pack, whole or not at all, and removes those that were not used for longest.
   * @throws Error of the file system
   */
  async save(key: PackKey, { buffer, sourceCrc }: Pack): Promise<void> {
    const bytes = buffer.byteLength;
    if (this.has(nameOf(key)) || bytes < MIN_PACK_BYTES || bytes > this.maxBytes) return;
    const file = fileOf(key, sourceCrc);
    const unfinished = this.path(file + UNFINISHED);
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    try {
      await writeFile(unfinished, buffer, { mode: 0o600 });
      await rename(unfinished, this.path(file));
    } catch (error) {
      await this.remove(file + UNFINISHED);
      throw error;
    }
    this.add(nameOf(key), { file, bytes });
    await this.evict();
  }

  private add(name: string, { file, bytes }: PackFile): void {
    this.files.set(name, { file, bytes });
    this.ownBytes += bytes;
  }

  private forget(name: string): void {
    const entry = this.files.get(name);
    if (entry === undefined) return;
    this.files.delete(name);
    this.ownBytes -= entry.bytes;
  }

  private async evict(): Promise<void> {
    for (const [name, { file }] of this.files) {
      if (this.ownBytes <= this.maxBytes && this.files.size <= MAX_FILES) return;
      this.forget(name);
      await this.remove(file);
    }
  }

  /** Every file that bears a pack's name. What a run has left unfinished is removed. */
  private async list(): Promise<FoundFile[]> {
    const files = await readdir(this.directory).catch(() => []);
    const found: FoundFile[] = [];
    for (let first = 0; first < files.length; first += SWEPT_AT_ONCE) {
      const part = files.slice(first, first + SWEPT_AT_ONCE);
      found.push(...(await Promise.all(part.map((file) => this.find(file)))).flat());
    }
    return found;
  }

  private async find(file: string): Promise<FoundFile[]> {
    if (file.endsWith(SUFFIX + UNFINISHED)) await this.remove(file);
    const named = partsOf(file);
    if (named === null) return [];
    const stats = await stat(this.path(file)).catch(() => null);
    if (stats === null || !stats.isFile()) return [];
    return [{ ...named, file, bytes: stats.size, changedMs: stats.mtimeMs }];
  }

  private async remove(file: string): Promise<void> {
    await rm(this.path(file), { force: true }).catch(() => undefined);
  }

  private path(file: string): string {
    return path.join(this.directory, file);
  }
}

const FILE = new RegExp(`^(.+)-([0-9a-f]{8})\\${SUFFIX}$`);

function fileOf(key: PackKey, sourceCrc: number): string {
  return `${nameOf(key)}-${sourceCrc.toString(16).padStart(8, '0')}${SUFFIX}`;
}

function partsOf(file: string): Pick<FoundFile, 'key' | 'sourceCrc'> | null {
  const parts = FILE.exec(file);
  const key = parts && keyOfName(parts[1]);
  return key && { key, sourceCrc: Number.parseInt(parts[2], 16) };
}
