/** `npm run bench`: measures kernels, encodings, steps and whole pages; see docs/performance.md. */
import { readOptions, USAGE } from './options.js';
import { runProgram, reportProgress } from './program.js';
import { tableOf, writeReport } from './report.js';
import { runBench } from './run.js';

async function main(words: readonly string[]): Promise<void> {
  const options = readOptions(words);
  const report = await runBench(options, reportProgress);
  process.stdout.write(`${tableOf(report)}\n`);
  await writeReport(report, options.jsonFile);
}

await runProgram('bench', USAGE, main);
