/**
 * The lock of a download: a file that names its holder. One whose process has ended is stale, and is taken over by
 * one process alone, however many find it at the same moment.
 */
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { absent } from '../../storage/errors.js';
import { ReplayError } from './request.js';

/** What locks of this process say. */
const held = new Set<string>();

/**
 * Takes the lock, even from a process that no longer runs.
 * @returns a function that releases it
 * @throws ReplayError if another process holds it, or is taking it
 */
export async function takeLock(lock: string): Promise<() => Promise<void>> {
  const own = `${process.pid} ${randomUUID()}`;
  // It gets its name once it says whose it is.
  const draft = `${lock}.${digestOf(own)}.new`;
  held.add(own);
  try {
    await writeFile(draft, own, { flag: 'wx' });
    while (!(await isPlaced(draft, lock)) && !(await replacesStale(draft, lock)));
  } catch (error) {
    held.delete(own);
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return async () => {
    await rm(lock, { force: true });
    held.delete(own);
  };
}

/** @returns whether there was no lock */
async function isPlaced(draft: string, lock: string): Promise<boolean> {
  try {
    // Not every file system has links.
    await link(draft, lock).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw error;
      return copyFile(draft, lock, constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Puts the draft in the place of a stale lock. To replace one, a process needs a lock whose name says which: so no
 * process takes away what another has just put there.
 * @returns false if the lock is another one by now, or gone
 * @throws ReplayError where it is not stale
 */
async function replacesStale(draft: string, lock: string): Promise<boolean> {
  const found = await readFile(lock, 'utf8').catch(absent);
  if (found === null) return false;
  refuseLive(found, lock);
  const release = await takeLock(`${lock}.${digestOf(found)}`);
  try {
    if ((await readFile(lock, 'utf8').catch(absent)) !== found) return false;
    await rename(draft, lock);
    return true;
  } finally {
    await release();
  }
}

/** @throws ReplayError where the holder that a lock names runs */
function refuseLive(text: string, lock: string): void {
  const advice = `if that is no fathom replay, delete ${lock}`;
  // Where there are no links, it is made before it is written.
  if (text === '') throw new ReplayError(`another process is taking ${lock}; ${advice}`);
  const pid = Number(text.split(' ')[0]);
  const isLive = pid === process.pid ? held.has(text) : isAlive(pid);
  if (isLive) throw new ReplayError(`process ${pid} is writing this file; ${advice}`);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
