/** A disk of a few MiB, which a test fills and enlarges: a file system in memory, which only root can mount. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const mount = (...words: string[]) => spawnSync('mount', ['-t', 'tmpfs', ...words]).status === 0;

export class SmallDisk {
  private constructor(readonly path: string) {}

  /** Null if this process may not mount one. */
  static make(mib: number): SmallDisk | null {
    const folder = mkdtempSync(path.join(tmpdir(), 'fathom-disk-'));
    if (mount('-o', `size=${mib}m`, 'tmpfs', folder)) return new SmallDisk(folder);
    rmSync(folder, { recursive: true });
    return null;
  }

  resize(mib: number): void {
    if (!mount('-o', `remount,size=${mib}m`, 'tmpfs', this.path)) throw new Error('no remount');
  }

  remove(): void {
    spawnSync('umount', [this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }
}

const tried = SmallDisk.make(1);
tried?.remove();
/** Whether tests can have one. */
export const hasSmallDisks = tried !== null;
if (!hasSmallDisks) console.warn('Tests of small disks are skipped: only root may mount them');
