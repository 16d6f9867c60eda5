/** Folders for the files of tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

/** A new folder, removed after the tests of the file or group. */
export function heldFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'fathom-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
