/**
 * The lock of what one process at a time may write: a file that names its holder. A lock is stale if its holder's process has ended. Exactly one
 * process takes a stale lock over, however many find it at the same moment.
 */
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { absent } from './errors.js';

/** What a lock is for, in the words of its errors. */
export interface Locked {
  /** Such as `this file`. */
  what: string;
  /** The command that takes it. */
  command: string;
  Refusal: new (message: string) => Error;
}

/** The texts of the locks that this process holds. */
const held = new Set<string>();

/**
 * Takes the lock, even from a process that no longer runs.
 * @returns a function that releases it
 * @throws a refusal if another process holds it, or is taking it
 */
export async function takeLock(lock: string, locked: Locked): Promise<() => Promise<void>> {
  const own = `${process.pid} ${randomUUID()}`;
  // The file gets the lock's name only once it names its holder.
  const draft = `${lock}.${digestOf(own)}.new`;
  held.add(own);
  try {
    await writeFile(draft, own, { flag: 'wx' });
    while (!(await isPlaced(draft, lock)) && !(await replacesStale(draft, lock, locked)));
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
 * Replaces a stale lock with the draft. To do that, a process must hold a second lock, which is named after the stale
 * one: no process can remove the lock that another has just placed.
 * @returns false if the lock has changed or gone meanwhile
 * @throws a refusal if the lock is not stale
 */
async function replacesStale(draft: string, lock: string, locked: Locked): Promise<boolean> {
  const found = await readFile(lock, 'utf8').catch(absent);
  if (found === null) return false;
  refuseLive(found, lock, locked);
  const release = await takeLock(`${lock}.${digestOf(found)}`, locked);
  try {
    if ((await readFile(lock, 'utf8').catch(absent)) !== found) return false;
    await rename(draft, lock);
    return true;
  } finally {
    await release();
  }
}

/** @throws a refusal if the process that the lock names is running */
function refuseLive(text: string, lock: string, { what, command, Refusal }: Locked): void {
  const advice = `if that is not ${command}, delete ${lock}`;
  // Without links, the file exists before its text is written.
  if (text === '') throw new Refusal(`another process is taking ${lock}; ${advice}`);
  const pid = Number(text.split(' ')[0]);
  const isLive = pid === process.pid ? held.has(text) : isAlive(pid);
  if (isLive) throw new Refusal(`process ${pid} is writing ${what}; ${advice}`);
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
