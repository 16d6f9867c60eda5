/** Whether another process could take a store, found out by a process that tries. */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { DATABASE_FILE } from '../../storage/data-directory.js';

export const LOCK_FILE = 'fathom.lock';
/** Of the lock file, and of the database's own lock. */
export const HELD = ['held', 'held'];
export const FREE = ['free', 'free'];

export class LockProbe {
  private readonly child: ChildProcess = spawn(process.execPath, [
    path.resolve('test/support/lock-probe.mjs'),
  ]);
  private readonly lines: Interface = createInterface({ input: this.child.stdout! });
  private latest: Promise<unknown> = Promise.resolve();

  /** @returns `held` if another process has a database file locked, else `free` or what is wrong with it */
  look(file: string): Promise<string> {
    const answer = this.latest.then(() => {
      const line = new Promise<string>((resolve) => this.lines.once('line', resolve));
      this.child.stdin!.write(`${file}\n`);
      return line;
    });
    this.latest = answer;
    return answer;
  }

  async lookAtStore(directory: string): Promise<string[]> {
    const files = [LOCK_FILE, DATABASE_FILE].map((name) => path.join(directory, name));
    return Promise.all(files.map((file) => this.look(file)));
  }

  close(): void {
    this.child.kill('SIGKILL');
  }
}
