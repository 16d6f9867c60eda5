/** Which program this is. */
import { readFileSync } from 'node:fs';
import { builtPath } from '../compute/built.js';

/** The version of this program, as in package.json. */
export const VERSION = '0.1.0';

/** What the build wrote about its sources (server/bootstrap/build-id.mjs). */
const BUILD_ID = /^[0-9a-f]{12}(\.modified)?\n$/;

/**
 * The version and, as Semantic Versioning has it, the commit that was built: `0.1.0+0c8f5565b0b1`, with `.modified` if
 * the sources differed from it. The version alone where the build did not know.
 */
export const BUILD = versionWith(VERSION, builtPath('build-id'));

/** @param file of the build's id; it may be missing */
export function versionWith(version: string, file: string): string {
  let id = '';
  try {
    id = readFileSync(file, 'utf8');
  } catch {
    // The sources had no git.
  }
  return BUILD_ID.test(id) ? `${version}+${id.trim()}` : version;
}
