/** Folders that do not outlive what was measured in them. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { onEnd } from './clean-up.js';

/** A process that was told to end may still write to a folder: removing it is tried again. */
const REMOVE = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const;

/** A new folder; it goes with this process at the latest. */
export async function temporaryFolder(
  prefix = 'fathom-bench-',
): Promise<{ path: string; remove: () => Promise<void> }> {
  const directory = await mkdtemp(path.join(os.tmpdir(), prefix));
  // Also where the bench is broken off.
  const forget = onEnd(() => rmSync(directory, REMOVE));
  const remove = async (): Promise<void> => {
    await rm(directory, REMOVE);
    forget();
  };
  return { path: directory, remove };
}
