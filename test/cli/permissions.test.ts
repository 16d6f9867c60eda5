/** Commands of a user who may not read or write what they need. */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fathom, withStoreOf } from '../support/cli.js';
import type { Ended } from '../support/processes.js';
import { temporaryDirectory } from '../support/folders.js';

/** The user `nobody`. */
const NOBODY = 65_534;

/** Runs a command as a user whom the modes of files stop; they do not stop root. */
async function restrained(
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await fathom(words, env);
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
      expect(await restrained([...words.split(' '), '--data', data]), words).toEqual({
        status: 1,
        stdout: '',
        stderr: `fathom: no permission: ${data}/fathom.duckdb\n`,
      });
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
  const words = ['keys', 'create', '--tier', 'premium', '--data', data];
  const { status, stderr } = await restrained(words);
  expect(status).toBe(1);
  expect(stderr.startsWith(`${data} cannot be written: Cannot open file "`), stderr).toBe(true);
  expect(stderr).toMatch(/: Permission denied\n$/);
  expect(readdirSync(data)).toEqual([]);
});

it('A config file in a directory that may not be entered is not called missing', async () => {
  const closed = path.join(temporaryDirectory(), 'closed');
  mkdirSync(closed);
  const file = path.join(closed, 'config.json');
  writeFileSync(file, '{}');
  chmodSync(closed, 0o000);
  const { status, stderr } = await restrained(['config'], { FATHOM_CONFIG: file });
  chmodSync(closed, 0o700);
  expect([status, stderr]).toEqual([
    2,
    `fathom: FATHOM_CONFIG: ${file}: cannot be read: EACCES: permission denied, open '${file}'\nSee fathom help config\n`,
  ]);
});
