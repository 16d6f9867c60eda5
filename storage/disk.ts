/** Files and their disk: complete reads and writes, sizes, identities, and free space. */
import { statSync } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rename, stat, statfs } from 'node:fs/promises';
import path from 'node:path';

/** Writes a file completely to the disk before giving it its name. */
export async function writeWhole(file: string, content: Uint8Array, mode = 0o600): Promise<void> {
  const made = await open(`${file}.new`, 'w', mode);
  try {
    await made.writeFile(content);
    await made.sync();
  } finally {
    await made.close();
  }
  await rename(`${file}.new`, file);
  await syncFile(path.dirname(file));
}

/** Flushes a file, or the names in a directory, to the disk. */
export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Writes all bytes; the system may write fewer per call. */
export async function writeFully(handle: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await handle.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
  }
}

/**
 * Fills a buffer, or as much of it as the file has.
 * @param at where to read; by default where the handle's last read ended
 * @returns the bytes read
 */
export async function readFully(
  handle: FileHandle,
  buffer: Uint8Array,
  at?: number,
): Promise<number> {
  let done = 0;
  while (done < buffer.length) {
    const position = at === undefined ? null : at + done;
    const { bytesRead } = await handle.read(buffer, done, buffer.length - done, position);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

/** A file's size; 0 if it does not exist. */
export function fileBytes(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Distinguishes a file from others that get its name; null if it does not exist. */
export function identityOf(name: string): string | null {
  const found = statSync(name, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** The names in a folder; none if there is no folder of this name, or only a link to one. */
export async function namesInFolder(folder: string): Promise<string[]> {
  const found = await lstat(folder).catch(() => null);
  return found?.isDirectory() === true ? readdir(folder).catch(() => []) : [];
}

/** Bytes that are free for this user on the directory's disk. */
export async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
