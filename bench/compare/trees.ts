/** A build of another revision: its product, under this revision's benchmarks. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BenchUsageError } from '../flags.js';

/** The clone that this build came from: dist/bench/compare lies three folders below it. */
const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');

export interface BuiltTree {
  commit: string;
  /** The build's bench/compare/side.js. */
  side: string;
}

/** This build. */
export function ownTree(): BuiltTree {
  return { commit: git(['rev-parse', 'HEAD']), side: sideOf(ROOT) };
}

/**
 * Checks a revision out into a temporary folder and builds it with the benchmarks of this one; the
 * folder goes when this process ends.
 * @throws BenchUsageError where git knows no such revision
 */
export function treeOf(rev: string): BuiltTree {
  const commit = commitOf(rev);
  const directory = mkdtempSync(path.join(os.tmpdir(), 'fathom-compare-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  extract(commit, directory);
  // The same benchmarks on both sides: what differs is the product alone.
  rmSync(path.join(directory, 'bench'), { recursive: true, force: true });
  cpSync(path.join(ROOT, 'bench'), path.join(directory, 'bench'), {
    recursive: true,
    filter: (source) => path.basename(source) !== 'results',
  });
  provideModules(directory);
  const compiler = path.join(directory, 'node_modules/typescript/bin/tsc');
  // Benchmarks may name what an older product lacks: they are built all the same, and those that
  // cannot be loaded are reported when they are asked for.
  const built = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: directory,
    encoding: 'utf8',
  });
  if (!existsSync(sideOf(directory))) {
    throw new Error(`${rev} does not build: ${built.stdout.split('\n')[0]}`);
  }
  return { commit, side: sideOf(directory) };
}

const sideOf = (directory: string): string => path.join(directory, 'dist/bench/compare/side.js');

function commitOf(rev: string): string {
  try {
    return git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${rev}^{commit}`]);
  } catch {
    throw new BenchUsageError(`REV: git knows no commit '${rev}'`);
  }
}

function extract(commit: string, directory: string): void {
  const archive = path.join(directory, 'tree.tar');
  git(['archive', '--format=tar', `--output=${archive}`, commit]);
  execFileSync('tar', ['-xf', archive, '-C', directory]);
  rmSync(archive);
}

/** This clone's packages where the revision wants the same ones, else its own. */
function provideModules(directory: string): void {
  const lock = (root: string): string => readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  if (lock(directory) === lock(ROOT)) {
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(directory, 'node_modules'), 'dir');
    return;
  }
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function git(words: readonly string[]): string {
  return execFileSync('git', ['--no-optional-locks', ...words], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}
