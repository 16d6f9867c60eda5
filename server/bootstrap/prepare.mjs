/** Prepares a clone to run its commands: installs packages and builds the sources. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeBuildId } from './build-id.mjs';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const stamp = path.join(root, 'node_modules/.installed-lock');
/** Holds the digest of the last build. */
const builtStamp = path.join(root, 'dist/.built');
const SOURCES = [
  'client',
  'collect',
  'compute',
  'storage',
  'demo',
  'server',
  'bench',
  'test/crash',
  'test/walk',
  'explorer',
  'documents',
  // What the documents' pages are built from.
  'docs',
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
];
const SETTINGS = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
const BUILT = [
  'dist/build.tsbuildinfo',
  'dist/compute/kernels.wasm',
  'dist/explorer',
  'dist/documents',
];
const SUPPORTED = /^v(20\.(19|[2-9]\d)|22\.(1[2-9]|[2-9]\d)|24)\./;

/** Runs a program in the clone. If it fails, ends this process with its status. */
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

/** A digest of the build's inputs, and of outputs that another build would change; null if there is no build. */
function buildDigest() {
  if (BUILT.some((name) => !existsSync(path.join(root, name)))) return null;
  const hash = createHash('sha256');
  for (const file of [...SOURCES, ...SETTINGS, ...BUILT].flatMap(filesOf)) {
    hash.update(`${file}\0`).update(readFileSync(path.join(root, file)));
  }
  return hash.digest('hex');
}

/** A file, or all files of a folder, by their paths in the clone. */
function filesOf(name) {
  if (!statSync(path.join(root, name)).isDirectory()) return [name];
  const entries = readdirSync(path.join(root, name), { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** Runs a Node program in the background. @returns whether it ended with 0 */
async function succeeds(args) {
  // Vitest's own environment would have Vite build the page for debugging.
  const env = { ...process.env, NODE_ENV: 'production' };
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env });
  const [status] = await once(child, 'close');
  return status === 0;
}

/** Installs what is missing or out of date, then builds unless nothing has changed since the last build. */
export default async function prepare() {
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
  if (existsSync(builtStamp) && readFileSync(builtStamp, 'utf8') === buildDigest()) {
    writeBuildId(root);
    return;
  }
  console.error('Building...');
  rmSync(builtStamp, { force: true });
  const steps = [
    // `npm run typecheck` checks types; it takes three times as long as the rest of the build.
    ['node_modules/@typescript/native/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck'],
    ['node_modules/assemblyscript/bin/asc.js', '--config', 'compute/assembly/asconfig.json'],
    ['node_modules/vite/bin/vite.js', 'build', 'explorer'],
    ['node_modules/vite/bin/vite.js', 'build', 'documents'],
  ];
  const built = await Promise.all(steps.map(succeeds));
  if (built.includes(false)) {
    console.error('The sources do not compile: nothing was started.');
    // Not the compiler's status 2, which commands use for wrong usage.
    process.exit(1);
  }
  writeBuildId(root);
  writeFileSync(builtStamp, buildDigest());
}
