/** Notices that another program has removed, shortened or replaced the log of an open database. */
import { type Stats, statSync } from 'node:fs';
import { logOf } from './log-mending.js';

export class LogWatch {
  /** The log when it was last noted; undefined: there was none. */
  private noted: Stats | undefined;

  /** @param file the database's, which is open */
  constructor(private readonly file: string) {
    this.note();
  }

  /** Call after an opening, a commit and a checkpoint. */
  note(): void {
    this.noted = this.look();
  }

  /** Whether the log is still the one that was noted: between checkpoints it only grows. */
  get isIntact(): boolean {
    const { noted } = this;
    if (noted === undefined) return true;
    const found = this.look();
    return found?.dev === noted.dev && found.ino === noted.ino && found.size >= noted.size;
  }

  private look(): Stats | undefined {
    return statSync(logOf(this.file), { throwIfNoEntry: false });
  }
}
