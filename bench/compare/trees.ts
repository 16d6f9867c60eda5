/** Builds another revision, with this revision's benchmarks or its own. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onEnd } from '../clean-up.js';
import { BenchUsageError } from '../errors.js';
import { temporaryFolder } from '../folder.js';
import { revision, type Revision } from '../machine.js';
import { BenchFailure } from '../errors.js';

/** The clone of this build: three folders above dist/bench/compare. */
const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');

interface BuiltTree {
  revision: Revision;
  /** The build's bench/compare/side.js. */
  side: string;
}

/** This build. @throws BenchFailure outside a clone */
export function currentTree(): BuiltTree {
  const own = revision();
  if (own === null) throw new BenchFailure('this is not a clone of a git repository');
  return { revision: own, side: sideOf(ROOT) };
}

/**
 * Checks out a revision into a temporary folder and builds it. The folder is removed when this process ends.
 * @param ownBenchmarks whether to keep the revision's benchmarks instead of replacing them with this build's
 * @throws BenchUsageError if git knows no such revision
 * @throws BenchFailure if it does not build
 */
export async function treeOf(rev: string, ownBenchmarks = false): Promise<BuiltTree> {
  const commit = commitOf(rev);
  const { path: directory } = temporaryFolder('fathom-compare-');
  await extract(commit, directory);
  if (!ownBenchmarks) {
    // Both sides run the same benchmarks on the same simulated data: only the product differs.
    for (const folder of ['bench', 'demo']) {
      await rm(path.join(directory, folder), { recursive: true, force: true });
      await cp(path.join(ROOT, folder), path.join(directory, folder), {
        recursive: true,
        filter: (source) => path.basename(source) !== 'results',
      });
    }
  }
  await provideModules(directory);
  const compilers = COMPILERS.map((name) => path.join(directory, 'node_modules', name, 'bin/tsc'));
  const compiler = compilers.find((file) => existsSync(file)) ?? compilers[0];
  // Benchmarks may import what an older product lacks. They are built anyway, and those that cannot be loaded are
  // reported when they are requested.
  const { output } = await run(
    process.execPath,
    [compiler, '-p', 'tsconfig.build.json'],
    directory,
  );
  if (!existsSync(sideOf(directory))) {
    throw new BenchFailure(`${rev} does not build: ${output.split('\n')[0]}`);
  }
  if (existsSync(path.join(directory, KERNELS))) {
    const assembler = path.join(directory, 'node_modules/assemblyscript/bin/asc.js');
    await mustRun(process.execPath, [assembler, '--config', KERNELS], directory);
  }
  return { revision: { commit, dirty: false }, side: sideOf(directory) };
}

/** The compiler of this revision, and that of older ones. */
const COMPILERS = ['@typescript/native', 'typescript'];

/** Configuration of the part that is compiled to WebAssembly; older revisions have none. */
const KERNELS = 'compute/assembly/asconfig.json';

const sideOf = (directory: string): string => path.join(directory, 'dist/bench/compare/side.js');

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

async function extract(commit: string, directory: string): Promise<void> {
  const archive = path.join(directory, 'tree.tar');
  await mustRun('git', ['archive', '--format=tar', `--output=${archive}`, commit], ROOT);
  await mustRun('tar', ['-xf', archive, '-C', directory], ROOT);
  await rm(archive);
}

/** Links this clone's packages if the revision needs the same ones; otherwise installs the revision's. */
async function provideModules(directory: string): Promise<void> {
  const lock = (root: string): string => readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  if (lock(directory) === lock(ROOT)) {
    await symlink(path.join(ROOT, 'node_modules'), path.join(directory, 'node_modules'), 'dir');
    return;
  }
  await mustRun('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], directory);
}

async function mustRun(program: string, words: readonly string[], cwd: string): Promise<void> {
  const { status, output } = await run(program, words, cwd);
  if (status !== 0) throw new BenchFailure(`${program} ${words[0]} failed: ${output.trim()}`);
}

/** Runs a program, which is killed if this process ends. @returns its status and its output, stderr last */
async function run(
  program: string,
  words: readonly string[],
  cwd: string,
): Promise<{ status: number | null; output: string }> {
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
    return { status, output: printed.join('') };
  } finally {
    forget();
  }
}
