/** The declarations of the TypeScript client, which the build for tests does not make. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from './folders.js';

/** Makes them. @returns the folder of `index.d.ts`, removed after the tests of the file */
export async function clientTypes(): Promise<string> {
  const folder = temporaryDirectory();
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  const flags = ['-p', 'client', '--outDir', folder, '--emitDeclarationOnly'];
  await promisify(execFile)(path.resolve('node_modules/.bin/tsc'), flags);
  return folder;
}
