/** Objects in a folder, such as a mounted disk. */
import { mkdir, open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { readFully, syncFile, writeWhole } from '../disk.js';
import { absent, messageOf } from '../errors.js';
import { ArchiveUnavailableError, ObjectFaultError, type Objects } from './objects.js';

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
    throw new ObjectFaultError(`${this.fileOf(key)} has fewer bytes than it had`);
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

  private fileOf(key: string): string {
    return path.join(this.folder, key);
  }

  private async trying<T>(what: string, body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      const why = `the archive in ${this.folder} cannot ${what}: ${messageOf(error)}`;
      // Of a folder that is not mounted, no object is gone.
      const isThere = isMissing && (await stat(this.folder).then(Boolean, () => false));
      throw isThere ? new ObjectFaultError(why) : new ArchiveUnavailableError(why);
    }
  }
}

/** Flushes the names of the folders from the innermost to the outermost. */
async function syncFolders(innermost: string, outermost: string): Promise<void> {
  for (let folder = innermost; folder !== outermost; folder = path.dirname(folder)) {
    await syncFile(path.dirname(folder));
  }
}
