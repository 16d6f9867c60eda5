/** Temporary folders. */
import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { onEnd } from './clean-up.js';

/** A process that is ending may still write to a folder, so the removal is retried. */
const REMOVE = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const;

/** Creates a folder that is removed when this process ends, if not earlier. */
export function temporaryFolder(prefix = 'fathom-bench-'): {
  path: string;
  remove: () => Promise<void>;
} {
  let made = '';
  // Before the folder exists: a signal in between would leave it behind.
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
