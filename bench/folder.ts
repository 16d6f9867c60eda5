/** Folders that do not outlive what was measured in them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { onEnd } from './clean-up.js';

/** A process that was told to end may still write to a folder: removing it is tried again. */
const REMOVE = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const;

/** A new folder; it goes with this process at the latest. */
export function temporaryFolder(prefix = 'fathom-bench-'): {
  path: string;
  remove: () => Promise<void>;
} {
  let made = '';
  // Before there is a folder: a signal in between would leave it behind.
  const forget = onEnd(() => {
    if (made !== '') rmSync(made, REMOVE);
  });
  made = mkdtempSync(path.join(os.tmpdir(), prefix));
  const remove = async (): Promise<void> => {
    await rm(made, REMOVE);
    forget();
  };
  return { path: made, remove };
}
