/** `npm run bench:compare REV`: runs `npm run bench` in this tree and in another revision's by turns. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { BenchUsageError } from '../errors.js';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { machineFacts } from '../machine.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { type Cases, comparedCases, faultsOf, tableOf } from './outcome.js';
import { type BuiltTree, currentTree, mustRun, treeOf } from './trees.js';

const USAGE = `npm run bench:compare -- REV [--only GROUP,GROUP] [--turns N] [--allow-other-results] [--smoke] [--json FILE]
  REV          a commit, a branch or a tag to compare this build with, by its own \`npm run bench\`
  --only       groups of \`npm run bench\`
  --turns N    runs of each build; default 5
  --allow-other-results
               cases that give other results than REV's, or that this build no longer has, do not fail
  --smoke      every case a few times: shows that it works, not how fast
  --json FILE  where the results go; default bench/results/compare.json
Exit status:
  0  every case of REV gives the same result here
  1  a case gives another result, or this build no longer has it; or a build fails
  2  wrong usage`;

const FAILED = 1;
const MAX_TURNS = 1000;
const FOOTER =
  'ms: CPU time of an operation, the least of the turns, which other work on the machine disturbs least; ratio: ' +
  "this build's divided by REV's. bytes: the size of a case's output, where it differs.";

async function main(words: readonly string[]): Promise<number> {
  const { values, positionals } = readBenchFlags(words, {
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      turns: { type: 'string' },
      'allow-other-results': { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'compare.json') },
    },
  });
  if (positionals.length !== 1) throw new BenchUsageError('expected one REV to compare with');
  const { smoke, only } = values;
  const turns = wholeFlag('--turns', values.turns ?? (smoke ? '1' : '5'), 1, MAX_TURNS);
  const machine = machineFacts();
  const head = currentTree();
  reportProgress(`building ${positionals[0]}`);
  const base = await treeOf(positionals[0]);
  const flags = [...(only === undefined ? [] : ['--only', only]), ...(smoke ? ['--smoke'] : [])];
  const runs: Record<'base' | 'head', Cases[]> = { base: [], head: [] };
  for (let turn = 1; turn <= turns; turn++) {
    reportProgress(`turn ${turn} of ${turns}`);
    // Each goes first in every other turn.
    const sides = turn % 2 === 1 ? (['base', 'head'] as const) : (['head', 'base'] as const);
    for (const side of sides) runs[side].push(await measured({ base, head }[side], flags));
  }
  const compared = comparedCases(runs.base, runs.head);
  const faults = values['allow-other-results'] ? [] : faultsOf(compared);
  await writeResults(path.resolve(values.json), {
    machine,
    base: base.revision,
    head: head.revision,
    turns,
    smoke,
    faults,
    cases: compared,
  });
  const lines = [
    headingOf(machine),
    '',
    ...tableOf(compared),
    '',
    ...(faults.length === 0 ? [] : [`Failed: ${faults.join('; ')}.`]),
    ...(smoke ? [SMOKE_NOTE] : []),
    FOOTER,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return faults.length > 0 ? FAILED : 0;
}

/** Runs the bench of a tree in a process of its own. */
async function measured({ root }: BuiltTree, flags: readonly string[]): Promise<Cases> {
  const folder = temporaryFolder();
  try {
    const file = path.join(folder.path, 'results.json');
    const program = path.join(root, 'dist/bench/main.js');
    await mustRun(process.execPath, [program, ...flags, '--json', file], root);
    return (JSON.parse(readFileSync(file, 'utf8')) as { cases: Cases }).cases;
  } finally {
    await folder.remove();
  }
}

await runProgram('bench:compare', USAGE, main);
