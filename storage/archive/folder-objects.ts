/** Objects in a folder, such as a mounted disk. */
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { readFully, syncFile, writeWhole } from '../disk.js';
import { absent, messageOf } from '../errors.js';
import {
  ArchiveUnavailableError,
  type ListedObject,
  ObjectFaultError,
  type Objects,
} from './objects.js';

/** Objects in one reply of list(). */
const LISTED_AT_ONCE = 1000;

export class FolderObjects implements Objects {
  constructor(private readonly folder: string) {}

  get name(): string {
    return this.folder;
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.trying(`write ${key}`, async () => {
      // Never made here: while the disk is not mounted, the objects would go to the one below it.
      await stat(this.folder);
      const file = this.fileOf(key);
      const made = await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
      await writeWhole(file, bytes);
      if (made !== undefined) await syncFolders(path.dirname(file), path.dirname(made));
    });
  }

  async read(key: string, at: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(new ArrayBuffer(length));
    const read = await this.trying(`read ${key}`, async () => {
      const handle = await open(this.fileOf(key), 'r');
      return readFully(handle, bytes, at).finally(() => handle.close());
    });
    if (read === length) return bytes;
    throw new ObjectFaultError(`the object ${key} in ${this.name} has fewer bytes than it had`);
  }

  async list(prefix: string, after: string | null): Promise<readonly ListedObject[]> {
    const listed: ListedObject[] = [];
    await this.trying(`list ${prefix}`, async () => {
      await stat(this.folder);
      const passed = after?.slice(prefix.length).split('/') ?? [];
      for await (const key of this.keysIn(prefix, passed)) {
        const found = await stat(this.fileOf(key)).catch((error: unknown) => absent(error));
        if (found !== null) listed.push({ key, writtenS: Math.floor(found.mtimeMs / 1000) });
        if (listed.length === LISTED_AT_ONCE) break;
      }
    });
    return listed;
  }

  async writtenS(key: string): Promise<number | null> {
    const found = await this.trying(`look for ${key}`, () =>
      stat(this.fileOf(key)).catch((error: unknown) => absent(error)),
    );
    return found && Math.floor(found.mtimeMs / 1000);
  }

  async remove(key: string): Promise<void> {
    await this.trying(`remove ${key}`, () => rm(this.fileOf(key), { force: true }));
  }

  close(): void {
    // A folder's reads end by themselves.
  }

  /** The keys in a folder, by its names in order. @param passed the parts of the last key that was listed */
  private async *keysIn(prefix: string, passed: readonly string[]): AsyncGenerator<string> {
    const [last, ...more] = passed;
    const options = { withFileTypes: true } as const;
    const found = await readdir(this.fileOf(prefix), options).catch((error: unknown) =>
      absent(error),
    );
    const entries = (found ?? []).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const { name } = entry;
      if (last !== undefined && name < last) continue;
      if (entry.isDirectory()) yield* this.keysIn(`${prefix}${name}/`, name === last ? more : []);
      else if (name !== last) yield `${prefix}${name}`;
    }
  }

  private fileOf(key: string): string {
    return path.join(this.folder, key);
  }

  private async trying<T>(what: string, body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      // Of a folder that is not mounted, no object is gone.
      const isThere = await stat(this.folder).then(Boolean, () => false);
      const reason = isMissing && !isThere ? 'the folder does not exist' : messageOf(error);
      const why = `the archive in ${this.folder} cannot ${what}: ${reason}`;
      throw isMissing && isThere ? new ObjectFaultError(why) : new ArchiveUnavailableError(why);
    }
  }
}

/** Flushes the names of the folders from the innermost to the outermost. */
async function syncFolders(innermost: string, outermost: string): Promise<void> {
  for (let folder = innermost; folder !== outermost; folder = path.dirname(folder)) {
    await syncFile(path.dirname(folder));
  }
}
