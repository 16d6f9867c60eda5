/** Finds files of the built program. */
import { fileURLToPath } from 'node:url';

/**
 * Path of a file or folder of the build, even where this module runs from its TypeScript source.
 * @param name as the build has it: `compute/worker.js`
 */
export function builtPath(name: string): string {
  const root = import.meta.url.endsWith('.ts') ? '../dist/' : '../';
  return fileURLToPath(new URL(root + name, import.meta.url));
}
