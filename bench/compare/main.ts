/** `npm run bench:compare REV`: this build against another revision's, by turns in one job. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { machineFacts } from '../machine.js';
import { BenchUsageError } from '../options.js';
import { aligned, figure } from '../report.js';
import { readCompareOptions, USAGE, type CompareOptions } from './options.js';
import { compareBuilds, regressions, type ComparedCase, type Comparison } from './run.js';
import { ownTree, treeOf } from './trees.js';

const REGRESSED = 1;
const WRONG_USAGE = 2;
const BROKEN_OFF = 130;
const COLUMNS = ['case', 'REV ms', 'this ms', 'ratio', 'interval', 'verdict'];
const LEFT = ['case', 'interval', 'verdict'];

const FOOTER =
  "ratio: median over pairs of neighbouring turns of this build's time by REV's; interval: bootstrap, wide " +
  'enough that one wrong verdict among all cases is a matter of 1 run in 100. "same" means that no ' +
  'difference beyond the threshold was shown, not that there is none. In-process work alone: what a client sees ' +
  'also depends on queues, sockets and other clients (npm run bench:http).';

async function main(words: readonly string[]): Promise<number> {
  const options = readCompareOptions(words);
  const tell = (text: string): void => void process.stderr.write(`${text}...\n`);
  tell(`building ${options.rev}`);
  const base = treeOf(options.rev);
  const head = ownTree();
  const comparison = await compareBuilds([base.side], [head.side], options, tell);
  await writeJson(comparison, { base: base.commit, head: head.commit }, options);
  process.stdout.write(`${tableOf(comparison)}\n`);
  return regressions(comparison).length > 0 ? REGRESSED : 0;
}

function tableOf(comparison: Comparison): string {
  const rows = comparison.cases.map((one) => [
    one.name,
    figure(one.baseMs),
    figure(one.headMs),
    one.ratio.toFixed(3),
    `${one.low.toFixed(3)} to ${one.high.toFixed(3)}`,
    verdictText(one),
  ]);
  const failed = regressions(comparison).length;
  const verdict = failed === 0 ? 'No regression.' : `${failed} of ${rows.length} cases regressed.`;
  return [...aligned([COLUMNS, ...rows], LEFT), '', ...comparison.skipped, verdict, FOOTER].join(
    '\n',
  );
}

function verdictText({ verdict, grown, otherResult }: ComparedCase): string {
  const counters = grown.map(({ name, base, head }) => `${name} grew from ${base} to ${head}`);
  return [verdict, ...(otherResult ? ['other result'] : []), ...counters].join(', ');
}

async function writeJson(
  comparison: Comparison,
  commits: { base: string; head: string },
  { jsonFile, turns, turnMs, threshold }: CompareOptions,
): Promise<void> {
  await mkdir(path.dirname(jsonFile), { recursive: true });
  const document = { machine: machineFacts(), ...commits, turns, turnMs, threshold, ...comparison };
  await writeFile(jsonFile, `${JSON.stringify(document, null, 2)}\n`);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(BROKEN_OFF));
}
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof BenchUsageError;
  const text = error instanceof Error ? (isUsage ? error.message : error.stack) : String(error);
  process.stderr.write(`bench:compare: ${text}\n${isUsage ? `${USAGE}\n` : ''}`);
  process.exitCode = isUsage ? WRONG_USAGE : REGRESSED;
}
