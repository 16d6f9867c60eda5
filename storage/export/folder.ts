/**
 * The folder of an export: files appear whole or not at all, and `_fathom.json` follows them. A process that is killed
 * leaves files that `_fathom.json` does not list yet; the next one knows them by their names, and writes them again.
 */
import { mkdir, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { namesInFolder, syncFile, writeWhole } from '../disk.js';
import { absent, DiskFullError, InputError, isDiskFull } from '../errors.js';
import { takeLock } from '../file-lock.js';
import {
  EXPORT_FOLDERS,
  holdersOfFile,
  type ExportFile,
  type ExportIndex,
  type ExportView,
  INDEX_FILE,
  INDEX_FORMAT,
  LOCK_FILE,
  nameOf,
  tableOfFile,
  PARTIAL_ENDING,
  partialOf,
} from './layout.js';

const isOurs = (file: string): boolean =>
  [nameOf, tableOfFile, holdersOfFile].some((read) => read(file) !== null);

/** How often `_fathom.json` is written while files are. */
const INDEX_EVERY_MS = 5000;
/** What a file system has in its root: a separate disk counts as empty. */
const DISK_ROOT = 'lost+found';
/** The digest of a file whose contents are not known. */
const UNKNOWN = '';

export class ExportFolder {
  private isChanged = false;
  private writtenMs = performance.now();
  /** The last writing of `_fathom.json`; the next one waits for it. */
  private writing: Promise<void> = Promise.resolve();

  private constructor(
    readonly folder: string,
    private readonly index: ExportIndex,
    private readonly unlock: () => Promise<void>,
  ) {}

  /**
   * Opens a folder for one process, and makes it if there is none.
   * @throws InputError if it holds other files, another view, or is being written by another process
   */
  static async open(folder: string, view: ExportView): Promise<ExportFolder> {
    const found = await stat(folder).catch(absentOrBelowFile);
    if (found !== null && !found.isDirectory()) {
      throw new InputError(`--out: ${folder} is a file: expected a directory`);
    }
    await refuseForeign(folder);
    try {
      await mkdir(folder, { recursive: true });
      const unlock = await takeLock(path.join(folder, LOCK_FILE), {
        what: folder,
        command: 'fathom export',
        Refusal: InputError,
      });
      try {
        return await ExportFolder.opened(folder, view, unlock);
      } catch (error) {
        await unlock();
        throw error;
      }
    } catch (error) {
      throw namedError(error, folder);
    }
  }

  private static async opened(
    folder: string,
    view: ExportView,
    unlock: () => Promise<void>,
  ): Promise<ExportFolder> {
    const stored = await readIndex(folder);
    if (stored === null) {
      const index: ExportIndex = { fathom_export: INDEX_FORMAT, view, files: {} };
      const opened = new ExportFolder(folder, index, unlock);
      await opened.writeIndex();
      return opened;
    }
    refuseOtherView(folder, stored.view, view);
    const opened = new ExportFolder(folder, stored, unlock);
    await opened.findUnlisted();
    return opened;
  }

  /**
   * Notes which store the files are from.
   * @throws InputError if they are from another one: its files would be taken for deleted data
   */
  async belongTo(store: string): Promise<void> {
    if (this.index.store === store) return;
    if (this.index.store !== undefined) {
      throw new InputError(
        `--out: the export in ${this.folder} is of another store: use another --out, or the --data of its store`,
      );
    }
    this.index.store = store;
    await this.writeIndex();
  }

  /** The listed files, by path below the folder. */
  get files(): Readonly<Record<string, ExportFile | undefined>> {
    return this.index.files;
  }

  /** Removes what a killed process left half written, and lists what it did not list any more. */
  private async findUnlisted(): Promise<void> {
    for (const dataset of EXPORT_FOLDERS) {
      for (const name of await filesBelow(this.folder, dataset)) {
        if (path.basename(name).startsWith('.') && name.includes(PARTIAL_ENDING)) {
          await rm(path.join(this.folder, name), { force: true });
        } else if (this.files[name] === undefined && isOurs(name)) {
          this.index.files[name] = { digest: UNKNOWN, from: 0, to: 0, rows: 0, bytes: 0 };
          this.isChanged = true;
        }
      }
    }
  }

  /**
   * Replaces a file, or adds it.
   * @param write makes the file that it is given, and returns how many rows it has
   * @throws DiskFullError; what `write` throws
   */
  async put(
    file: string,
    known: Omit<ExportFile, 'rows' | 'bytes'>,
    write: (to: string) => Promise<number>,
  ): Promise<ExportFile> {
    const named = path.join(this.folder, file);
    const partial = partialOf(named);
    let listed: ExportFile;
    try {
      await mkdir(path.dirname(named), { recursive: true });
      await rm(partial, { force: true });
      const rows = await write(partial);
      await syncFile(partial);
      const { size: bytes } = await stat(partial);
      listed = { ...known, rows, bytes };
      await rename(partial, named);
      this.index.files[file] = listed;
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw namedError(error, this.folder);
    }
    this.isChanged = true;
    if (performance.now() - this.writtenMs >= INDEX_EVERY_MS) await this.writeIndex();
    return listed;
  }

  /** Removes a file, and its folders if they are empty. */
  async remove(file: string): Promise<void> {
    const named = path.join(this.folder, file);
    await rm(named, { force: true });
    delete this.index.files[file];
    this.isChanged = true;
    for (let at = path.dirname(file); at !== '.'; at = path.dirname(at)) {
      if (!(await removedIfEmpty(path.join(this.folder, at)))) return;
    }
  }

  /** Writes `_fathom.json` if it has changed. */
  async flush(): Promise<void> {
    if (this.isChanged) await this.writeIndex();
  }

  /** Lists the files, and lets other processes write. */
  async close(): Promise<void> {
    await this.flush().finally(() => this.unlock());
  }

  private writeIndex(): Promise<void> {
    // Several files may be finished at once.
    this.writtenMs = performance.now();
    this.writing = this.writing.catch(() => undefined).then(() => this.writeIndexNow());
    return this.writing;
  }

  private async writeIndexNow(): Promise<void> {
    this.isChanged = false;
    const { files, ...head } = this.index;
    const sorted = Object.keys(files)
      .sort()
      .map((name) => `${JSON.stringify(name)}: ${JSON.stringify(files[name])}`);
    const list = sorted.length === 0 ? '{}' : `{\n${sorted.join(',\n')}\n}`;
    const text = `${JSON.stringify(head).slice(0, -1)},"files":${list}}\n`;
    const file = path.join(this.folder, INDEX_FILE);
    // Others read it, too.
    await writeWhole(file, Buffer.from(text), 0o644).catch((error: unknown) => {
      this.isChanged = true;
      throw namedError(error, this.folder);
    });
  }
}

/** The list of an export; null if the folder holds none. @throws InputError if it cannot be read as one */
export async function readIndex(folder: string): Promise<ExportIndex | null> {
  const file = path.join(folder, INDEX_FILE);
  const text = await readFile(file, 'utf8').catch(absentOrBelowFile);
  if (text === null) return null;
  try {
    const index = JSON.parse(text) as ExportIndex;
    if (index.fathom_export === INDEX_FORMAT && typeof index.files === 'object') return index;
  } catch {
    // Reported below.
  }
  throw new InputError(`${file} is not of an export of this version of Fathom`);
}

/** @throws InputError if a folder holds files and no export */
async function refuseForeign(folder: string): Promise<void> {
  const names: string[] = await readdir(folder).catch(() => []);
  if (names.includes(INDEX_FILE)) return;
  // A process that was killed at the very start leaves these.
  const own = (name: string): boolean =>
    name === DISK_ROOT || name.startsWith(LOCK_FILE) || name === `${INDEX_FILE}.new`;
  const foreign = names.filter((name) => !own(name)).sort();
  if (foreign.length === 0) return;
  throw new InputError(
    `--out: ${folder} holds other files (${foreign[0]}${foreign.length > 1 ? ', ...' : ''}): expected an export, an empty directory, or one that does not exist`,
  );
}

function refuseOtherView(folder: string, was: ExportView, is: ExportView): void {
  const names = Object.keys(is) as (keyof ExportView)[];
  const other = names.find((name) => was[name] !== is[name]);
  if (other === undefined) return;
  const flag = other === 'step_s' ? 'step' : other.replace('_', '-');
  const text = ({ [other]: value }: ExportView): string =>
    value === null ? 'none' : `${value}${other === 'step_s' ? ' s' : ''}`;
  throw new InputError(
    `--${flag}: the export in ${folder} has ${text(was)}, not ${text(is)}: all files of an export are alike; use another --out`,
  );
}

/** Files below a folder, by path from `root`, with `/`. */
async function filesBelow(root: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await filesBelow(root, name)));
    else found.push(name);
  }
  return found;
}

async function removedIfEmpty(folder: string): Promise<boolean> {
  if ((await namesInFolder(folder)).length > 0) return false;
  return rmdir(folder).then(
    () => true,
    () => false,
  );
}

function absentOrBelowFile(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOTDIR') return null;
  return absent(error);
}

function namedError(error: unknown, folder: string): unknown {
  if (isDiskFull(error) || error instanceof DiskFullError) return new DiskFullError(folder);
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return new InputError(`--out: ${folder} lies below a file: expected a directory`);
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new InputError(`--out: no permission to write in ${folder}`);
  }
  return error;
}
