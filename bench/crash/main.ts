/** `npm run bench:crash`: kills processes at random moments, and looks for what was acknowledged. */
import { runProgram } from '../program.js';
import { readCrashOptions, USAGE } from './options.js';
import { runKills } from './run.js';

await runProgram('bench:crash', USAGE, async (words) => {
  const options = readCrashOptions(words);
  const { lost, partial } = await runKills(options, (line) => process.stdout.write(`${line}\n`));
  return lost + partial === 0 ? 0 : 1;
});
