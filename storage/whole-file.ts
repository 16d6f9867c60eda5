/** Writes files that a crash leaves whole or not at all. */
import { open, rename } from 'node:fs/promises';
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
  const directory = await open(path.dirname(file), 'r');
  await directory.sync().finally(() => directory.close());
}
