/** Folders that one file of a run builds and the others copy; vitest.config.ts sets this up. */
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The variable with the folder of this run. */
const VARIABLE = 'TEST_PREPARED_FOLDER';

/** Makes the run's folder before the first test; the function it returns removes it after the last. */
export default function setup(): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), 'fathom-prepared-'));
  process.env[VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/** The folder that `build` made under this name, once per run. Only read or copy it. */
export async function preparedFolder(
  name: string,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const run = process.env[VARIABLE];
  if (run === undefined) throw new Error(`${VARIABLE} is not set: run the tests with vitest`);
  const ready = path.join(run, name);
  if (existsSync(ready)) return ready;
  const made = path.join(mkdtempSync(`${ready}-`), 'made');
  await build(made);
  // Two files that build it at once make the same; the first one's is kept.
  try {
    renameSync(made, ready);
  } catch (error) {
    if (!existsSync(ready)) throw error;
  }
  return ready;
}
