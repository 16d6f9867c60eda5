/** A copy of the database as it was before a migration. */
import { constants } from 'node:fs';
import { copyFile, open, rename, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';

/** Free bytes to leave on the disk. */
const SPARE_BYTES = 64 * 1024 * 1024;

/**
 * Copies a closed database, where its disk has room. Nothing may have it open: closing a second handle of it
 * would end DuckDB's lock.
 * @param schema the version of its schema
 * @returns what to tell about it
 */
export async function copyBeforeMigration(file: string, schema: number): Promise<string> {
  const copy = `${file}.schema-${schema}`;
  const partial = `${copy}.new`;
  const { size } = await stat(file);
  const { bavail, bsize } = await statfs(path.dirname(file));
  if (bavail * bsize < size + SPARE_BYTES) {
    return `${file} is brought to a new schema without a copy of it: its disk has no room for one`;
  }
  try {
    await copyFile(file, partial, constants.COPYFILE_FICLONE);
    const handle = await open(partial, 'r+');
    await handle.sync().finally(() => handle.close());
    await rename(partial, copy);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return `${file} is brought to a new schema; ${copy} is a copy from before, to be deleted once the new version is to stay`;
}
