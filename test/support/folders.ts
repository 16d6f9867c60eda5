/** Folders for the files of tests, and what else ends after the tests of a file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const endings: (() => unknown)[] = [];

/** Calls `end` after the tests of the file: what began last ends first. */
export function atEnd(end: () => unknown): void {
  endings.push(end);
}

/** clean-up.ts calls it after the tests of each file. */
export async function endAll(): Promise<void> {
  for (let end = endings.pop(); end !== undefined; end = endings.pop()) await end();
}

/** A new empty folder, removed after the tests of the file. */
export function temporaryDirectory(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'fathom-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
