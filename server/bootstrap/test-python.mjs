/**
 * `npm run test:python`: installs the Python package into a virtual environment, and runs its linter, type check and
 * tests. Words go to pytest; `--counts FILE` writes how many checks and tests passed and failed into the file.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import prepare, { root } from './prepare.mjs';

/** The exit status where something is missing that is no part of Fathom: of sysexits.h, EX_UNAVAILABLE. */
const UNAVAILABLE = 69;
/** Of each of the two; both, and the tests, end before .ci/tests.mjs ends this. */
const INSTALL_LIMIT_MS = 5 * 60_000;
/** What pip says if the index does not answer, or lacks a package. */
const NO_INDEX = /\(from versions: none\)|connection|timed? ?out/i;
/** What it says if the index has the package, but no version that pyproject.toml allows: the fault is there. */
const NO_SUCH_VERSION = /\(from versions: (?!none\))|ResolutionImpossible/;

const project = path.join(root, 'python');
const environment = path.join(project, '.venv');
const python = path.join(environment, 'bin/python');
/** Holds the digest of what is installed. */
const stamp = path.join(environment, 'installed');

function missing(what) {
  console.error(`The Python tests need ${what}`);
  process.exit(UNAVAILABLE);
}

function spawn(program, args, options = {}) {
  return spawnSync(program, args, { cwd: project, encoding: 'utf8', ...options });
}

function install() {
  const system = process.env.PYTHON ?? 'python3';
  const version = spawn(system, ['-c', 'import sys; print(*sys.version_info[:2], sep=".")']);
  if (version.status !== 0) missing(`Python 3.10 or later: ${system} is not installed`);
  const [major, minor] = version.stdout.trim().split('.').map(Number);
  if (major !== 3 || minor < 10) {
    missing(`Python 3.10 or later: ${system} is ${version.stdout.trim()}`);
  }
  const digest = createHash('sha256')
    .update(version.stdout)
    .update(readFileSync(path.join(project, 'pyproject.toml')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  console.error("Installing the Python package's environment...");
  rmSync(environment, { recursive: true, force: true });
  if (spawn(system, ['-m', 'venv', environment]).status !== 0) {
    missing(`the modules venv and ensurepip of ${system} (Debian: apt install python3-venv)`);
  }
  // Older ones know no groups of dependencies.
  pip('--upgrade', 'pip>=25.1');
  pip('--editable', '.[arrow,pandas,polars]', '--group', 'test');
  writeFileSync(stamp, digest);
}

function pip(...words) {
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries=2'];
  const { status, stderr } = spawn(python, [...args, ...words], { timeout: INSTALL_LIMIT_MS });
  if (status === 0) return;
  if (status === null || (NO_INDEX.test(stderr) && !NO_SUCH_VERSION.test(stderr))) {
    const last = stderr.trim().split('\n').at(-1);
    missing(`a package index (PyPI), which does not answer: ${last}`);
  }
  console.error(stderr);
  process.exit(1);
}

const words = process.argv.slice(2);
const at = words.indexOf('--counts');
const [, countsFile] = at < 0 ? [] : words.splice(at, 2);

await prepare();
install();

const folder = mkdtempSync(path.join(tmpdir(), 'fathom-python-'));
const report = path.join(folder, 'report.xml');
const checks = [
  ['ruff', 'check', '--quiet'],
  ['ruff', 'format', '--check', '--quiet'],
  ['mypy', '--no-error-summary'],
];
let [passed, failed] = [0, 0];
for (const check of checks) {
  console.error(`--- ${check.join(' ')}`);
  const { status } = spawn(python, ['-m', ...check], { stdio: 'inherit' });
  if (status === 0) passed++;
  else failed++;
}
console.error('--- pytest');
const tests = spawn(python, ['-m', 'pytest', `--junitxml=${report}`, ...words], {
  stdio: 'inherit',
});
const suite = existsSync(report)
  ? (/<testsuite [^>]*>/.exec(readFileSync(report, 'utf8'))?.[0] ?? '')
  : '';
const count = (name) => Number(new RegExp(` ${name}="(\\d+)"`).exec(suite)?.[1] ?? 0);
const lost = count('failures') + count('errors');
passed += count('tests') - lost - count('skipped');
// One that ends in another way than by failed tests counts, too.
failed += tests.status === 0 ? lost : Math.max(1, lost);
rmSync(folder, { recursive: true });

if (countsFile !== undefined) writeFileSync(countsFile, `${passed} ${failed}\n`);
process.exit(failed === 0 ? 0 : 1);
