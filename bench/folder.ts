/** Folders that do not outlive what was measured in them. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** A new folder; it goes with this process at the latest. */
export async function temporaryFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'fathom-bench-'));
  // Also where the bench is broken off.
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return { path: directory, remove: () => rm(directory, { recursive: true, force: true }) };
}
