/** The file that says that a data directory holds the simulated market, and which one. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { InputError } from '../errors.js';

const MARKER_FILE = 'demo.json';

export interface DemoMarker {
  seed: number;
  /** The moment that the history was made up to, in epoch seconds. */
  untilS: number;
  /** Whether the whole history has been filled in. */
  filled: boolean;
  /** Up to when orders, holders and the other flat datasets were collected after the fill. */
  collectedS?: number;
}

/**
 * The directory's marker, or null where it holds no simulated market.
 * @throws InputError where the marker is damaged
 */
export async function readMarker(directory: string): Promise<DemoMarker | null> {
  const file = path.join(directory, MARKER_FILE);
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  const marker = parseMarker(text);
  if (marker === null) throw new InputError(`${file}: expected the demo's marker`);
  return marker;
}

function parseMarker(text: string): DemoMarker | null {
  try {
    const marker = JSON.parse(text) as Record<keyof DemoMarker, unknown>;
    const { seed, untilS, filled, collectedS } = marker;
    if (!Number.isInteger(seed) || !Number.isInteger(untilS)) return null;
    return {
      seed: seed as number,
      untilS: untilS as number,
      filled: filled === true,
      ...(Number.isInteger(collectedS) ? { collectedS: collectedS as number } : {}),
    };
  } catch {
    return null;
  }
}

export async function writeMarker(directory: string, marker: DemoMarker): Promise<void> {
  const file = path.join(directory, MARKER_FILE);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(`${file}.new`, `${JSON.stringify(marker)}\n`);
  await rename(`${file}.new`, file);
}
