/**
 * `npm run test:crash`: kills processes at random moments, and checks that everything acknowledged is stored.
 */
import { runProgram } from '../../bench/program.js';
import { readCrashOptions, USAGE } from './options.js';
import { runKills } from './run.js';

await runProgram('test:crash', USAGE, async (words) => {
  const options = readCrashOptions(words);
  const { violation } = await runKills(options, (line) => process.stdout.write(`${line}\n`));
  return violation === null ? 0 : 1;
});
