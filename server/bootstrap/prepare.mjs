/** Prepares a clone to run its commands: installs packages and builds the sources. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const stamp = path.join(root, 'node_modules/.installed-lock');
const SUPPORTED = /^v(20\.(19|[2-9]\d)|22\.(1[2-9]|[2-9]\d)|24)\./;

/** Runs a program in the clone and ends this process with its status where it fails. */
export function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit' });
  if (error) console.error(`${program}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** Whether `npm ci` has already installed everything in the lock file. */
function isInstalled() {
  const own = path.join(root, 'node_modules/.package-lock.json');
  if (!existsSync(own)) return false;
  const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
  const installed = packagesOf(own);
  const wanted = packagesOf(path.join(root, 'package-lock.json'));
  return Object.entries(wanted).every(
    ([name, { version, optional }]) =>
      name === '' || (installed[name]?.version ?? (optional ? version : null)) === version,
  );
}

/** Runs a Node program beside others. @returns whether it ended with 0 */
async function succeeds(args) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
  const [status] = await once(child, 'close');
  return status === 0;
}

/** Installs what is missing or out of date, then builds. */
export async function prepare() {
  if (!SUPPORTED.test(process.version)) {
    console.error(`Fathom needs Node 20.19+, 22.12+ or 24; this is ${process.version}`);
    process.exit(1);
  }
  const lock = createHash('sha256')
    .update(readFileSync(path.join(root, 'package-lock.json')))
    .update(process.versions.modules)
    .digest('hex');
  const stamped = existsSync(stamp) ? readFileSync(stamp, 'utf8') : null;
  if (stamped !== lock && (stamped !== null || !isInstalled())) {
    console.error('Installing packages...');
    run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  if (stamped !== lock) writeFileSync(stamp, lock);
  console.error('Building...');
  const steps = [
    // `npm run typecheck` checks types; it takes three times as long as the rest of the build.
    ['node_modules/@typescript/native/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck'],
    ['node_modules/vite/bin/vite.js', 'build', 'explorer'],
  ];
  const built = await Promise.all(steps.map(succeeds));
  if (built.includes(false)) {
    console.error('The sources do not compile: nothing was started.');
    // Not the compiler's status 2, which commands use for wrong usage.
    process.exit(1);
  }
}
