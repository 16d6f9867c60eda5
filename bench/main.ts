/** `npm run bench`: measures kernels, encodings, steps and whole pages; see docs/performance.md. */
import { readOptions, BenchUsageError, USAGE } from './options.js';
import { tableOf, writeReport } from './report.js';
import { runBench } from './run.js';

const FAILED = 1;
const WRONG_USAGE = 2;
const BROKEN_OFF = 130;

async function main(words: readonly string[]): Promise<number> {
  try {
    const options = readOptions(words);
    const report = await runBench(options, (group) => process.stderr.write(`${group}...\n`));
    await writeReport(report, options.jsonFile);
    process.stdout.write(`${tableOf(report)}\n`);
    return 0;
  } catch (error) {
    if (error instanceof BenchUsageError) {
      process.stderr.write(`bench: ${error.message}\n${USAGE}\n`);
      return WRONG_USAGE;
    }
    process.stderr.write(`bench: ${error instanceof Error ? error.stack : String(error)}\n`);
    return FAILED;
  }
}

// Exits rather than dies, so that the server and the store do not stay behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(BROKEN_OFF));
}
process.exitCode = await main(process.argv.slice(2));
