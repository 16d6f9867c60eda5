/** Files and the disk below them: reading and writing all that is asked for, sizes, and free space. */
import { type FileHandle, open, rename, stat, statfs } from 'node:fs/promises';
import path from 'node:path';

/** Writes a file completely to the disk before it gets its name. */
export async function writeWhole(file: string, content: Uint8Array): Promise<void> {
  const made = await open(`${file}.new`, 'w', 0o600);
  try {
    await made.writeFile(content);
    await made.sync();
  } finally {
    await made.close();
  }
  await rename(`${file}.new`, file);
  await syncDirectory(path.dirname(file));
}

/** Writes a directory's names to the disk. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Writes all bytes: the system may take fewer at once. */
export async function writeFully(handle: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await handle.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
  }
}

/**
 * Fills a buffer, as far as the file reaches.
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

/** A file's size; 0: there is none. */
export function fileBytes(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Bytes of a directory's disk that are free for this user. */
export async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
