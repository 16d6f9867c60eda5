/**
 * `npm run bench:compare REV`: compares this build with another revision's, in alternating turns within one run.
 */
import { machineFacts } from '../machine.js';
import { runProgram, reportProgress, writeResults } from '../program.js';
import { readCompareOptions, USAGE } from './options.js';
import { faultsOf } from './outcome.js';
import { documentOf, tableOf } from './report.js';
import { compareBuilds } from './run.js';
import { currentTree, treeOf } from './trees.js';

const FAILED = 1;

async function main(words: readonly string[]): Promise<number> {
  const options = readCompareOptions(words);
  const machine = machineFacts();
  const head = currentTree();
  reportProgress(`building ${options.rev}`);
  const base = await treeOf(options.rev, options.ownBenchmarks);
  const comparison = await compareBuilds([base.side], [head.side], options, reportProgress);
  const revisions = { base: base.revision, head: head.revision };
  process.stdout.write(`${tableOf(comparison, revisions, options)}\n`);
  await writeResults(options.jsonFile, {
    machine,
    ...documentOf(comparison, revisions, options),
  });
  return faultsOf(comparison, options).length > 0 ? FAILED : 0;
}

await runProgram('bench:compare', USAGE, main);
