/** Files and the disk below them: what a crash leaves whole, sizes, and free space. */
import { open, rename, stat, statfs } from 'node:fs/promises';
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
