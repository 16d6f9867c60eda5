/** `npm test` and `npm run test:long`: install and build what is needed, then run the tests. */
import { prepare, run } from './prepare.mjs';

const [first, ...rest] = process.argv.slice(2);
const isLong = first === '--long';
const projects = isLong ? ['long'] : ['alone', 'shared'];
const words = isLong ? rest : process.argv.slice(2);

await prepare();
run(process.execPath, [
  'node_modules/vitest/vitest.mjs',
  'run',
  ...projects.map((name) => `--project=${name}`),
  ...words,
]);
