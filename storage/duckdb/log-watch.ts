/** Notices that somebody else has removed, shortened or replaced the log of an open database. */
import { statSync } from 'node:fs';
import { logOf } from './log-mending.js';

interface LogState {
  identity: string;
  bytes: number;
}

export class LogWatch {
  /** The log when it was last noted; null: there was none. */
  private noted: LogState | null = null;

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
    if (this.noted === null) return true;
    const found = this.look();
    return (
      found !== null && found.identity === this.noted.identity && found.bytes >= this.noted.bytes
    );
  }

  private look(): LogState | null {
    const found = statSync(logOf(this.file), { throwIfNoEntry: false });
    return found === undefined
      ? null
      : { identity: `${found.dev}:${found.ino}`, bytes: found.size };
  }
}
