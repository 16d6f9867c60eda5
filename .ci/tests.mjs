/**
 * Runs all tests for .ci/run: the quick ones once, then the long ones and those of the benchmarks in parts. A file in
 * which a long test failed is run once more, and each test that passed in one run and not in the other is a finding.
 * Writes how many tests passed and failed into the file that it is given.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** When all tests have ended, or are ended; .ci/run may take 90 minutes. */
const END_MS = 75 * 60_000;
/** What a run may take: several times what the longest takes on two idle cores. */
const RUN_LIMIT_MS = 25 * 60_000;
/** Each part of the long tests is a run of its own, since what their files leave behind in a process adds up. */
const PARTS = 8;
/** What installing and testing the Python package may take: several times what they take on two idle cores. */
const PYTHON_LIMIT_MS = 15 * 60_000;
/** The status of server/bootstrap/test-python.mjs where Python, or an index of its packages, is missing. */
const PYTHON_UNAVAILABLE = 69;
const VITEST = ['npx', 'vitest', 'run'];
/** What a file counts as that fails without a failed test: one that cannot be loaded, for example. */
const WHOLE_FILE = '(the file)';

const reports = mkdtempSync(path.join(tmpdir(), 'fathom-ci-'));
/** Runs that ended otherwise than their reports say. */
const brokenRuns = [];

/** Runs tests by a command. @returns the outcome of each file: its tests' names, and whether they passed */
async function run(command) {
  const limitMs = Math.min(RUN_LIMIT_MS, END_MS - performance.now());
  const name = command.join(' ');
  console.log(`--- ${name}`);
  if (limitMs <= 0) {
    brokenRuns.push(`${name}: not begun, since all before took too long`);
    return new Map();
  }
  const report = path.join(reports, 'report.json');
  rmSync(report, { force: true });
  const options = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const child = spawn(command[0], [...command.slice(1), ...options], {
    stdio: 'inherit',
    detached: true,
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limitMs);
  const status = await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  const files = readOutcomes(report);
  const failed = [...files.values()].some((tests) => [...tests.values()].includes(false));
  if (isLate) brokenRuns.push(`${name}: ended after ${Math.round(limitMs / 1000)} s`);
  else if (status !== (failed ? 1 : 0) || files.size === 0)
    brokenRuns.push(`${name}: ended with ${status}`);
  return files;
}

/** Runs the tests of the Python package, where Python and an index are there. @returns how many passed and failed */
async function runPython() {
  console.log('--- npm run test:python');
  const counts = path.join(mkdtempSync(path.join(tmpdir(), 'fathom-ci-')), 'counts');
  const args = ['server/bootstrap/test-python.mjs', '--counts', counts];
  const child = spawn(process.execPath, args, { stdio: 'inherit', detached: true });
  const timer = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, PYTHON_LIMIT_MS);
  const status = await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  if (status === PYTHON_UNAVAILABLE) return { passed: 0, failed: 0 };
  let [passed, failed] = [0, 1];
  try {
    [passed, failed] = readFileSync(counts, 'utf8').split(' ').map(Number);
  } catch {
    console.log(`failed: npm run test:python ended with ${status}`);
  }
  rmSync(path.dirname(counts), { recursive: true });
  return { passed, failed };
}

function readOutcomes(report) {
  const files = new Map();
  let results = [];
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults;
  } catch {
    // The run was ended, or never got so far: it counts as broken.
  }
  for (const { name, status, assertionResults } of results) {
    const tests = new Map();
    for (const { fullName, status: outcome } of assertionResults) {
      if (outcome !== 'passed' && outcome !== 'failed') continue;
      let key = fullName.trim();
      while (tests.has(key)) key += ' (the next)';
      tests.set(key, outcome === 'passed');
    }
    if (status === 'failed' && ![...tests.values()].includes(false)) tests.set(WHOLE_FILE, false);
    files.set(path.relative('', name), tests);
  }
  return files;
}

// First: a test of the explorer runs programs in the environment that this makes.
const python = await runPython();
const quick = await run(['npm', 'test', '--silent', '--']);
const long = new Map();
const parts = Array.from({ length: PARTS }, (_, k) => [
  '--project=long',
  `--shard=${k + 1}/${PARTS}`,
]);
for (const part of [...parts, ['--project=bench']]) {
  for (const [file, tests] of await run([...VITEST, ...part])) long.set(file, tests);
}

const findings = [];
const toRepeat = [...long]
  .filter(([, tests]) => [...tests.values()].includes(false))
  .map(([file]) => file);
if (toRepeat.length > 0) {
  const again = await run([
    ...VITEST,
    '--project=long',
    '--project=bench',
    '--maxWorkers=1',
    ...toRepeat,
  ]);
  for (const file of toRepeat) {
    const [first, second] = [long.get(file), again.get(file) ?? new Map()];
    if (first.has(WHOLE_FILE) && second.size > 0 && !second.has(WHOLE_FILE)) {
      second.set(WHOLE_FILE, true);
    }
    for (const [name, passed] of second) {
      if (first.has(name) && first.get(name) !== passed) {
        const told = passed
          ? 'failed once and passed when run again'
          : 'passed once and failed when run again';
        findings.push(`${file}: ${name}: ${told}`);
      }
      first.set(name, passed || first.get(name) === true);
    }
  }
}
rmSync(reports, { recursive: true });

const all = [...quick, ...long];
for (const [file, tests] of all) {
  for (const [name, passed] of tests) if (!passed) console.log(`failed: ${file}: ${name}`);
}
for (const broken of brokenRuns) console.log(`failed: ${broken}`);
for (const finding of findings) console.log(`finding: ${finding}`);
const outcomes = all.flatMap(([, tests]) => [...tests.values()]);
const passed = outcomes.filter(Boolean).length;
const failed = outcomes.length - passed + brokenRuns.length;
writeFileSync(process.argv[2], `${passed + python.passed} ${failed + python.failed}\n`);
