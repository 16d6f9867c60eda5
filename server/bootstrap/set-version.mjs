/**
 * `npm version X` runs this once package.json has the new version: writes it everywhere else. A test compares the
 * places (test/docs/release.test.ts).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './prepare.mjs';

/** Files that state the version; in each the pattern's first group stands before it. */
export const PLACES = {
  'storage/version.ts': /(VERSION = ')[^']+/,
  'client/package.json': /("version": ")[^"]+/,
  'python/pyproject.toml': /^(version = ")[^"]+/m,
  'python/src/fathom_client/__init__.py': /^(__version__ = ")[^"]+/m,
  'docs/clients.md': /(writes fathom-client-)\d+\.\d+\.\d+[\w.-]*(?=\.tgz)/,
};

/** Writes the version of package.json into the other files of a folder. */
export function setVersion(folder) {
  const read = (name) => readFileSync(path.join(folder, name), 'utf8');
  const { version } = JSON.parse(read('package.json'));
  for (const [name, pattern] of Object.entries(PLACES)) {
    const text = read(name);
    if (!pattern.test(text)) throw new Error(`${name} states no version`);
    writeFileSync(path.join(folder, name), text.replace(pattern, `$1${version}`));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) setVersion(root);
