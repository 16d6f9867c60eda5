/** The program's package as its users get it: packed, and installed without a network. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from './folders.js';

const run = promisify(execFile);

export interface Packed {
  filename: string;
  size: number;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

interface LockFile {
  packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
}

/** Packs the build that is there. @returns what npm says about the package, whose file is in `folder` */
export async function packProgram(folder: string): Promise<Packed> {
  // A build for tests leaves the client's declarations out.
  const declarations = ['-p', 'client', '--outDir', 'dist/client', '--emitDeclarationOnly'];
  await run(process.execPath, ['node_modules/@typescript/native/bin/tsc', ...declarations]);
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', words);
  return (JSON.parse(stdout) as Packed[])[0];
}

/**
 * Installs the package into an empty folder as npm would: beside it are only the packages that it depends on, as the
 * lock file has them. They are links to those of this clone, so that no network is needed.
 * @returns the folder
 */
export async function installProgram(packed: string): Promise<string> {
  const folder = temporaryDirectory();
  const modules = path.join(folder, 'node_modules');
  const program = path.join(modules, 'fathom');
  mkdirSync(program, { recursive: true });
  await run('tar', ['--extract', '--strip-components=1', '--directory', program, '--file', packed]);
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as LockFile;
  const { bin } = JSON.parse(readFileSync(path.join(program, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  for (const [place, { dev, devOptional }] of Object.entries(packages)) {
    // What lies within another package's folder comes with it.
    if (dev || devOptional || place.lastIndexOf('node_modules/') !== 0) continue;
    mkdirSync(path.dirname(path.join(folder, place)), { recursive: true });
    symlinkSync(path.resolve(place), path.join(folder, place));
  }
  mkdirSync(path.join(modules, '.bin'));
  for (const [name, file] of Object.entries(bin)) {
    chmodSync(path.join(program, file), 0o755);
    symlinkSync(path.join('../fathom', file), path.join(modules, '.bin', name));
  }
  return folder;
}
