/** Commands of a user who may not read or write the data directory. */
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fathom, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';

/** The user `nobody`. */
const NOBODY = 65_534;

/** Runs a command as a user whom the modes of files stop; they do not stop root. */
async function restrained(...words: string[]): Promise<string> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    const { status, stderr } = await fathom(words);
    expect(status).toBe(1);
    return stderr;
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

it("On another user's store, commands say that there is no permission", async () => {
  const data = path.join(temporaryDirectory(), 'data');
  await withStoreOf(data, () => Promise.resolve());
  chmodSync(data, 0o000);
  try {
    for (const words of [
      'check',
      'backup --out /tmp/none',
      'keys list',
      'keys create --tier premium',
    ]) {
      expect(await restrained(...words.split(' '), '--data', data), words).toBe(
        `fathom: no permission: ${data}/fathom.duckdb\n`,
      );
    }
  } finally {
    chmodSync(data, 0o700);
  }
});

it('A directory that cannot be written is named, and gets no store', async () => {
  const root = temporaryDirectory();
  chmodSync(root, 0o755);
  const data = path.join(root, 'data');
  mkdirSync(data);
  chmodSync(data, 0o555);
  const stderr = await restrained('keys', 'create', '--tier', 'premium', '--data', data);
  expect(stderr.startsWith(`${data} cannot be written: Cannot open file "`), stderr).toBe(true);
  expect(stderr).toMatch(/: Permission denied\n$/);
  expect(readdirSync(data)).toEqual([]);
});
