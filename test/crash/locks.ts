/** Reads the system's list of locks. It opens no file, which could disturb a lock. */
import { readFileSync, statSync } from 'node:fs';

/**
 * Whether the process prevents all others from locking the file; null without the file, or without /proc/locks.
 */
export function holdsLock(pid: number, file: string): boolean | null {
  const inode = statSync(file, { throwIfNoEntry: false })?.ino;
  if (inode === undefined) return null;
  let table: string;
  try {
    table = readFileSync('/proc/locks', 'latin1');
  } catch {
    return null;
  }
  // `7: POSIX  ADVISORY  WRITE 4711 fe:00:2335147 0 EOF`; a waiting lock has `->` before its kind.
  return table.split('\n').some((line) => {
    const [, kind, , access, owner, place, from, to] = line.split(/\s+/);
    const isOfFile = place?.split(':').at(-1) === String(inode) && Number(owner) === pid;
    return kind === 'POSIX' && access === 'WRITE' && isOfFile && from === '0' && to === 'EOF';
  });
}

/** /proc/locks may lack a line while others come and go. */
const READINGS = 5;

/** Whether a process other than this one could lock the file. */
export function isLockFree(pid: number, file: string): boolean {
  for (let reading = 0; reading < READINGS; reading++)
    if (holdsLock(pid, file) !== false) return false;
  return true;
}
