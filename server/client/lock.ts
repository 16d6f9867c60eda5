/** Keeps two processes from writing the same file: a file beside it that names its process. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { ReplayError } from './errors.js';
import { absent } from './part-file.js';

/**
 * Takes the lock, also from a process that is no more.
 * @returns gives it back
 * @throws ReplayError while another process holds it
 */
export async function takeLock(lock: string): Promise<() => Promise<void>> {
  for (;;) {
    try {
      await writeFile(lock, String(process.pid), { flag: 'wx' });
      return () => rm(lock, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = Number(await readFile(lock, 'utf8').catch(absent));
    if (holder !== process.pid && isAlive(holder)) {
      throw new ReplayError(
        `process ${holder} is writing this file; if that is no fathom replay, delete ${lock}`,
      );
    }
    await rm(lock, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not ours to signal, yet there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
