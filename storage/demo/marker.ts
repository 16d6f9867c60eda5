/** The file that says that a data directory holds the simulated market, and which one. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

const MARKER_FILE = 'demo.json';

export interface DemoMarker {
  seed: number;
  /** The moment that the history was made up to, in epoch seconds. */
  untilS: number;
  /** Whether the whole history has been filled in. */
  filled: boolean;
}

/** The directory's marker, or null where it holds no simulated market. */
export async function readMarker(directory: string): Promise<DemoMarker | null> {
  const text = await readFile(path.join(directory, MARKER_FILE), 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as DemoMarker);
}

export async function writeMarker(directory: string, marker: DemoMarker): Promise<void> {
  const file = path.join(directory, MARKER_FILE);
  await writeFile(`${file}.new`, `${JSON.stringify(marker)}\n`);
  await rename(`${file}.new`, file);
}
