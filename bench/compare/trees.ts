/** Builds another revision in a folder of its own. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onEnd } from '../clean-up.js';
import { BenchFailure, BenchUsageError } from '../errors.js';
import { temporaryFolder } from '../folder.js';
import { revision, type Revision } from '../machine.js';

/** The clone of this build: three folders above dist/bench/compare. */
const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');

export interface BuiltTree {
  revision: Revision;
  /** Holds `dist`. */
  root: string;
}

/** This build. @throws BenchFailure outside a clone */
export function currentTree(): BuiltTree {
  const own = revision();
  if (own === null) throw new BenchFailure('this is not a clone of a git repository');
  return { revision: own, root: ROOT };
}

/**
 * Checks out a revision into a temporary folder and builds it. The folder is removed when this process ends.
 * @throws BenchUsageError if git knows no such revision
 * @throws BenchFailure if it does not build
 */
export async function treeOf(rev: string): Promise<BuiltTree> {
  const commit = commitOf(rev);
  const { path: root } = temporaryFolder('fathom-compare-');
  const archive = path.join(root, 'tree.tar');
  await mustRun('git', ['archive', '--format=tar', `--output=${archive}`, commit], ROOT);
  await mustRun('tar', ['-xf', archive, '-C', root], ROOT);
  await rm(archive);
  await provideModules(root);
  const compiler = path.join(root, 'node_modules/@typescript/native/bin/tsc');
  await mustRun(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], root);
  const assembler = path.join(root, 'node_modules/assemblyscript/bin/asc.js');
  const kernels = 'compute/assembly/asconfig.json';
  await mustRun(process.execPath, [assembler, '--config', kernels], root);
  return { revision: { commit, dirty: false }, root };
}

function commitOf(rev: string): string {
  try {
    const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${rev}^{commit}`];
    return execFileSync('git', ['--no-optional-locks', ...words], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    throw new BenchUsageError(`REV: git knows no commit '${rev}'`);
  }
}

/** Links this clone's packages if the revision needs the same ones; otherwise installs the revision's. */
async function provideModules(root: string): Promise<void> {
  const lock = (of: string): string => readFileSync(path.join(of, 'package-lock.json'), 'utf8');
  if (lock(root) === lock(ROOT) && existsSync(path.join(ROOT, 'node_modules'))) {
    await symlink(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'), 'dir');
    return;
  }
  await mustRun('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], root);
}

/** Runs a program to its end; it is killed if this process ends. @throws BenchFailure if it fails, with its output */
export async function mustRun(
  program: string,
  words: readonly string[],
  cwd: string,
): Promise<void> {
  const child = spawn(program, words, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const forget = onEnd(() => void child.kill());
  try {
    const [status, ...printed] = await Promise.all([
      new Promise<number | null>((resolve, reject) =>
        child.once('close', resolve).once('error', reject),
      ),
      text(child.stdout),
      text(child.stderr),
    ]);
    if (status === 0) return;
    const said = printed.join('').trim();
    throw new BenchFailure(`${path.basename(program)} ${words[0]} in ${cwd} failed: ${said}`);
  } finally {
    forget();
  }
}
