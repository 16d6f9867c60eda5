/** `npm run bench:compare REV`: this build against another revision's, by turns in one job. */
import { machineFacts } from '../machine.js';
import { runProgram, tell, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { readCompareOptions, USAGE } from './options.js';
import { compareBuilds, regressions, type ComparedCase, type Comparison } from './run.js';
import { ownTree, treeOf } from './trees.js';

const REGRESSED = 1;
const COLUMNS = ['case', 'REV ms', 'this ms', 'ratio', 'interval', 'verdict'];
const LEFT = ['case', 'interval', 'verdict'];

const FOOTER =
  "ratio: median over pairs of neighbouring turns of this build's time by REV's; interval: bootstrap, wide " +
  'enough that one wrong verdict among all cases is a matter of 1 run in 100. "same" means that no ' +
  'difference beyond the threshold was shown, not that there is none. In-process work alone: what a client sees ' +
  'also depends on queues, sockets and other clients (npm run bench:http).';

async function main(words: readonly string[]): Promise<number> {
  const options = readCompareOptions(words);
  tell(`building ${options.rev}`);
  const base = treeOf(options.rev);
  const head = ownTree();
  const comparison = await compareBuilds([base.side], [head.side], options, tell);
  const { turns, turnMs, threshold } = options;
  await writeResults(options.jsonFile, {
    ...{ machine: machineFacts(), base: base.commit, head: head.commit },
    ...{ turns, turnMs, threshold, ...comparison },
  });
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

await runProgram('bench:compare', USAGE, main);
