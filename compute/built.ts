/** Finds files of the built program. */
import { fileURLToPath } from 'node:url';

/**
 * The path of a file or folder of the build, also when this module runs from its TypeScript source.
 * @param name relative to the build: `compute/worker.js`
 */
export function builtPath(name: string): string {
  const root = import.meta.url.endsWith('.ts') ? '../dist/' : '../';
  return fileURLToPath(new URL(root + name, import.meta.url));
}
