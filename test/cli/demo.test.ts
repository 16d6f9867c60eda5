/** Where `fathom demo` and `npm start` put nothing. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { refuseForeignFiles } from '../../storage/data-directory.js';
import { digestOf, fathom, fathomProcess, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';

describe('the demo market', () => {
  it('is not put among other files, such as the sources of a clone', async () => {
    const directory = path.join(temporaryDirectory(), 'demo');
    cpSync('demo', directory, { recursive: true });
    const before = digestOf(directory);
    const message = `${directory} holds other files (book.ts, fill.ts, flat.ts, ...): the demo market needs a directory of its own; name a new or empty one with --data\n`;
    for (const command of [['demo'], ['demo', '--live'], ['start', '--port', '0']]) {
      const ended = await fathomProcess([...command, '--data', directory]);
      expect([ended.status, ended.stdout, ended.stderr]).toEqual([1, '', message]);
      expect(digestOf(directory)).toBe(before);
    }
  });

  it('names few files, and regards what Fathom and file systems make as none', async () => {
    const directory = temporaryDirectory();
    for (const name of ['lost+found', 'staging']) mkdirSync(path.join(directory, name));
    writeFileSync(path.join(directory, 'fathom.config.json'), '{}');
    writeFileSync(path.join(directory, '.git'), '');
    const refused = await fathom(['demo', '--data', directory]);
    expect(refused.stderr).toMatch(/ holds other files \(\.git\): /);
  });

  it('may be put into a store that stands beside other files, as its owner chose', async () => {
    const directory = temporaryDirectory();
    await withStoreOf(directory, () => Promise.resolve());
    writeFileSync(path.join(directory, 'notes.txt'), '');
    await expect(refuseForeignFiles(directory)).resolves.toBeUndefined();
  });
});
